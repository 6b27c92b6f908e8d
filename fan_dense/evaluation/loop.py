"""Running models over the images of one condition after another."""

import contextlib
import copy
import io
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import torch
from mmengine.config import Config
from mmengine.dist import all_gather_object, get_dist_info
from mmengine.evaluator import Evaluator
from mmengine.registry import LOOPS, DefaultScope
from mmengine.runner import Runner

from fan_dense import versions
from fan_dense.evaluation import scores, stream
from fan_dense.evaluation.drawing import DrawPredictions
from fan_dense.evaluation.guard import SilentlyClean, examine, of_all_ranks, records_of
from fan_dense.evaluation.progress import Progress
from fan_dense.evaluation.result import Condition, ConditionResult


@dataclass(frozen=True)
class Subject:
    """A model with its weights and its test data, ready for any number of conditions.

    Attributes:
        config: of model and data.
        checkpoint, checkpoint_digest: file of the weights, and the first 64 bits of its SHA-256.
        trained_with: text of the config that the checkpoint carries, empty if it has none.
        runner: holds the model.
        dataset: test data.
    """

    config: Config
    checkpoint: Path
    checkpoint_digest: str
    trained_with: str
    runner: Runner
    dataset: object


@dataclass(frozen=True)
class Outcome:
    """What one model made of one condition.

    Attributes:
        result: scores, to be written. Its phases: of the workers together, decode, corrupt (with the digests of the
            pixels) and transform; of the main process, wait (for the workers), network, metric and other, the sum of
            which is total.
        records: name -> what each image contributed; see :mod:`fan_dense.evaluation.records`. Empty on all ranks but 0.
    """

    result: ConditionResult
    records: dict


def run_conditions(
    subjects: Sequence[Subject],
    conditions: Iterable[Condition],
    *,
    images: Sequence[int] | None = None,
    workers: int | None = None,
    show_dirs: Sequence[Path | None] | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Condition, list[Outcome] | SilentlyClean]]:
    """Evaluate all ``subjects`` under each condition; every image is decoded and corrupted once for all of them.

    Args:
        subjects: models with the same data; the first one's is used.
        conditions: taken one at a time, shortly before they are due.
        images: indices of the images to look at, default all.
        workers: processes that decode and corrupt, default as the config says.
        show_dirs: of each subject, a folder in which to draw every prediction, or None.
        progress: where to report it; None: nowhere.

    Yields:
        The condition, and what each subject made of it, or why its pixels cannot be trusted.
    """
    first = subjects[0]
    loader = dict(first.config.test_dataloader)
    if workers is not None:
        loader['num_workers'] = workers
    images = range(len(first.dataset)) if images is None else images
    rank, world_size = get_dist_info()
    contestants = [_Contestant(*pair) for pair in zip(subjects, show_dirs or itertools.repeat(None))]
    shares = dict(rank=rank, world_size=world_size)
    for condition, batches in stream.batches(first.dataset, loader, conditions, images, **shares):
        if progress:
            progress.begin(condition)
            batches = _reported(batches, progress, world_size)
        try:
            yield condition, _run(contestants, condition, batches, len(images))
        except SilentlyClean as reason:
            yield condition, reason


def _reported(batches: Iterator[stream.Batch], progress: Progress, world_size: int) -> Iterator[stream.Batch]:
    for batch in batches:
        yield batch
        progress.advance(batch.size * world_size)


def _run(contestants, condition, batches, images: int) -> list[Outcome]:
    started = time.perf_counter()
    seconds = dict.fromkeys(('decode', 'corrupt', 'transform', 'wait'), 0.0)
    probes = []
    for contestant in contestants:
        contestant.begin(condition, images)
    for batch in batches:
        if not seconds['wait']:
            started -= batch.wait  # the first one was there before us
        for phase in seconds:
            seconds[phase] += getattr(batch, phase)
        probes += batch.probes
        for data in alike(batch.data):
            for contestant in contestants:
                # models write their predictions into the samples
                contestant.take(
                    data if len(contestants) == 1 else {**data, 'data_samples': copy.deepcopy(data['data_samples'])}
                )
    figures = [_unprefixed(contestant.finish(images)) for contestant in contestants]
    everywhere = itertools.chain(*all_gather_object(probes))
    report = examine(contestants[0].pixels(), images, condition=condition, probes=everywhere)
    main = {
        'network': sum(one.evaluator.network for one in contestants),
        'metric': sum(one.evaluator.metric for one in contestants),
    }
    total = time.perf_counter() - started
    seconds |= main | {'other': total - seconds['wait'] - sum(main.values()), 'total': total}
    return [
        Outcome(
            result=ConditionResult(
                condition=condition,
                config=str(contestant.subject.config.filename),
                checkpoint=str(contestant.subject.checkpoint),
                checkpoint_digest=contestant.subject.checkpoint_digest,
                metrics=reported,
                per_class=scores.per_class(contestant.evaluator),
                images=report.images,
                pixel_digest=report.digest,
                clean_pixel_digest=report.clean_digest,
                unchanged_images=list(report.unchanged),
                seconds=total,
                phases=seconds,
                finished=datetime.now(timezone.utc).isoformat(timespec='seconds'),
                versions=versions.installed(),
            ),
            records=scores.records(contestant.evaluator),
        )
        for contestant, reported in zip(contestants, figures)
    ]


