"""What a reader must know before he trusts a figure: what limits its meaning first, then remarks."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fan_dense.evaluation.report import text
from fan_dense.evaluation.report.entry import Entry, all_metrics, having


@dataclass(frozen=True)
class Notice:
    """A message about one model, or about all (``model`` is None); a warning limits what the figures mean."""

    head: str
    body: str
    model: Entry | None = None
    warning: bool = True

    @property
    def where(self) -> str:
        return self.model.label if self.model else 'all models'


def notices(models: Sequence[Entry]) -> list[Notice]:
    found = [notice for model in models for notice in (*_of_means(model), *_of_images(model))] + _between(models)
    return sorted(found, key=lambda notice: not notice.warning)  # stable


def _of_means(model: Entry) -> list[Notice]:
    summary, found = model.summary, []
    if summary.partial:
        names = text.listed(map(text.spaced, summary.missing), most=40)
        count = f'{len(summary.missing)} of {summary.conditions}'
        found.append(Notice('PARTIAL', f'{count} conditions are missing ({names}); means are over the others', model))
    if model.seen_in_training:
        names = text.listed(map(text.spaced, model.seen_in_training))
        found.append(
            Notice('not zero-shot', f'the training pipeline contains corruptions of this test: {names}', model)
        )
    absent = dict.fromkeys(name for figures in summary.metrics.values() for name in figures.absent_classes)
    if absent:
        body = f'{text.listed(absent)}: no ground truth in these images, so no figures of their own'
        found.append(Notice('absent classes', body, model))
    for metric, figures in summary.metrics.items():
        for name, conditions in figures.absent_but_predicted.items():
            body = f'{metric} counts {name} as 0 where it is predicted ({text.listed(map(text.spaced, conditions))})'
            found.append(Notice('absent class counted', body, model))
    if all(figures.intervals is None for figures in summary.metrics.values()):
        body = 'none were asked for, or the records of single images are not there'
        found.append(Notice('no confidence intervals', body, model, warning=False))
    return found


def _of_images(model: Entry) -> list[Notice]:
    summary, limit, found = model.summary, model.sweep.identity.max_images, []
    if summary.unchanged_images:
        parts = text.listed(f'{text.spaced(name)}: {count}' for name, count in summary.unchanged_images.items())
        body = f'of {summary.images} images, a corruption left some as they were ({parts})'
        found.append(Notice('unchanged images', body, model))
    if limit is not None:
        found.append(Notice('part of the data', f'{summary.images} images, limited to {limit}', model))
    return found


def _between(models: Sequence[Entry]) -> list[Notice]:
    """Where models that stand side by side were not evaluated alike."""
    found = []
    for field, what in (('seed', 'seeds of the corruptions'), ('images', 'numbers of images')):
        values = {model.letter: getattr(model.summary, field) for model in models}
        if len(set(values.values())) > 1:
            found.append(Notice(f'different {what}', ', '.join(f'{key} {value}' for key, value in values.items())))
    pixels = defaultdict(set)
    for model in models:
        for condition, digest in model.summary.pixel_digests.items():
            pixels[condition].add(digest)
    differing = [text.spaced(condition) for condition, digests in pixels.items() if len(digests) > 1]
    if differing and not found:  # else it is no wonder
        body = f'the models were not given the same images under {text.listed(differing)}'
        found.append(Notice('different pixels', body))
    sharing = [having(models, metric) for metric in all_metrics(models)]
    if any(len({model.sweep.identity.data.get('truth') for model in group}) > 1 for group in sharing):
        found.append(Notice('different ground truth', 'models with the same metric are scored against different ones'))
    if any(len({tuple(sorted(model.summary.classes)) for model in group}) > 1 for group in sharing):
        found.append(Notice('different classes', 'models with the same metric are scored on different ones'))
    return found
