"""The tables of a report as data, which Markdown and HTML only have to write."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fan_dense.evaluation.published import Published
from fan_dense.evaluation.report import text
from fan_dense.evaluation.report.comparable import differing
from fan_dense.evaluation.report.entry import Entry, all_metrics, having

MEAN = 'mean (mPC)'


@dataclass(frozen=True)
class Number:
    """A fraction (NaN: not known), with its confidence interval if it has one."""

    value: float
    interval: Sequence[float] | None = None
    best: bool = False


@dataclass(frozen=True)
class Theirs:
    """Somebody else's model, and what is to be said wherever a figure of it is."""

    model: str
    mark: str


@dataclass(frozen=True)
class Reference:
    """A model that errors are given relative to: its name with its marks, and letter -> ``relative_degradation``."""

    name: str
    degradation: Mapping[str, Mapping]


@dataclass(frozen=True)
class Table:
    """Heads and rows of as many cells. A cell is text, a :class:`Number`, or a model, ours or a published one."""

    title: str
    heads: Sequence[str | Entry | Theirs]
    rows: Sequence[Sequence[str | Number | Entry | Theirs]]

    def numeric(self, column: int) -> bool:
        """Whether a column has figures, which are set to the right."""
        return any(isinstance(row[column], Number) for row in self.rows)


def published_mark(models: Sequence[Entry], published: Sequence[Published]) -> str:
    """Whether published figures may be compared with those of ``models``, judged by the size of the data."""
    return 'published' if published and not differing(models, published) else 'published, other data'


def headline(models: Sequence[Entry], metric: str, published: Sequence[Published]) -> Table:
    """Clean, mPC and rPC of the models, and of the published ones below."""
    models = having(models, metric)
    rows = []
    for model in models:
        figures = model.metrics[metric]
        intervals = figures.intervals or {}
        kinds = ('clean', 'mpc', 'rpc')
        rows.append([model, *(Number(getattr(figures, kind), intervals.get(kind)) for kind in kinds)])
    mark = published_mark(models, published)
    rows += [[Theirs(one.model, mark), Number(one.clean), Number(one.mpc), Number(one.rpc)] for one in published]
    return Table(text.title(metric), ['model', 'clean', 'mPC', 'rPC'], rows)


def by_corruption(models: Sequence[Entry], metric: str, published: Sequence[Published]) -> Table:
    """The mean over the severities of each corruption, beside published figures of single corruptions."""
    models = having(models, metric)
    detailed = [one for one in published if one.by_corruption]
    rows = []
    for name in models[0].protocol.corruptions:
        values = [model.metrics[metric].by_corruption[name]['mean'] for model in models]
        theirs = [Number(one.by_corruption.get(name, math.nan)) for one in detailed]
        rows.append([text.spaced(name), *_compared(models, values), *theirs])
    rows.append(
        [MEAN, *_compared(models, [m.metrics[metric].mpc for m in models]), *(Number(one.mpc) for one in detailed)]
    )
    theirs = [Theirs(one.model, published_mark(models, published)) for one in detailed]
    return Table('Means by corruption', ['corruption', *models, *theirs], rows)


def by_group(models: Sequence[Entry], metric: str) -> Table:
    models = having(models, metric)
    rows = [
        [group, *_compared(models, [model.metrics[metric].by_group[group] for model in models])]
        for group in models[0].protocol.groups
    ]
    return Table('Means by group', ['group', *models], rows)


def by_severity(models: Sequence[Entry], metric: str) -> Table:
    """Clean, and the mean over the corruptions that have a severity."""
    models = having(models, metric)
    rows = [['clean', *_compared(models, [model.metrics[metric].clean for model in models])]]
    for severity in models[0].metrics[metric].by_severity:
        rows.append([severity, *_compared(models, [model.metrics[metric].by_severity[severity] for model in models])])
    return Table('Means by severity', ['severity', *models], rows)


def conditions(model: Entry, metric: str) -> Table:
    """All single conditions of one model: what its heat map shows."""
    figures = model.metrics[metric]
    severities = list(figures.by_severity)
    rows = [
        [text.spaced(name), *(_condition(row, severity) for severity in severities), Number(row['mean'])]
        for name, row in figures.by_corruption.items()
    ]
    return Table(model.label, ['corruption', *severities, 'mean'], rows)


def by_class(model: Entry, metric: str) -> Table:
    """Each class, with the corruption that takes most from it."""
    rows = []
    for name, row in model.metrics[metric].by_class.items():
        known = {one: value for one, value in row['by_corruption'].items() if not math.isnan(value)}
        worst = min(known, key=known.get, default=None)
        told = text.ABSENT if worst is None else f'{text.spaced(worst)} {text.percent(known[worst])}'
        rows.append([name, *(Number(row[kind]) for kind in ('clean', 'mpc', 'rpc')), told])
    return Table(model.label, ['class', 'clean', 'mPC', 'rPC', 'worst corruption'], rows)


def weakest(classes: Table, count: int = 10) -> Table:
    """The rows of :func:`by_class` with the lowest mPC, as far as it is known."""
    known = [row for row in classes.rows if not math.isnan(row[2].value)]
    return replace(classes, rows=sorted(known, key=lambda row: row[2].value)[:count])


def every_metric(models: Sequence[Entry]) -> Table:
    rows = []
    for metric in all_metrics(models):
        for model in having(models, metric):
            figures = model.metrics[metric]
            rows.append([metric, model, Number(figures.clean), Number(figures.mpc), Number(figures.rpc)])
    return Table('All metrics', ['metric', 'model', 'clean', 'mPC', 'rPC'], rows)


def relative(models: Sequence[Entry], metric: str, reference: Reference) -> Table | None:
    """Errors relative to the reference's; None where no model has any."""
    models = [model for model in models if metric in reference.degradation.get(model.letter, {})]
    if not models:
        return None
    heads, rows = ['corruption'], []
    for model in models:
        heads += [model, 'fall']
    for name in (*models[0].protocol.corruptions, None):
        cells = []
        for model in models:
            figures = reference.degradation[model.letter][metric]
            pair = figures['mean'] if name is None else figures['by_corruption'][name]
            cells += [Number(pair['ce']), Number(pair['relative_ce'])]
        rows.append(['mean' if name is None else text.spaced(name), *cells])
    return Table(f'Errors relative to {reference.name}', heads, rows)


def _condition(row: Mapping, severity: str) -> str | Number:
    """The figure of a severity; nothing where the protocol has none."""
    return Number(row['severities'][severity]) if severity in row['severities'] else ''


def _compared(models: Sequence[Entry], values: Sequence[float]) -> list[Number]:
    """One figure a model. The best is marked if there are several, all of them whole: else they are means of others."""
    best = max((value for value in values if not math.isnan(value)), default=math.nan)
    marked = len(models) > 1 and not any(model.summary.partial for model in models)
    return [Number(value, best=marked and value == best) for value in values]
