"""Running a protocol: every condition of a benchmark, for one model or several, resumable and shared out.

:func:`benchmark` is what ``tools/benchmark.py`` calls.
"""

import contextlib
import math
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mmengine.dist import barrier, broadcast_object_list, get_dist_info, is_main_process

from fan_dense import configuration, versions
from fan_dense.evaluation import worst
from fan_dense.evaluation.claims import Claims, in_turn
from fan_dense.evaluation.condition import prepare
from fan_dense.evaluation.fingerprint import fingerprint
from fan_dense.evaluation.folder import Identity, SweepFolder
from fan_dense.evaluation.guard import SilentlyClean
from fan_dense.evaluation.loop import Outcome, Subject, run_conditions
from fan_dense.evaluation.metrics import Summary
from fan_dense.evaluation.progress import Progress
from fan_dense.evaluation.protocol import read_protocol
from fan_dense.evaluation.result import Condition
from fan_dense.evaluation.zero_shot import stated, training_corruptions

# of a data loader, what has no influence on the figures
_HOW_FAST = ('num_workers', 'persistent_workers', 'pin_memory', 'prefetch_factor', 'batch_size', 'timeout')
_TRAINING = ('train_dataloader', 'custom_hooks')  # a hook may switch the pipeline
_MEASURED = ('model', 'test_dataloader', 'test_evaluator', 'test_cfg', 'default_scope')


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """What a call of :func:`benchmark` leaves.

    Attributes:
        folders: model -> its folder.
        summaries: model -> figures of the protocol; without those that have conditions left.
        missing: model -> conditions left: with other jobs, or not asked for.
    """

    folders: dict[str, Path]
    summaries: dict[str, Summary]
    missing: dict[str, list[Condition]]

    def text(self) -> str:
        """The headline of each model, where its results are, and what makes a page of them."""
        lines = []
        for name, folder in self.folders.items():
            if name in self.summaries:
                lines += _headline(name, self.summaries[name])
            else:
                lines.append(f'{name}: {len(self.missing[name])} conditions have no result yet')
            lines.append(f'results in {folder}')
        if self.summaries:
            folders = shlex.join(str(folder) for name, folder in self.folders.items() if name in self.summaries)
            partial = ' --partial' if any(one.partial for one in self.summaries.values()) else ''
            lines.append(f'python tools/report.py {folders}{partial} makes a report of them')
        return '\n'.join(lines)


def benchmark(
    *,
    models: Sequence[tuple[str | Path, str | Path]],
    protocol: str | Path = 'common',
    corruptions: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
    seed: int = 0,
    image_order: str | None = None,
    max_images: int | None = None,
    clean_only: bool = False,
    out: str | Path | None = None,
    resume: bool = False,
    shard: tuple[int, int] | None = None,
    launcher: str = 'none',
    workers: int | None = None,
    worst_images: int = 4,
    partial: bool = False,
    resamples: int | None = None,
    cfg_options: dict | None = None,
) -> SweepResult:
    """Evaluate models under all conditions of a protocol; each result is kept as soon as it is there.

    Args:
        models: (config, checkpoint) of each; all have the same test data, whose images are then decoded and
            corrupted once for all of them.
        protocol: name of one of ours, or a JSON file.
        corruptions: only these, or groups of them.
        severities: only these.
        seed: of the corruptions.
        image_order: 'bgr' or 'rgb'; default as the protocol says.
        max_images: only so many images, spread evenly over the data set.
        clean_only: only the clean condition.
        out: folder of the results; of several models, the parent of their folders. Default
            ``work_dirs/CONFIG/benchmark/CHECKPOINT/PROTOCOL``, of several models ``work_dirs/benchmark/PROTOCOL``.
        resume: go on with the sweep that is there; its results are kept.
        shard: (I, N): this is job I of N that share the folder; each takes conditions that no other has taken.
        launcher: 'none', 'pytorch', 'slurm' or 'mpi': images of each condition over the ranks.
        workers: processes that decode and corrupt; default as the config says.
        worst_images: number of images to draw on which the model lost most.
        partial: summarise although conditions are missing.
        resamples: of the bootstrap behind the intervals; 0: none.
        cfg_options: dotted key -> value, merged into each config.

    Raises:
        FileExistsError: the folder holds a sweep, and neither ``resume`` nor ``shard`` is given.
        FileNotFoundError: a config, checkpoint or the data do not exist.
        ValueError: something does not fit, with what was expected; after the sweep, conditions that failed.
    """
    chosen = read_protocol(protocol).restricted(corruptions, severities)
    order = image_order or chosen.image_order
    conditions = chosen.conditions(seed, order)[: 1 if clean_only else None]
    folders = _folders(models, chosen.name, out)
    for folder in folders.values():
        if folder.path.is_file():
            raise FileExistsError(f'{folder.path} is a file, a folder is needed for the results: --out DIR')
        if folder.exists() and not (resume or shard):
            raise FileExistsError(
                f'{folder.path} holds a sweep already: --resume goes on with it, --out DIR is another place'
            )
    subjects = _subjects(models, folders, launcher, cfg_options)
    images = _spread(len(subjects[0].dataset), max_images)
    data = fingerprint(subjects[0].dataset)
    for (name, folder), subject in zip(folders.items(), subjects):
        identity = Identity(
            name=name,
            config=str(subject.config.filename),
            checkpoint=str(subject.checkpoint),
            checkpoint_digest=subject.checkpoint_digest,
            protocol=chosen.to_dict(),
            seed=seed,
            image_order=order,
            max_images=max_images if len(images) < len(subject.dataset) else None,
            images=len(images),
            data=data,
            classes=list(subject.dataset.metainfo['classes']),
            settings=_settings(subject.config),
            training_corruptions=_seen_in_training(subject),
            versions=versions.installed(),
        )
        _enter(folder, identity)
    if shard:
        conditions = in_turn(conditions, *shard)
    failed = _run(subjects, list(folders.values()), conditions, images, workers, shard)
    summaries = _summaries(folders, subjects, images, partial, resamples, worst_images)
    if failed:
        reasons = '; '.join(f'{condition}: {reason}' for condition, reason in failed.items())
        raise ValueError(f'{len(failed)} conditions failed, the others are kept: {reasons}')
    return SweepResult(
        folders={name: folder.path for name, folder in folders.items()},
        summaries=summaries,
        missing={name: folder.missing() for name, folder in folders.items()},
    )


