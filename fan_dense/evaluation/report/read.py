"""Sweeps as a report needs them, and whether they belong into one."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from fan_dense.evaluation.folder import SweepFolder
from fan_dense.evaluation.metrics import MissingConditions, Summary
from fan_dense.evaluation.report.entry import Sweep

_WORST = ('image', 'condition', 'score', 'clean_score', 'score_name', 'clean', 'corrupted')  # fields of worst.json


def read(path: Path, *, partial: bool = False, resamples: int | None = None) -> Sweep:
    """One sweep.

    Args:
        path: its folder.
        partial: take means of the conditions that are there, if not all are.
        resamples: for the confidence intervals; 0: none; None: those in ``summary.json``, or the default.

    Raises:
        FileNotFoundError: the folder holds no sweep.
        ValueError: conditions are missing and ``partial`` is False, or files are broken.
    """
    folder = SweepFolder(path)
    identity = folder.identity
    try:
        summary = _summary(folder, partial, resamples)
    except MissingConditions as error:
        raise ValueError(f'{path}: {error}') from error
    phases = {str(condition): result.phases for condition, result in folder.results().items() if result.phases}
    return Sweep(path, identity, summary, phases, _worst(path / 'worst' / 'worst.json'))


def check_together(paths: Sequence[Path]) -> None:
    """Raise a ValueError unless the sweeps are different ones, under one protocol and image order."""
    if not paths:
        raise ValueError('no folder of a sweep was given; tools/benchmark.py makes them')
    if len({path.resolve() for path in paths}) < len(paths):
        raise ValueError(f'a folder is given twice: {", ".join(map(str, paths))}')
    first, *others = (SweepFolder(path) for path in paths)
    _ = first.identity  # before anything else is found fault with
    for folder in others:
        for what in ('protocol', 'image_order'):
            ours, theirs = getattr(folder.identity, what), getattr(first.identity, what)
            if ours == theirs:
                continue
            if what == 'protocol':
                ours, theirs = ours['name'], theirs['name'] + (' of other content' * (ours['name'] == theirs['name']))
            raise ValueError(
                f'{folder.path} has {what} {ours}, {first.path} has {theirs}: '
                'models are compared under the same conditions, make a report of each'
            )


def _summary(folder: SweepFolder, partial: bool, resamples: int | None) -> Summary:
    """The figures, from the results of the conditions; their intervals from the file if it has the same figures."""
    if resamples is None:
        plain = folder.summary(partial=partial, resamples=0)
        kept = _kept(folder.path / 'summary.json')
        if kept and _without_intervals(kept).to_json() == plain.to_json() != kept.to_json():
            return kept
    return folder.summary(partial=partial, resamples=resamples)


def _kept(file: Path) -> Summary | None:
    try:
        return Summary.from_json(file.read_text())
    except (OSError, ValueError, TypeError, KeyError):
        return None  # it holds nothing that could not be made again


def _without_intervals(summary: Summary) -> Summary:
    metrics = {name: dataclasses.replace(one, intervals=None) for name, one in summary.metrics.items()}
    return dataclasses.replace(summary, metrics=metrics)


def _worst(file: Path) -> list[dict]:
    """What is said about the worst images; nothing if none were drawn."""
    if not file.is_file():
        return []
    try:
        return [{name: one[name] for name in _WORST} for one in json.loads(file.read_text())]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f'{file} does not list worst images ({type(error).__name__}: {error}); '
            'delete it, the sweep draws them again with --resume'
        ) from error
