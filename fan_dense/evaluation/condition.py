"""Evaluate a model under one condition, and under many without building it again.

:func:`evaluate` is what ``tools/test.py`` calls. A sweep calls :func:`prepare` once and :func:`run` for each condition.
"""

import contextlib
import copy
import io
from pathlib import Path

from mmengine.config import Config
from mmengine.dist import is_main_process
from mmengine.registry import DATASETS, init_default_scope

from fan_dense import configuration
from fan_dense.datasets.wrappers import check_classes
from fan_dense.evaluation.guard import SilentlyClean
from fan_dense.evaluation.loop import Subject, run_conditions
from fan_dense.evaluation.progress import Progress
from fan_dense.evaluation.result import Condition, ConditionResult
from fan_dense.evaluation.weights import file_digest, load_exactly
from fan_dense.files import refuse_existing, write_atomically
from fan_dense.runner import QuietRunner

DEFAULT_SEVERITY = 3


def evaluate(
    *,
    config: str | Path,
    checkpoint: str | Path,
    corruption: str | None = None,
    severity: int | None = None,
    seed: int | None = None,
    image_order: str | None = None,
    work_dir: str | Path | None = None,
    show_dir: str | Path | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    cfg_options: dict | None = None,
    launcher: str = 'none',
) -> ConditionResult:
    """Evaluate ``checkpoint`` on the test data of ``config`` and write the result to a JSON file.

    Args:
        config: config file.
        checkpoint: weights of its model, as training saves them.
        corruption: name of a corruption, or 'clean'. This and the next three default to what the ``Corrupt`` step
            of the config's test pipeline says, if it has one, else to clean.
        severity: 1 to 5; 3 where neither this nor the config says.
        seed: of the corruption, default 0.
        image_order: 'bgr' (default) or 'rgb', the channel order in which the corruption sees the image.
        work_dir: default ``work_dirs/CONFIG``. Logs and results go to its folder ``test``.
        show_dir: draw every prediction beside the ground truth, into a folder CONDITION of this one.
        out: the JSON file; default ``WORK_DIR/test/CHECKPOINT/CONDITION.json``.
        overwrite: replace that file if it exists.
        cfg_options: dotted key -> value, merged into the config; see :func:`fan_dense.configuration.load`.
        launcher: 'none', 'pytorch', 'slurm' or 'mpi'.

    Raises:
        FileNotFoundError: config, checkpoint or data do not exist.
        FileExistsError: the result is there already.
        SilentlyClean: the pixels were not corrupted.
        ValueError: anything else that does not fit, with what was expected.
    """
    checkpoint = Path(checkpoint)
    cfg = configuration.load(config, cfg_options)
    configuration.require(cfg, 'test_dataloader', 'test_evaluator')
    condition = requested(cfg, corruption, severity, seed, image_order)
    if not checkpoint.is_file():
        raise FileNotFoundError(f'checkpoint {checkpoint} does not exist; training writes them to work_dirs/CONFIG/')
    folder = Path(work_dir or cfg.get('work_dir') or Path('work_dirs', Path(config).stem)) / 'test'
    out = Path(out) if out else folder / checkpoint.stem / f'{condition.file_stem}.json'
    refuse_existing(out, overwrite=overwrite)
    cfg.work_dir = str(folder)
    cfg.launcher = launcher
    subject = prepare(cfg, checkpoint)
    result = run(subject, condition, show_dir=show_dir)
    if subject.runner.rank == 0:
        refuse_existing(out, overwrite=overwrite)
        write_atomically(out, result.to_json())
    return result


def requested(cfg, corruption=None, severity=None, seed=None, image_order=None) -> Condition:
    """The condition that the config's own ``Corrupt`` step states, with what the caller says instead."""
    steps = list(configuration.steps(cfg.test_dataloader, 'Corrupt'))
    stated = steps[0] if steps and corruption != 'clean' else {}
    named = corruption not in (None, 'clean')
    chosen = {
        'corruption': stated.get('corruption') if not named else corruption,
        'severity': stated.get('severity', DEFAULT_SEVERITY if named else None) if severity is None else severity,
        'seed': stated.get('seed', 0) if seed is None else seed,
        'image_order': stated.get('image_order', 'bgr') if image_order is None else image_order,
    }
    return Condition(**chosen)


def prepare(cfg: Config, checkpoint: Path, dataset=None) -> Subject:
    """Build the model and the test data of ``cfg`` and load ``checkpoint``, which must fit the model exactly.

    Args:
        cfg: config with ``work_dir``.
        checkpoint: weights.
        dataset: the test data, where they are built already.
    """
    cfg = copy.deepcopy(cfg)
    configuration.check_data(cfg, 'test_dataloader')
    others = ('train_', 'val_', 'test_', 'optim', 'param')
    model_only = Config({name: value for name, value in cfg.items() if not name.startswith(others)})
    model_only.auto_scale_lr = None
    # the loop looks at the pixels itself
    model_only.custom_hooks = [hook for hook in cfg.get('custom_hooks') or () if hook['type'] != 'PixelGuard']
    with contextlib.redirect_stdout(io.StringIO()):
        runner = QuietRunner.from_cfg(model_only)
        runner.call_hook('before_run')
        trained_with = load_exactly(runner, checkpoint, cfg.filename)
        if dataset is None:
            init_default_scope(cfg.get('default_scope', 'mmengine'))
            dataset = DATASETS.build(cfg.test_dataloader.dataset)
            if hasattr(dataset, 'full_init'):
                dataset.full_init()
    check_classes(dataset)
    if len(dataset) == 0:
        raise ValueError(f'the test data set of {cfg.filename} is empty: {cfg.test_dataloader.dataset}')
    return Subject(cfg, checkpoint, file_digest(checkpoint), trained_with, runner, dataset)


def run(subject: Subject, condition: Condition, *, show_dir: str | Path | None = None) -> ConditionResult:
    """Evaluate ``subject`` under ``condition``."""
    progress = Progress(1, len(subject.dataset), shown=is_main_process())
    ((_, outcomes),) = run_conditions([subject], [condition], show_dirs=[show_dir], progress=progress)
    progress.close()
    if isinstance(outcomes, SilentlyClean):
        raise outcomes
    return outcomes[0].result
