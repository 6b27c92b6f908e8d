"""Placing ``Corrupt`` in the test pipeline of a data set that is already built."""

from collections.abc import Iterator

from mmcv.transforms import LoadImageFromFile

from fan_dense.datasets.transforms import Corrupt, image_key
from fan_dense.datasets.wrappers import parts
from fan_dense.evaluation.result import Condition


def set_condition(dataset, condition: Condition) -> None:
    """Let every image of ``dataset`` be corrupted as ``condition`` says, in place of any ``Corrupt`` that is there.

    Raises:
        ValueError: the image is not loaded at the top level of the pipeline, so that there is no place for it.
    """
    for part in parts(dataset):
        steps = part.pipeline.transforms
        declared = [step.prefix for step in steps if isinstance(step, Corrupt) and step.prefix is not None]
        steps[:] = [step for step in steps if not isinstance(step, Corrupt)]
        corrupt = Corrupt(
            corruption=condition.corruption,
            severity=condition.severity,
            seed=condition.seed,
            image_order=condition.image_order,
            prefix=image_folder(part) or (declared[0] if declared else None),
        )
        steps.insert(_loading_step(steps) + 1, corrupt)
        for pack in _packing_steps(part.pipeline):
            pack.meta_keys = tuple(dict.fromkeys((*pack.meta_keys, 'img_path', 'corruption')))


def corrupted_image(part, index: int):
    """Image ``index`` of an innermost data set as ``Corrupt`` leaves it, (H, W, 3) uint8 BGR, and its data info."""
    steps = part.pipeline.transforms
    results = part.get_data_info(index)
    for step in steps[: _loading_step(steps) + 2]:
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
