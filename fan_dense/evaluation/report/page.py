"""The report as one HTML page that needs nothing else: no network, no script, pictures inside."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from fan_dense.evaluation.report import svg, tables, text
from fan_dense.evaluation.report.content import Chapter, Content, Drawn
from fan_dense.evaluation.report.entry import Entry
from fan_dense.evaluation.report.tables import Number, Theirs

FOLDER = Path(__file__).parent
MANY_CLASSES = 24  # of more than these only the weakest are shown, the others folded away


def html(content: Content) -> str:
    """The whole report. Every text in it is escaped, so that a model's name can do no harm."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        'percent': text.percent,
        'interval': text.interval,
        'spaced': text.spaced,
        'breakable': lambda name: escape(name).replace('_', Markup('_<wbr>')),
    }
    environment.tests |= {
        'number': lambda cell: isinstance(cell, Number),
        'entry': lambda cell: isinstance(cell, Entry),
        'theirs': lambda cell: isinstance(cell, Theirs),
    }
    return environment.get_template('page.html').render(
        content=content,
        css=Markup((FOLDER / 'page.css').read_text()),
        key=lambda model: Markup(svg.key(model.look)),
        drawing=_drawing,
        panels=_panels,
        panel_width=_panel_width(content),
        data_uri=svg.data_uri,
        many=MANY_CLASSES,
        weakest=tables.weakest,
    )


def _drawing(chart: Drawn) -> Markup:
    return Markup(svg.inline(chart.svg, chart.name, str(escape(chart.alt))))


def _panels(chapter: Chapter) -> list[tuple[str, list[Markup]]]:
    """(group, its small drawings), in the protocol's order."""
    drawings = iter(chapter.panels)
    found = []
    for group, members in chapter.models[0].protocol.groups.items():
        shown = []
        for index, _ in enumerate(members):
            title, drawing = next(drawings)
            alt = f'{chapter.title} under {title} by severity'
            shown.append(Markup(svg.inline(drawing, f'{chapter.metric}-{group}-{index}', str(escape(alt)))))
        found.append((group, shown))
    return found


def _panel_width(content: Content) -> int:
    """CSS pixels of a small drawing, so that most groups fill a line."""
    largest = max(len(members) for members in content.models[0].protocol.groups.values())
    return 280 if largest in (3, 4) else 220
