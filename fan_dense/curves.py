"""The course of a training run as a picture: losses, and the figures of every validation."""

import json
from pathlib import Path

NAME = 'curves.png'
LOGS = '*/vis_data/scalars.json'  # mmengine's LocalVisBackend: one folder a run, named by its time
# what mmengine logs beside losses and scores
_NOT_DRAWN = ('lr', 'base_lr', 'time', 'data_time', 'grad_norm', 'iter', 'epoch', 'step', 'memory')
_OVERALL = ('bbox_mAP', 'bbox_mAP_50', 'segm_mAP', 'segm_mAP_50', 'mIoU', 'aAcc', 'mAcc')
_STYLES = ('-', '--', ':', '-.')  # so that curves differ in black and white too


def draw(work_dir: str | Path) -> Path:
    """Draw the runs of ``work_dir``, a resumed one being one with those before it, to its ``curves.png``.

    Raises:
        FileNotFoundError: no run was logged there.
    """
    work_dir = Path(work_dir)
    if not logs(work_dir):
        raise FileNotFoundError(f'{work_dir} holds no training log ({LOGS}); tools/train.py writes it')
    losses, scores = read(work_dir)
    from matplotlib.figure import Figure  # pyplot would choose a window system

    figure = Figure(figsize=(11, 4), layout='constrained')
    panels = figure.subplots(1, 2 if scores else 1, squeeze=False)[0]
    _panel(panels[0], losses, 'training loss', marker=None)
    panels[0].set_ylim(bottom=0)
    if scores:
        _panel(panels[1], scores, 'validation', marker='o')
    figure.suptitle(str(work_dir))
    path = work_dir / NAME
    figure.savefig(path, dpi=120)
    return path


def logs(work_dir: Path) -> list[Path]:
    """The logs of all runs in a folder, oldest first."""
    return sorted(work_dir.glob(LOGS))


def read(work_dir: Path) -> tuple[dict, dict]:
    """(losses, scores) of all runs in a folder: name -> {step: value}; a later run's value replaces an earlier's."""
    losses, scores = {}, {}
    for log in logs(work_dir):
        for line in log.read_text().splitlines():
            row = json.loads(line)
            curves = losses if 'loss' in row else scores
            for name, value in row.items():
                if name.rpartition('/')[2] not in _NOT_DRAWN and isinstance(value, (int, float)):
                    curves.setdefault(name, {})[row['step']] = value
    losses = {name: curve for name, curve in losses.items() if 'loss' in name}
    return losses, _main(scores)


def _main(scores: dict) -> dict:
    """The overall figures rather than those of every class; all of them if no overall one is known."""
    return {name: curve for name, curve in scores.items() if name.rpartition('/')[2] in _OVERALL} or scores


def _panel(axes, curves: dict, title: str, marker: str | None) -> None:
    for index, (name, curve) in enumerate(curves.items()):
        steps = sorted(curve)
        style = _STYLES[index // 10 % len(_STYLES)] if marker else _STYLES[index % len(_STYLES)]
        axes.plot(
            steps,
            [curve[step] for step in steps],
            style,
            label=name,
            marker=marker,
            linewidth=2 if name == 'loss' else 1,
        )
    axes.set_title(title)
    axes.set_xlabel('step')
    axes.grid(alpha=0.3)
    if curves:
        axes.legend(fontsize=8)
