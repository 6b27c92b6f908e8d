"""The images of many conditions through one set of workers, one condition after another.

The workers start once. While the network works on the last images of a condition, they decode and corrupt the first
ones of the next.
"""

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mmengine.dataset import pseudo_collate
from mmengine.registry import FUNCTIONS
from torch.utils.data import DataLoader, Dataset, Sampler

from fan_dense.datasets.transforms import Corrupt
from fan_dense.evaluation import pipeline
from fan_dense.evaluation.probe import Probe, reaches
from fan_dense.evaluation.result import Condition

# What a data loader's config says beside the arguments of torch's DataLoader; order and batches are ours.
_NOT_TORCHS = (
    'dataset',
    'sampler',
    'batch_sampler',
    'batch_size',
    'collate_fn',
    'worker_init_fn',
    'persistent_workers',
    'num_batch_per_epoch',
    'shuffle',
    'drop_last',
)


@dataclass(frozen=True)
class Batch:
    """Some images of one condition.

    Attributes:
        data: what the model's ``test_step`` takes.
        size: number of images.
        decode, corrupt, transform: seconds that a worker took for them, before, in and after ``Corrupt``.
        probes: of images that were looked at, whether their corruption reaches ``data``.
        wait: seconds that the main process waited for it; without workers, what making it took.
    """

    data: dict
    size: int
    decode: float
    corrupt: float
    transform: float
    probes: list[Probe]
    wait: float = 0.0


def batches(
    dataset,
    loader: dict,
    conditions: Iterable[Condition],
    images: Sequence[int],
    *,
    rank: int = 0,
    world_size: int = 1,
) -> Iterator[tuple[Condition, Iterator[Batch]]]:
    """Each condition with its batches, which must be used up before the next one is taken.

    Args:
        dataset: built test data set.
        loader: config of its data loader; ``num_workers``, ``batch_size``, ``collate_fn``, ``pin_memory``... hold.
        conditions: taken one at a time, a few batches before they are due.
        images: indices of the images to look at.
        rank: which share of them this process takes; shares are filled up to equal length, as mmengine's sampler does.
        world_size: number of shares.
    """
    order = _Order(conditions, share(images, rank, world_size), loader.get('batch_size', 1))
    options = {name: value for name, value in loader.items() if name not in _NOT_TORCHS}
    if not options.get('num_workers'):
        for name in ('prefetch_factor', 'timeout', 'multiprocessing_context'):  # torch refuses them without workers
            options.pop(name, None)
    collate = partial(_collate, _collate_function(loader))
    source = _waited(iter(DataLoader(_Conditioned(dataset), batch_sampler=order, collate_fn=collate, **options)))
    for condition, first in source:
        rest = (batch for _, batch in itertools.islice(source, order.batches - 1))
        yield condition, itertools.chain([first], rest)


def share(images: Sequence[int], rank: int, world_size: int) -> list[int]:
    """Every ``world_size``-th image from ``rank`` on, the first ones again at the end so that all shares are equal.

    >>> share(range(5), 1, 2)
    [1, 3, 0]
    """
    count = -(-len(images) // world_size)
    return [images[(rank + i * world_size) % len(images)] for i in range(count)]


class _Order(Sampler):
    """Batches of (condition, image)."""

    def __init__(self, conditions: Iterable[Condition], images: Sequence[int], batch_size: int):
        self.conditions = conditions
        self.images = images
        self.batch_size = batch_size
        self.batches = -(-len(images) // batch_size)

    def __iter__(self):
        for condition in self.conditions:
            for start in range(0, len(self.images), self.batch_size):
                yield [(condition, image) for image in self.images[start : start + self.batch_size]]


class _Conditioned(Dataset):
    """The data set with (condition, image) for an index; gives (condition, sample, three durations, probes).

    Under each condition a worker probes the first image that is changed in each part of the data set, and the next
    ones while none reaches the network.
    """

    def __init__(self, dataset):
        self.dataset = dataset
        self.condition = None
        self.ran: list[_WatchedCorrupt] = []  # for the present image

    def __getitem__(self, index: tuple[Condition, int]):
        condition, image = index
        if condition != self.condition:
            numbers = itertools.count()
            pipeline.set_condition(
                self.dataset, condition, lambda **options: _WatchedCorrupt(self.ran, next(numbers), **options)
            )
            self.condition = condition
        self.ran.clear()
        start = time.perf_counter()
        sample = self.dataset[image]
        end = time.perf_counter()
        if not self.ran:
            return condition, sample, (end - start, 0.0, 0.0), []  # the guard misses its record
        step = self.ran[-1]
        seconds = step.began - start, step.ended - step.began, end - step.ended
        if step.reaches or not step.changed:
            return condition, sample, seconds, []
        path = step.path
        step.reaches = reaches(self.dataset, image, sample, step)
        return condition, sample, seconds, [Probe(step.part, path, step.reaches)]


class _WatchedCorrupt(Corrupt):
    """Remembers when it last began and ended, which image it had and whether that changed."""

    def __init__(self, ran: list['_WatchedCorrupt'], part: int, **options):
        super().__init__(**options)
        self.ran = ran
        self.part = part
        self.reaches = False  # the network, as far as it was looked at

    def transform(self, results: dict) -> dict:
        self.began = time.perf_counter()
        results = super().transform(results)
        self.ended = time.perf_counter()
        self.path = results['img_path']
        self.changed = results['corruption']['clean'] != results['corruption']['seen']
        self.ran.append(self)
        return results


def _collate(collate, samples: list) -> tuple[Condition, Batch]:
    conditions, inner, seconds, probes = zip(*samples)
    decode, corrupt, transform = map(sum, zip(*seconds))
    return conditions[0], Batch(
        collate(list(inner)), len(inner), decode, corrupt, transform, list(itertools.chain(*probes))
    )


def _collate_function(loader: dict):
    """The data loader's own, from its config, as mmengine's Runner finds it."""
    chosen = dict(loader.get('collate_fn') or dict(type=pseudo_collate))
    kind = chosen.pop('type')
    return partial(FUNCTIONS.get(kind) if isinstance(kind, str) else kind, **chosen)


def _waited(source: Iterator[tuple[Condition, Batch]]) -> Iterator[tuple[Condition, Batch]]:
    while True:
        asked = time.perf_counter()
        following = next(source, None)
        if following is None:
            return
        condition, batch = following
        yield condition, replace(batch, wait=time.perf_counter() - asked)
