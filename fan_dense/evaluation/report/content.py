"""What a report says, in the order in which it says it; Markdown and HTML differ in how."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fan_dense.evaluation.published import Published, published
from fan_dense.evaluation.report import charts, comparable, curves, methods, style, tables, text, timing
from fan_dense.evaluation.report.entry import Entry, having, main_metrics
from fan_dense.evaluation.report.notices import Notice, notices
from fan_dense.evaluation.report.tables import Reference, Table


@dataclass(frozen=True)
class Drawn:
    """A drawn chart: file name without the ending, what it shows, and its bytes."""

    name: str
    alt: str
    svg: bytes
    png: bytes


@dataclass(frozen=True)
class Photo:
    """A picture of an image: its name in the report's folder, and the file's bytes."""

    name: str
    content: bytes


@dataclass(frozen=True)
class WorstImage:
    """An image on which a model lost much: scores, and prediction and truth; None where a file is not there."""

    image: str
    condition: str
    score: float
    clean_score: float
    score_name: str
    clean: Photo | None
    corrupted: Photo | None


@dataclass(frozen=True)
class Chapter:
    """One metric.

    Attributes:
        published: figures of others for it under this protocol, and what to think of a comparison.
        findings: what the figures say of each model.
        charts: one of :data:`charts.KINDS` -> chart.
        heat_maps: one a model.
        conditions, classes: (model, table); no classes where the metric has no figures of them.
        panels: (title, drawing) of each corruption, for a page that arranges them by itself.
        relative: errors relative to a reference model's, or None.
    """

    metric: str
    title: str
    models: Sequence[Entry]
    published: Sequence[Published]
    published_note: str
    findings: Sequence[tuple[Entry, str]]
    charts: Mapping[str, Drawn]
    heat_maps: Sequence[Drawn]
    panels: Sequence[tuple[str, bytes]]
    headline: Table
    corruptions: Table
    groups: Table
    severities: Table
    conditions: Sequence[tuple[Entry, Table]]
    classes: Sequence[tuple[Entry, Table]]
    relative: Table | None


@dataclass(frozen=True)
class Content:
    """A whole report; ``time`` is None where no sweep has times."""

    title: str
    facts: Sequence[str]
    notices: Sequence[Notice]
    models: Sequence[Entry]
    chapters: Sequence[Chapter]
    every_metric: Table
    worst: Sequence[tuple[Entry, Sequence[WorstImage]]]
    time: Table | None
    time_chart: Drawn | None
    shared: Sequence[tuple[str, str]]
    methods: Table
    pixels: Table

    @property
    def charts(self) -> list[Drawn]:
        """All that are saved as files."""
        drawn = [chart for chapter in self.chapters for chart in (*chapter.charts.values(), *chapter.heat_maps)]
        return drawn + ([self.time_chart] if self.time_chart else [])

    @property
    def photos(self) -> list[Photo]:
        found = [photo for _, images in self.worst for one in images for photo in (one.clean, one.corrupted)]
        return [photo for photo in found if photo]


def compose(models: Sequence[Entry], reference: Reference | None) -> Content:
    """Draw the charts and lay out the tables of models under one protocol."""
    with style.drawing():
        chapters = [_chapter(models, metric, reference) for metric in main_metrics(models)]
        time_chart = next(map(_drawn, charts.of_time(models)), None)
    return Content(
        title=f'Robustness report: {models[0].protocol.name}',
        facts=methods.facts(models),
        notices=notices(models),
        models=models,
        chapters=chapters,
        worst=[(model, [_worst(model, one) for one in model.sweep.worst]) for model in models],
        every_metric=tables.every_metric(models),
        time=timing.table(models) if time_chart else None,
        time_chart=time_chart,
        shared=methods.shared(models),
        methods=methods.table(models),
        pixels=methods.pixels(models),
    )


def _chapter(models: Sequence[Entry], metric: str, reference: Reference | None) -> Chapter:
    models = having(models, metric)
    theirs = published(models[0].protocol, metric)
    drawn = [_drawn(chart) for chart in charts.of_metric(models, metric, theirs)]
    panels = charts.severity_panels(models, metric)
    upper = curves.top(panels)
    return Chapter(
        metric=metric,
        title=text.title(metric),
        models=models,
        published=theirs,
        published_note=comparable.note(models, theirs),
        findings=[(model, methods.finding(model, metric)) for model in models],
        charts=dict(zip(charts.KINDS, drawn)),
        heat_maps=drawn[len(charts.KINDS) :],
        panels=[(panel.title, style.rendered(curves.small(panel, upper), 'svg')) for panel in panels],
        headline=tables.headline(models, metric, theirs),
        corruptions=tables.by_corruption(models, metric, theirs),
        groups=tables.by_group(models, metric),
        severities=tables.by_severity(models, metric),
        conditions=[(model, tables.conditions(model, metric)) for model in models],
        classes=[(model, tables.by_class(model, metric)) for model in models if model.metrics[metric].by_class],
        relative=tables.relative(models, metric, reference) if reference else None,
    )


def _drawn(chart: charts.Chart) -> Drawn:
    svg, png = (style.rendered(chart.figure, kind) for kind in ('svg', 'png'))
    return Drawn(chart.name, chart.alt, svg, png)


def _worst(model: Entry, told: Mapping) -> WorstImage:
    condition = told['condition']
    return WorstImage(
        image=told['image'],
        condition=f'{text.spaced(condition["corruption"])} {condition["severity"]}',
        score=told['score'],
        clean_score=told['clean_score'],
        score_name=told['score_name'],
        **{kind: _photo(model, told[kind]) for kind in ('clean', 'corrupted')},
    )


def _photo(model: Entry, name: str) -> Photo | None:
    file = model.sweep.folder / 'worst' / Path(name).name
    return Photo(f'worst/{model.letter}-{file.name}', file.read_bytes()) if file.is_file() else None