def _folders(models, protocol: str, out) -> dict[str, SweepFolder]:
    """Name of each model -> its folder."""
    stems = [Path(config).stem for config, _ in models]
    names = [
        stem if stems.count(stem) == 1 else f'{stem}-{Path(checkpoint).stem}'
        for stem, (_, checkpoint) in zip(stems, models)
    ]
    if len(set(names)) < len(names):
        raise ValueError(f'models {", ".join(names)}: equal names of config and checkpoint; rename a checkpoint')
    place = re.sub(r'[^\w.-]+', '-', protocol).strip('-.')[:60] or 'protocol'  # no brackets of 'common (part)'
    if len(models) > 1:
        parent = Path(out or Path('work_dirs', 'benchmark', place))
        return {name: SweepFolder(parent / name) for name in names}
    (_, checkpoint), name = models[0], names[0]
    return {name: SweepFolder(out or Path('work_dirs', name, 'benchmark', Path(checkpoint).stem, place))}


def _subjects(models, folders: dict[str, SweepFolder], launcher: str, cfg_options) -> list[Subject]:
    """All models, with one data set."""
    configs = []
    for (config, checkpoint), folder in zip(models, folders.values()):
        cfg = configuration.load(config, cfg_options)
        configuration.require(cfg, 'test_dataloader', 'test_evaluator')
        if not Path(checkpoint).is_file():
            raise FileNotFoundError(
                f'checkpoint {checkpoint} does not exist; training writes them to work_dirs/CONFIG/'
            )
        cfg.work_dir = str(folder.path / 'log')
        cfg.launcher = launcher
        configs.append(cfg)
        unlike = configuration.differences(_data(configs[0]), _data(cfg))
        if unlike:
            raise ValueError(
                f'{configs[0].filename} and {cfg.filename} have different test data ({", ".join(unlike[:5])}): '
                'benchmark them one at a time'
            )
    subjects = [prepare(configs[0], Path(models[0][1]))]
    for cfg, (_, checkpoint) in zip(configs[1:], models[1:]):
        subjects.append(prepare(cfg, Path(checkpoint), subjects[0].dataset))
    return subjects


def _data(cfg) -> dict[str, object]:
    return configuration.flatten(cfg.test_dataloader.dataset.to_dict())


def _settings(cfg) -> dict[str, str]:
    """What the figures depend on, flattened."""
    measured = {
        name: cfg[name].to_dict() if hasattr(cfg[name], 'to_dict') else cfg[name] for name in _MEASURED if name in cfg
    }
    loader = {name: value for name, value in measured['test_dataloader'].items() if name not in _HOW_FAST}
    return {key: str(value) for key, value in configuration.flatten({**measured, 'test_dataloader': loader}).items()}


