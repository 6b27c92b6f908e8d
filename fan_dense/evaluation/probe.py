"""Whether a corruption reaches the network: a step after ``Corrupt`` may load the image again, a wrapper keep samples.

The pixels tell: the data set is asked for an image once more, without the corruption.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from fan_dense.datasets.transforms import Corrupt
from fan_dense.datasets.wrappers import parts


class Probe(NamedTuple):
    """What was found of an image that ``Corrupt`` has changed.

    Attributes:
        part: number of the innermost data set that it is of.
        image: its path.
        reaches: whether the network is given something else than without the corruption.
    """

    part: int
    image: str
    reaches: bool


def reaches(dataset, index: int, sample: Mapping, step: Corrupt) -> bool:
    """Whether the network is given something else of an image without its corruption; of several views, of each.

    Args:
        dataset: built data set.
        index: of the image.
        sample: what the data set gave of it.
        step: what corrupted it.
    """
    chosen = step.corruptions, step.severities
    step.corruptions, step.severities = [None], [None]
    try:
        clean = dataset[index]
    finally:
        step.corruptions, step.severities = chosen
    return not any(np.array_equal(one, other) for one, other in zip(_views(sample), _views(clean)))


def probes(dataset, records: Mapping[str, dict]) -> Iterator[Probe]:
    """Of each part of ``dataset`` the first image that is changed, and the next ones while none reaches the network.

    Args:
        dataset: built data set with ``Corrupt`` in its pipeline.
        records: image path -> ``results['corruption']``.
    """
    for number, part in enumerate(parts(dataset)):
        step = next((one for one in part.pipeline.transforms if isinstance(one, Corrupt)), None)
        for index in range(len(part)) if step else ():
            path = part.get_data_info(index)['img_path']
            if path in records and records[path]['clean'] != records[path]['seen']:
                found = Probe(number, path, reaches(part, index, part[index], step))
                yield found
                if found.reaches:
                    break


def _views(sample: Mapping) -> list:
    """The images that a sample holds: one, or more by test-time augmentation."""
    inputs = sample.get('inputs', sample.get('img'))
    return inputs if isinstance(inputs, list) else [inputs]
