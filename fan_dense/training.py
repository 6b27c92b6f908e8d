"""Train a model from a config: mmengine's Runner, with the checks that keep two runs apart."""

import json
import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from mmengine.config import Config
from mmengine.device import get_device
from mmengine.dist import get_rank
from mmengine.hooks import Hook
from mmengine.logging import print_log
from mmengine.runner import Runner

from fan_dense import configuration, curves
from fan_dense.datasets.wrappers import check_classes
from fan_dense.evaluation import scores
from fan_dense.evaluation.zero_shot import training_corruptions
from fan_dense.files import write_atomically
from fan_dense.runner import ConsoleRunner

RECORD = 'run.json'


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """What a training run has left.

    Attributes:
        config: the config file.
        work_dir: folder of checkpoints and logs.
        checkpoint: the last checkpoint.
        iterations: number of iterations trained, with those of earlier runs that were resumed.
        metrics: the last validation's figures as mmdet and mmseg report them; empty if there was none.
        seed: of this run.
        seconds: duration of this run.
    """

    config: str
    work_dir: str
    checkpoint: str | None
    iterations: int
    metrics: dict[str, float]
    seed: int
    seconds: float

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + '\n'


class ClassCheck(Hook):
    """Stops a training whose annotation files do not know the classes that it is for."""

    def before_train(self, runner) -> None:
        check_classes(runner.train_dataloader.dataset)
        if runner.val_loop is not None:
            check_classes(runner.val_dataloader.dataset)


def train(
    *,
    config: str | Path,
    work_dir: str | Path | None = None,
    resume: bool = False,
    amp: bool = False,
    cfg_options: dict | None = None,
    launcher: str = 'none',
) -> TrainingResult:
    """Train the model of ``config``. The folder's ``run.json`` says which config it holds.

    Args:
        config: config file.
        work_dir: folder of checkpoints and logs; default ``work_dirs/CONFIG``.
        resume: go on from the last checkpoint of ``work_dir``.
        amp: automatic mixed precision (needs a GPU).
        cfg_options: dotted key -> value, merged into the config; see :func:`fan_dense.configuration.load`.
        launcher: 'none', 'pytorch', 'slurm' or 'mpi'.

    Raises:
        FileNotFoundError: config or data do not exist, or there is nothing to resume.
        FileExistsError: ``work_dir`` holds another run.
        ValueError: anything else that does not fit, with what was expected.
    """
    cfg = configuration.load(config, cfg_options)
    configuration.require(cfg, 'train_dataloader', 'train_cfg', 'optim_wrapper')
    folder = Path(work_dir or cfg.get('work_dir') or Path('work_dirs', Path(config).stem))
    cfg.work_dir = str(folder)
    cfg.launcher = launcher
    cfg.resume = resume
    if resume:
        cfg.load_from = last_checkpoint(folder)
    if amp:
        if get_device() == 'cpu':
            raise ValueError('--amp needs a GPU, and there is none')
        cfg.optim_wrapper.type = 'AmpOptimWrapper'
        cfg.optim_wrapper.loss_scale = 'dynamic'
    settings = _settings(cfg)
    changed = check_folder(folder, settings, resume=resume)
    configuration.check_data(cfg, 'train_dataloader', 'val_dataloader')

    started = time.monotonic()
    if cfg.get('val_evaluator'):
        cfg.val_evaluator = scores.exact(cfg.val_evaluator)
    runner = ConsoleRunner.from_cfg(cfg)
    runner.register_hook(ClassCheck())
    if get_rank() == 0:
        record = {'config': str(config), 'settings': settings}
        write_atomically(folder / RECORD, json.dumps(record, indent=1) + '\n')
    for message in [*_resumed_with(changed), *zero_shot_warnings(cfg)]:
        print_log(message, logger='current', level=logging.WARNING)
    runner.train()
    result = TrainingResult(
        config=str(config),
        work_dir=str(folder),
        checkpoint=last_checkpoint(folder),
        iterations=runner.iter,
        metrics=_last_validation(runner),
        seed=runner.seed,
        seconds=time.monotonic() - started,
    )
    if runner.rank == 0:
        write_atomically(folder / 'result.json', result.to_json())
        if curves.logs(folder):
            curves.draw(folder)
    return result


def check_folder(folder: Path, settings: dict[str, str], *, resume: bool) -> list[str]:
    """Refuse a folder that holds another run; give the settings that a resumed run changes.

    Raises:
        FileExistsError: there are checkpoints, and ``resume`` is off.
        FileNotFoundError: there are none, and ``resume`` is on.
    """
    checkpoints = sorted(folder.glob('*.pth'))
    if resume:
        if last_checkpoint(folder) is None:
            raise FileNotFoundError(f'nothing to resume: {folder} holds no checkpoint; start without --resume')
    elif checkpoints:
        changed = _changed(folder, settings)
        if changed is None:
            what = 'checkpoints of another run'
        elif changed:
            what = f'a run of another config (it differs in {_first(changed)})'
        else:
            what = 'a run of this config'
        raise FileExistsError(
            f'{folder} holds {what}: --work-dir DIR starts a new one elsewhere'
            + (', --resume goes on from its last checkpoint' if not changed and changed is not None else '')
        )
    return _changed(folder, settings) or [] if resume else []


def last_checkpoint(folder: Path) -> str | None:
    """The checkpoint that mmengine saved last in ``folder``, also if the folder has been moved since."""
    noted = folder / 'last_checkpoint'
    if not noted.is_file():
        return None
    checkpoint = folder / Path(noted.read_text().strip()).name
    return str(checkpoint) if checkpoint.is_file() else None


def zero_shot_warnings(cfg: Config) -> list[str]:
    """A line if training sees a corruption of the benchmarks: scores under it are not zero-shot."""
    tested = training_corruptions((cfg.train_dataloader, cfg.get('custom_hooks')))
    if not tested:
        return []
    return [
        f'the training pipeline contains {", ".join(tested)}, which the benchmarks test with: robustness figures of '
        'this model are not zero-shot'
    ]


def _settings(cfg: Config) -> dict[str, str]:
    """What makes two runs different: the flattened config, but for where it writes and how it was started."""
    ignored = ('work_dir', 'resume', 'launcher', 'load_from', 'log_level')
    return {k: repr(v) for k, v in configuration.flatten(cfg.to_dict()).items() if k not in ignored}


def _changed(folder: Path, settings: dict[str, str]) -> list[str] | None:
    """The settings that differ from those of the run in ``folder``; None if that run left no record."""
    path = folder / RECORD
    if not path.is_file():
        return None
    return configuration.differences(json.loads(path.read_text())['settings'], settings)


def _first(keys: list[str], count: int = 3) -> str:
    return ', '.join(keys[:count]) + (f' and {len(keys) - count} more' if len(keys) > count else '')


def _resumed_with(changed: list[str]) -> list[str]:
    return [f'resumed with a changed config: {_first(changed, 10)}'] if changed else []


def _last_validation(runner: Runner) -> dict[str, float]:
    scalars = runner.message_hub.log_scalars
    return {
        name.removeprefix('val/'): float(buffer.current())
        for name, buffer in scalars.items()
        if name.startswith('val/') and not name.endswith('time')
    }
