"""The report as Markdown: tables, and links to the charts' files."""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from fan_dense.evaluation.report import text
from fan_dense.evaluation.report.content import Chapter, Content, Drawn, WorstImage
from fan_dense.evaluation.report.entry import Entry
from fan_dense.evaluation.report.tables import Number, Table, Theirs

_SPECIAL = re.compile(r'([\\`*_\[\]<>|#&$~])')


def markdown(content: Content) -> str:
    """The whole report."""
    return '\n'.join(_lines(content)) + '\n'


def _lines(content: Content) -> Iterator[str]:
    yield f'# {escaped(content.title)}\n'
    yield escaped(' · '.join(content.facts)) + '\n'
    for notice in content.notices:
        yield f'> **{escaped(notice.head)}** {escaped(notice.where)}: {escaped(notice.body)}\n>'
    yield '\nFigures are per cent; in parentheses, 95 % confidence intervals.\n'
    for chapter in content.chapters:
        yield from _chapter(chapter)
    yield from _table(content.every_metric)
    yield '## Worst images\n'
    for model, images in content.worst:
        yield from _worst(model, images)
    if content.time:
        yield from _table(content.time)
        yield _picture(content.time_chart)
    yield '## Methods\n'
    for name, told in content.shared:
        yield f'- **{escaped(name)}**: {escaped(told)}'
    yield ''
    yield from _table(content.methods, level=3)


def _chapter(chapter: Chapter) -> Iterator[str]:
    yield f'## {escaped(chapter.title)}\n'
    yield from _rows(chapter.headline)
    for model, told in chapter.findings:
        yield f'- {escaped(model.marked)} {escaped(told)}'
    yield '\n' + escaped(chapter.published_note) + '\n'
    for kind in ('overview', 'curves', 'severities', 'groups'):
        yield _picture(chapter.charts[kind])
    for table in (chapter.corruptions, chapter.groups, chapter.severities, chapter.relative):
        if table:
            yield from _table(table, level=3)
    for title, each in (('Single conditions', chapter.conditions), ('Classes', chapter.classes)):
        for model, table in each:
            yield f'### {title}: {escaped(model.marked)}\n'
            yield from _rows(table)
    for picture in chapter.heat_maps:
        yield _picture(picture)


def _worst(model: Entry, images: Sequence[WorstImage]) -> Iterator[str]:
    yield f'### {escaped(model.marked)}\n'
    if not images:
        yield 'None were drawn.\n'
    for one in images:
        yield (
            f'**{escaped(one.image)}**: from {text.percent(one.clean_score)} clean to {text.percent(one.score)} under '
            f'{escaped(one.condition)} ({escaped(one.score_name)})\n'
        )
        for kind, photo in (('clean', one.clean), ('corrupted', one.corrupted)):
            shown = (
                f'![{escaped(one.image)}, {kind}: prediction and ground truth]({quote(photo.name)})' if photo else ''
            )
            yield (shown or f'The {kind} picture is not there.') + '\n'


def _table(table: Table, level: int = 2) -> Iterator[str]:
    yield f'{"#" * level} {escaped(table.title)}\n'
    yield from _rows(table)


def _rows(table: Table) -> Iterator[str]:
    yield '| ' + ' | '.join(map(_cell, table.heads)) + ' |'
    yield '|' + '|'.join(' ---: ' if table.numeric(column) else ' --- ' for column in range(len(table.heads))) + '|'
    for row in table.rows:
        yield '| ' + ' | '.join(map(_cell, row)) + ' |'
    yield ''


def _cell(cell: str | Number | Entry | Theirs) -> str:
    if isinstance(cell, Number):
        ends = text.interval(cell.interval)
        figure = text.percent(cell.value)
        return (f'**{figure}**' if cell.best else figure) + (f' ({ends})' if ends else '')
    if isinstance(cell, Entry):
        return escaped(cell.marked)
    return escaped(cell) if isinstance(cell, str) else f'*{escaped(cell.model)}* ({escaped(cell.mark)})'


def _picture(chart: Drawn) -> str:
    return _linked(chart.alt, f'charts/{chart.name}.png')


def _linked(alt: str, file: str) -> str:
    return f'![{escaped(alt)}]({quote(file)})\n'


def escaped(told: object) -> str:
    """Text that Markdown and the HTML in it leave as it is, in one line."""
    return _SPECIAL.sub(r'\\\1', ' '.join(str(told).split()))
