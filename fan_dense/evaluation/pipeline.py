"""Placing ``Corrupt`` in the test pipeline of a data set that is already built."""

from collections.abc import Callable, Iterator

from mmcv.transforms import LoadImageFromFile

from fan_dense.datasets.transforms import Corrupt, image_key
from fan_dense.datasets.wrappers import parts
from fan_dense.evaluation.result import Condition


def set_condition(dataset, condition: Condition, step: Callable[..., Corrupt] = Corrupt) -> None:
    """Let every image of ``dataset`` be corrupted as ``condition`` says, in place of any ``Corrupt`` that is there.

    Args:
        dataset: a built data set, or a wrapper of some.
        condition: what to do.
        step: makes the transform that does it.

    Raises:
        ValueError: the image is not loaded at the top level of the pipeline, so that there is no place for it.
    """
    for part in parts(dataset):
        corrupt = corruption_step(part, condition, step)
        steps = part.pipeline.transforms
        steps[:] = _without_corruption(steps)
        steps.insert(_loading_step(steps) + 1, corrupt)
        for pack in _packing_steps(part.pipeline):
            pack.meta_keys = tuple(dict.fromkeys((*pack.meta_keys, 'img_path', 'corruption')))


def corruption_step(part, condition: Condition, step: Callable[..., Corrupt] = Corrupt) -> Corrupt:
    """The transform that corrupts the images of an innermost data set as ``condition`` says."""
    declared = [one.prefix for one in part.pipeline.transforms if isinstance(one, Corrupt) and one.prefix is not None]
    return step(
        corruption=condition.corruption,
        severity=condition.severity,
        seed=condition.seed,
        image_order=condition.image_order,
        prefix=image_folder(part) or (declared[0] if declared else None),
    )


def corrupted_image(part, index: int, condition: Condition):
    """Image ``index`` of an innermost data set under ``condition``, (H, W, 3) uint8 BGR, and its data info."""
    steps = _without_corruption(part.pipeline.transforms)
    results = part.get_data_info(index)
    for step in (*steps[: _loading_step(steps) + 1], corruption_step(part, condition)):
        results = step(results)
    return results['img'], part.get_data_info(index)


def image_folder(part) -> str | None:
    """The folder below which an image's path identifies it, or None where its file name does."""
    prefixes = getattr(part, 'data_prefix', {})
    folder = prefixes.get('img_path') or prefixes.get('img')
    if not folder or len(part) == 0:
        return None
    try:
        image_key(part.get_data_info(0)['img_path'], folder)
    except ValueError:
        return None  # a data set that names its images itself
    return folder


def _without_corruption(steps: list) -> list:
    return [step for step in steps if not isinstance(step, Corrupt)]


def _loading_step(steps: list) -> int:
    """Index of the step after which the image is there, decoded and not yet resized."""
    for index, step in enumerate(steps):
        if isinstance(step, LoadImageFromFile) or getattr(step, 'loads_image', False):
            return index
    found = ', '.join(type(step).__name__ for step in steps)
    raise ValueError(
        f'the test pipeline loads its image in none of its own steps ({found}): move LoadImageFromFile out of the '
        'nested pipeline to its front, so that the corruption can follow it before any resize'
    )


def _packing_steps(step) -> Iterator:
    """The steps that choose which meta data stay with a sample, nested ones included."""
    if hasattr(step, 'meta_keys'):
        yield step
    for inner in getattr(step, 'transforms', None) or getattr(step, 'subroutines', None) or ():
        yield from _packing_steps(inner)
