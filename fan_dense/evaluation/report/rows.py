"""The report's figures as CSV: whole fractions, empty where there is none."""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence

from fan_dense.evaluation.report.entry import Entry
from fan_dense.evaluation.report.timing import MAIN, WORKERS

CONDITIONS = ('model', 'metric', 'condition', 'corruption', 'group', 'severity', 'value', 'images', 'unchanged_images',
              'pixel_digest', 'marks')  # fmt: skip
MEANS = ('model', 'metric', 'mean_of', 'name', 'value', 'low', 'high', 'marks')


def conditions_csv(models: Sequence[Entry]) -> str:
    """One row for each model, metric and condition of the protocol; those that are missing have no value."""
    return _csv(CONDITIONS, (row for model in models for row in _conditions(model)))


def means_csv(models: Sequence[Entry]) -> str:
    """One row for each mean: ``mean_of`` is clean, mpc, rpc, or corruption, group, severity or class with a name.

    A class has three: class_clean, class_mpc and class_rpc.
    """
    return _csv(MEANS, (row for model in models for row in _means(model)))


def seconds_csv(models: Sequence[Entry]) -> str:
    """One row for each model and condition: seconds of each phase, of the workers together and of the main process."""
    return _csv(
        ('model', 'condition', *WORKERS, *MAIN, 'total'),
        (
            (model.name, condition, *(phases.get(name, math.nan) for name in (*WORKERS, *MAIN, 'total')))
            for model in models
            for condition, phases in model.sweep.phases.items()
        ),
    )


def _conditions(model: Entry) -> Iterator[tuple]:
    summary, marks = model.summary, '; '.join(model.marks)
    for metric, figures in model.metrics.items():
        values = {('clean', '', '', ''): figures.clean}
        for name, row in figures.by_corruption.items():
            for severity, value in row['severities'].items():
                values[f'{name} {severity}', name, model.protocol.group(name), severity] = value
        for key, value in values.items():
            there = key[0] in summary.pixel_digests
            images = (summary.images, summary.unchanged_images.get(key[0], 0)) if there else ('', '')
            yield model.name, metric, *key, value, *images, summary.pixel_digests.get(key[0], ''), marks


def _means(model: Entry) -> Iterator[tuple]:
    marks = '; '.join(model.marks)
    for metric, figures in model.metrics.items():
        intervals = figures.intervals or {}
        for kind in ('clean', 'mpc', 'rpc'):
            ends = intervals.get(kind, (math.nan, math.nan))
            yield model.name, metric, kind, '', getattr(figures, kind), *ends, marks
        named = {
            'corruption': {name: row['mean'] for name, row in figures.by_corruption.items()},
            'group': figures.by_group,
            'severity': figures.by_severity,
            **{
                f'class_{kind}': {n: row[kind] for n, row in figures.by_class.items()}
                for kind in ('clean', 'mpc', 'rpc')
            },
        }
        for kind, values in named.items():
            for name, value in values.items():
                yield model.name, metric, kind, name, value, math.nan, math.nan, marks


def _csv(heads: Sequence[str], rows: Iterable[tuple]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator='\n')
    writer.writerow(heads)
    for row in rows:
        writer.writerow('' if isinstance(cell, float) and math.isnan(cell) else cell for cell in row)
    return buffer.getvalue()