def _unprefixed(reported: dict) -> dict[str, float]:
    """Figures without the prefix that mmdet gives them: 'coco/bbox_mAP' is 'bbox_mAP'."""
    names = [name.rpartition('/')[2] for name in reported]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f'several metrics of test_evaluator give {", ".join(twice)}; evaluate them one at a time')
    return dict(zip(names, map(float, reported.values())))


def alike(data: dict) -> Iterator[dict]:
    """A batch in runs of images of one size, which are not padded: padding is seen by attention over all tokens.

    So a result depends on the batch size only as far as the arithmetic of the kernels does.
    """
    inputs = data.get('inputs')
    if not isinstance(inputs, list) or not all(torch.is_tensor(image) for image in inputs):
        yield data  # views of test-time augmentation, or stacked by the config's own collate_fn
        return
    for _, run in itertools.groupby(range(len(inputs)), key=lambda i: inputs[i].shape):
        chosen = list(run)
        yield {name: [values[i] for i in chosen] for name, values in data.items()}


class _Contestant:
    """A subject with the loop and the evaluator that its config asks for, fed with batches from outside."""

    def __init__(self, subject: Subject, show_dir: Path | None):
        self.subject = subject
        self.show_dir = show_dir
        with self._at_home():
            self.evaluator = _Watched(scores.exact(subject.config.test_evaluator))

    def begin(self, condition: Condition, images: int) -> None:
        drawing = []
        if self.show_dir:
            drawing = [DrawPredictions(Path(self.show_dir, condition.file_stem), condition, self.subject.dataset)]
        self.evaluator.start(drawing)
        with self._at_home():
            self.loop = LOOPS.build(
                {'type': 'TestLoop', **self.subject.config.get('test_cfg', {})},
                default_args=dict(
                    runner=self.subject.runner, dataloader=_Fed(self.subject.dataset, images), evaluator=self.evaluator
                ),
            )
            self.iteration = 0
            self.subject.runner._test_loop = self.loop  # hooks look at it, and mmengine has no other way to set it
            self.subject.runner.call_hook('before_test')
            self.subject.runner.call_hook('before_test_epoch')
            self.subject.runner.model.eval()

    def take(self, data: dict) -> None:
        with self._at_home():
            self.evaluator.since = time.perf_counter()
            self.loop.run_iter(self.iteration, data)
            self.iteration += 1

    def finish(self, images: int) -> dict[str, float]:
        with self._at_home():
            figures = self.evaluator.evaluate(images)
            self.subject.runner.call_hook('after_test_epoch', metrics=figures)
            self.subject.runner.call_hook('after_test')
        return figures

    def pixels(self) -> dict[str, dict]:
        """Image path -> what ``Corrupt`` recorded of it, on all ranks."""
        return of_all_ranks(self.evaluator.pixels)

    @contextlib.contextmanager
    def _at_home(self):
        """In the registry scope of its config, and without what pycocotools prints."""
        scope = self.subject.config.get('default_scope', 'mmengine')
        with DefaultScope.overwrite_default_scope(scope), contextlib.redirect_stdout(io.StringIO()):
            yield


class _Fed:
    """What hooks want to know of a data loader, of one whose batches come from elsewhere."""

    def __init__(self, dataset, images: int):
        self.dataset = dataset
        self.images = images

    def __len__(self) -> int:
        return self.images


class _Watched(Evaluator):
    """Evaluator that remembers the pixels that predictions were made from, and what its caller and itself took."""

    def start(self, drawing: list) -> None:
        self.metrics = [metric for metric in self.metrics if not isinstance(metric, DrawPredictions)] + drawing
        self.pixels: dict[str, dict] = {}
        self.network = self.metric = 0.0  # seconds

    def process(self, data_samples, data_batch=None) -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        predicted = time.perf_counter()
        self.network += predicted - self.since
        self.pixels |= records_of(data_samples)
        super().process(data_samples, data_batch)
        self.metric += time.perf_counter() - predicted

    def evaluate(self, size: int) -> dict:
        started = time.perf_counter()
        figures = super().evaluate(size)
        self.metric += time.perf_counter() - started
        return figures