def _seen_in_training(subject: Subject) -> list[str]:
    """Corruptions in the training that this config states, or the one that the checkpoint comes from."""
    configs = (subject.config, stated(subject.trained_with))
    return training_corruptions([config.get(name) for config in configs for name in _TRAINING])


def _spread(length: int, limit: int | None) -> list[int]:
    """Indices of ``limit`` images at equal distances.

    >>> _spread(10, 4)
    [0, 2, 5, 7]
    """
    if limit is None or limit >= length:
        return list(range(length))
    return [int(index) for index in np.arange(limit) * length // limit]


def _enter(folder: SweepFolder, identity: Identity) -> None:
    """Begin a sweep, or make sure that the one that is there is the same."""
    different = []
    if is_main_process():
        if folder.exists():
            different = folder.identity.differences(identity)
        else:
            folder.write_identity(identity)
    box = [different]
    broadcast_object_list(box)  # so that no rank goes on alone
    if box[0]:
        raise ValueError(
            f'{folder.path} holds another sweep, it differs in {", ".join(box[0])}; --out DIR is another place'
        )


def _run(subjects, folders, conditions, images, workers, shard) -> dict[Condition, str]:
    """Evaluate what has no result yet; failed condition -> reason."""
    failed: dict[Condition, str] = {}
    rank, _ = get_dist_info()

    def finished(condition: Condition) -> bool:
        return all(folder.finished(condition) for folder in folders)

    left = sum(not finished(condition) for condition in conditions)
    progress = Progress(-(-left // shard[1]) if shard else left, len(images), shown=rank == 0)
    with contextlib.ExitStack() as stack:
        claims = Claims(folders[0].path / 'claims', conditions, finished) if rank == 0 else ()
        if rank == 0:
            stack.callback(claims.close)
        stack.callback(progress.close)
        running = run_conditions(subjects, _agreed(claims), images=images, workers=workers, progress=progress)
        for condition, outcomes in running:
            if isinstance(outcomes, SilentlyClean):
                failed[condition] = str(outcomes)
                if rank == 0:
                    print(f'{condition} failed: {outcomes}', file=sys.stderr, flush=True)
            elif rank == 0:
                _keep(folders, outcomes)
                claims.release(condition)
    barrier()
    return failed


def _keep(folders: list[SweepFolder], outcomes: list[Outcome]) -> None:
    for folder, outcome in zip(folders, outcomes):
        if not folder.finished(outcome.result.condition):
            folder.write(outcome.result, outcome.records)


def _agreed(claims) -> Iterator[Condition]:
    """The conditions that rank 0 claims, on every rank; all ask for the next one after the same number of batches."""
    rank, world_size = get_dist_info()
    claimed = iter(claims)
    while True:
        box = [next(claimed, None) if rank == 0 else None]
        if world_size > 1:
            broadcast_object_list(box)
        if box[0] is None:
            return
        yield box[0]


def _summaries(
    folders, subjects, images, partial: bool, resamples: int | None, worst_images: int
) -> dict[str, Summary]:
    """Summarise what is complete (or at all, if ``partial``), and draw its worst images."""
    box = [[name for name, folder in folders.items() if partial or not folder.missing()]]
    broadcast_object_list(box)  # another job may finish a condition between the looks of two ranks
    summaries = {}
    for (name, folder), subject in zip(folders.items(), subjects):
        if name not in box[0]:
            continue
        if worst_images:
            worst.draw(folder, subject, images, worst_images)
        if is_main_process():
            summaries[name] = folder.summary(partial=partial, resamples=resamples)
            folder.write_summary(summaries[name])
    return summaries


def _headline(name: str, summary: Summary) -> list[str]:
    partial = (
        f' (PARTIAL: {len(summary.missing)} of {summary.conditions} conditions are missing)' if summary.partial else ''
    )
    lines = [f'{name}, {summary.protocol["name"]}, {summary.images} images{partial}']
    for metric, figures in summary.metrics.items():
        if math.isnan(figures.clean) and math.isnan(figures.mpc):
            lines.append(f'  {metric:<12} no ground truth')
            continue
        rpc = '-' if math.isnan(figures.rpc) else f'{figures.rpc:.1%}'
        lines.append(f'  {metric:<12} clean {figures.clean:.4f}  mPC {figures.mpc:.4f}  rPC {rpc}')
    return lines
