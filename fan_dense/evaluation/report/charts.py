"""Which charts a report has, and what each shows."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fan_dense.evaluation.published import Published
from fan_dense.evaluation.report import bars, curves, overview, text, timing
from fan_dense.evaluation.report.entry import Entry, having
from fan_dense.evaluation.report.heat_map import Row, heat_map
from fan_dense.evaluation.report.tables import published_mark

KINDS = ('overview', 'severities', 'groups', 'curves')  # of which each metric has one; then come the heat maps


@dataclass(frozen=True)
class Chart:
    """A drawn chart: its file name without the ending, what a reader who cannot see it is told, and the figure."""

    name: str
    alt: str
    figure: object


def of_metric(models: Sequence[Entry], metric: str, published: Sequence[Published]) -> Iterator[Chart]:
    """The charts of one metric that are saved as files: one of each kind, and a heat map of each model."""
    models = having(models, metric)
    title = text.title(metric)
    legend = [(model.marked, model.look) for model in models]
    marks = dict.fromkeys(mark for model in models for mark in model.marks)
    note = '; '.join(f'{mark}: {", ".join(one.letter for one in models if mark in one.marks)}' for mark in marks)
    panels = severity_panels(models, metric)
    file = re.sub(r'[^\w.-]', '_', metric)
    yield Chart(
        f'overview_{file}',
        f'{title} of each model, clean and its mean under corruption',
        overview.overview(
            f'{title}: clean (hollow) and mPC (filled)',
            f'grey: {published_mark(models, published)}' if published else '',
            _overview_rows(models, metric, published),
        ),
    )
    yield Chart(
        f'severities_{file}',
        f'{title} by severity, mean over corruptions',
        curves.single(_mean_panel(models, metric), curves.top(panels), note),
    )
    yield Chart(
        f'groups_{file}',
        f'{title} of each group of corruptions beside the clean one',
        bars.group_bars(f'{title} by group (of clean)', _group_bars(models, metric), note),
    )
    yield Chart(
        f'curves_{file}',
        f'{title} by severity, a panel a corruption',
        curves.sheet(panels, f'{title} (per cent) by severity of each corruption', legend),
    )
    known = [value for panel in panels for curve in panel.curves for value in curve.values.values() if value > 0]
    largest = max(known, default=1.0)
    for model in models:
        yield Chart(
            f'heat_map_{file}_{model.letter}',
            f'{title} of {model.marked} under each corruption and severity',
            heat_map(model.label, '; '.join(model.marks), _heat_rows(model, metric), largest),
        )


def of_time(models: Sequence[Entry]) -> Iterator[Chart]:
    """The chart of where the time went, if any model has times."""
    rows = []
    for model in models:
        totals = timing.seconds(model)
        for where, kinds in (('main process', timing.MAIN), ('workers', timing.WORKERS)):
            parts = timing.parts(totals, kinds)
            if sum(parts.values()) > 0:
                rows.append((f'{model.letter} · {where}, {text.duration(sum(parts.values()))}', parts))
    if rows:
        yield Chart('time', 'seconds of each phase of the evaluation', bars.shares('Time by phase', rows))


def severity_panels(models: Sequence[Entry], metric: str) -> list[curves.Panel]:
    """A panel a corruption, in the protocol's order."""
    models = having(models, metric)
    return [
        curves.Panel(
            text.spaced(name),
            [_curve(model, metric, model.metrics[metric].by_corruption[name]['severities']) for model in models],
        )
        for name in models[0].protocol.corruptions
    ]


def _mean_panel(models: Sequence[Entry], metric: str) -> curves.Panel:
    lines = [_curve(model, metric, model.metrics[metric].by_severity) for model in models]
    return curves.Panel(f'{text.title(metric)} by severity, mean over corruptions', lines)


def _curve(model: Entry, metric: str, severities: dict[str, float]) -> curves.Curve:
    values = {0: model.metrics[metric].clean, **{int(severity): value for severity, value in severities.items()}}
    return curves.Curve(model.letter, model.look, values)


def _overview_rows(models: Sequence[Entry], metric: str, published: Sequence[Published]) -> list[overview.Row]:
    rows = []
    for model in models:
        figures = model.metrics[metric]
        intervals = figures.intervals or {}
        ends = (intervals.get(kind, overview.NOT_KNOWN) for kind in ('clean', 'mpc'))
        rows.append(overview.Row(model.label, model.marking, model.look, figures.clean, figures.mpc, *ends))
    return rows + [overview.Row(one.model, ' (published)', None, one.clean, one.mpc) for one in published]


def _group_bars(models: Sequence[Entry], metric: str) -> list[bars.Bars]:
    return [
        bars.Bars(model.letter, model.look, model.metrics[metric].clean, model.metrics[metric].by_group)
        for model in models
    ]


def _heat_rows(model: Entry, metric: str) -> list[Row]:
    figures = model.metrics[metric].by_corruption
    return [
        Row(
            text.spaced(name),
            model.protocol.group(name),
            figures[name]['mean'],
            {int(severity): value for severity, value in figures[name]['severities'].items()},
        )
        for name in model.protocol.corruptions
    ]
