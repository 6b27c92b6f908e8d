"""What ``make demo`` does: train two small models on the embedded street scenes, benchmark them, and report.

The detector's backbone starts from the segmenter's, as it would from a classifier's where there is one.
Whatever is finished is kept: an interrupted demo goes on where it stopped, a finished one only prints its result again.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from fan_dense import configuration, curves
from fan_dense.evaluation import condition as evaluation
from fan_dense.evaluation.report import report
from fan_dense.evaluation.result import Condition
from fan_dense.evaluation.sweep import benchmark
from fan_dense.files import write_atomically
from fan_dense.training import train

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = {'segformer': 'fan_segformer_scenes.py', 'maskrcnn': 'fan_maskrcnn_scenes.py'}  # in this order
METRICS = {'segformer': ('mIoU',), 'maskrcnn': ('bbox_mAP', 'segm_mAP')}
PROTOCOL = 'quick'
DRAWN = (4,)  # the scenes in the picture, under these conditions
SHOWN = (Condition(), *(Condition(corruption=name, severity=3) for name in ('fog', 'gaussian_noise', 'motion_blur')))


@dataclass(frozen=True, kw_only=True)
class DemoResult:
    """Scores and files of a demo.

    Attributes:
        scores: model -> 'clean', a corruption's name or 'mPC' -> metric -> fraction.
        summary: the JSON file with these scores.
        report: the page about both models.
        picture: predictions of both models, clean and corrupted.
        curves: model -> picture of its training.
    """

    scores: dict[str, dict[str, dict[str, float]]]
    summary: Path
    report: Path
    picture: Path
    curves: dict[str, Path]

    def table(self) -> str:
        """Scores as a Markdown table, a row a condition; in parentheses, what is left of the clean score."""
        columns = [(model, metric) for model, metrics in METRICS.items() for metric in metrics]
        rows = [['condition', *(f'{model} {metric}' for model, metric in columns)]]
        for name in self.scores[columns[0][0]]:
            row = [name]
            for model, metric in columns:
                value, clean = self.scores[model][name][metric], self.scores[model]['clean'][metric]
                row.append(f'{value:.3f}' + ('' if name == 'clean' or not clean else f' ({value / clean:.0%})'))
            rows.append(row)
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ['| ' + ' | '.join(cell.ljust(width) for cell, width in zip(row, widths)) + ' |' for row in rows]
        lines.insert(1, '|' + '|'.join('-' * (width + 2) for width in widths) + '|')
        return '\n'.join(lines)


def demo(*, work_dir: str | Path = 'work_dirs/demo', cfg_options: dict | None = None) -> DemoResult:
    """Train, benchmark, report and draw; see the module. ``cfg_options`` (dotted key -> value) change both configs."""
    work_dir = Path(work_dir)
    scores, sweeps, pictures, start = {}, [], {}, {}
    for model, name in CONFIGS.items():
        config, folder = ROOT / 'configs' / name, work_dir / model
        checkpoint = _trained(config, folder, {**(cfg_options or {}), **start})
        sweeps.append(folder / 'benchmark')
        scores[model] = _scores(config, checkpoint, METRICS[model], sweeps[-1], cfg_options)
        pictures[model] = _pictures(config, folder, checkpoint, cfg_options)
        weights = dict(type='Pretrained', checkpoint=str(checkpoint), prefix='backbone.')
        start = {'+model.backbone.init_cfg': weights}
    summary, picture = work_dir / 'summary.json', work_dir / 'predictions.png'
    write_atomically(summary, json.dumps(scores, indent=2) + '\n')
    if not picture.exists():
        cv2.imwrite(str(picture), montage(pictures))
    written = report(folders=sweeps, out=work_dir / 'report', overwrite=True)
    return DemoResult(
        scores=scores,
        summary=summary,
        report=next(file for file in written.files if file.suffix == '.html'),
        picture=picture,
        curves={model: work_dir / model / curves.NAME for model in CONFIGS},
    )


def _trained(config: Path, folder: Path, cfg_options: dict) -> Path:
    """The final checkpoint in ``folder``, trained as far as that is still needed."""
    finished = folder / 'result.json'
    if not finished.exists():
        started = (folder / 'last_checkpoint').exists()
        print(f'{"Going on with" if started else "Training"} {config.name} in {folder}', flush=True)
        train(config=config, work_dir=folder, resume=started, cfg_options=cfg_options)
    else:
        print(f'Trained {config.name} before, in {folder}', flush=True)
    return Path(json.loads(finished.read_text())['checkpoint'])


def _scores(config, checkpoint, metrics, folder: Path, cfg_options) -> dict[str, dict[str, float]]:
    """'clean', corruption or 'mPC' -> metric -> fraction; evaluates what has not been."""
    print(f'Testing {config.name}, protocol {PROTOCOL}', flush=True)
    result = benchmark(
        models=[(config, checkpoint)], protocol=PROTOCOL, out=folder, resume=True, cfg_options=cfg_options
    )
    (summary,) = result.summaries.values()
    found = {metric: summary.metrics[metric] for metric in metrics}
    rows = {'clean': {metric: one.clean for metric, one in found.items()}}
    for name in next(iter(found.values())).by_corruption:
        rows[name] = {metric: one.by_corruption[name]['mean'] for metric, one in found.items()}
    return rows | {'mPC': {metric: one.mpc for metric, one in found.items()}}


def _pictures(config, folder, checkpoint, cfg_options) -> list[Path]:
    """A picture of prediction and ground truth for every one of :data:`SHOWN`, drawn unless it has been."""
    shown = {condition: folder / 'shown' / condition.file_stem for condition in SHOWN}
    if not all(list(place.rglob('*.png')) for place in shown.values()):
        drawn_only = {'+test_dataloader.dataset.indices': list(DRAWN), 'test_dataloader.batch_size': 1}
        subject = _subject(config, folder, checkpoint, {**(cfg_options or {}), **drawn_only})
        for condition in SHOWN:
            evaluation.run(subject, condition, show_dir=folder / 'shown')
    return [sorted(place.rglob('*.png'))[0] for place in shown.values()]


def _subject(config, folder, checkpoint, cfg_options) -> evaluation.Subject:
    cfg = configuration.load(config, cfg_options)
    cfg.work_dir = str(folder / 'test')
    return evaluation.prepare(cfg, checkpoint)


def montage(pictures: dict[str, list[Path]]) -> np.ndarray:
    """Pictures of one column for each model and one row for each condition, as one (H, W, 3)."""
    columns = []
    for paths in pictures.values():
        column = [cv2.imread(str(path)) for path in paths]
        width = max(picture.shape[1] for picture in column)
        columns.append(np.vstack([_padded(picture, picture.shape[0], width) for picture in column]))
    height = max(column.shape[0] for column in columns)
    return np.hstack([_padded(column, height, column.shape[1] + 12) for column in columns])


def _padded(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """``picture`` on a white ground of that size, in its upper left corner."""
    canvas = np.full((height, width, 3), 255, np.uint8)
    canvas[: picture.shape[0], : picture.shape[1]] = picture
    return canvas
