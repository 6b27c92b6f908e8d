"""Whether published figures may be set beside one's own."""

from collections.abc import Sequence

from fan_dense.evaluation.published import Published
from fan_dense.evaluation.report import text
from fan_dense.evaluation.report.entry import Entry

_SIZES = {'COCO val2017': (5000, 80), 'Cityscapes val': (500, 19)}  # images, classes


def differing(models: Sequence[Entry], published: Sequence[Published]) -> list[Entry]:
    """The models whose data cannot be those of the published figures: another number of images or of classes."""
    sizes = {_SIZES.get(one.data) for one in published}
    return [model for model in models if (model.summary.images, len(model.summary.classes)) not in sizes]


def note(models: Sequence[Entry], published: Sequence[Published]) -> str:
    """Whose the published figures are, and what may be concluded from standing beside them."""
    if not published:
        return 'Nothing is published of this metric under this protocol.'
    sources = '; '.join(dict.fromkeys(one.source for one in published))
    where = ' and '.join(dict.fromkeys(one.data for one in published))
    told = f'Published figures are of {where} ({sources}).'
    others = differing(models, published)
    if others:
        return f'{told} They are not comparable with {text.listed(one.letter for one in others)}: other data.'
    return f'{told} They compare if the data of this report are those; the numbers of images and classes are.'
