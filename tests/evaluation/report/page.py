"""Reading a report's page back: tables as text and figures, and everything that a browser would load."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {'meta', 'img', 'wbr', 'br', 'link', 'input'}


@dataclass
class Table:
    """Cells as text; ``figures`` are the values of each row, None where a cell holds none."""

    kind: str
    heads: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    figures: list[list[float | None]] = field(default_factory=list)


class Page(HTMLParser):
    """A parsed page.

    Attributes:
        tables: section's id -> its tables.
        tags: all (tag, attributes).
        texts: section's id -> its text; that before any section is under ''.
    """

    def __init__(self, file: Path):
        super().__init__()
        self.tables: dict[str, list[Table]] = {}
        self.tags: list[tuple[str, dict]] = []
        self.texts: dict[str, str] = {}
        self.open: list[str] = []
        self.section = ''
        self.table = self.cell = None
        self.feed(file.read_text())
        self.close()
        assert self.open == [], f'tags that are never closed: {self.open}'

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)
        if tag == 'section':
            self.section = attributes.get('id', attributes.get('class'))
        elif tag == 'table':
            self.table = Table(attributes['class'])
            self.tables.setdefault(self.section, []).append(self.table)
        elif tag == 'tr' and 'tbody' in self.open:
            self.table.rows.append([])
            self.table.figures.append([])
        elif tag in ('td', 'th'):
            self.cell, self.figure = '', None
        elif tag == 'data' and self.cell is not None:
            self.figure = float(attributes['value'])

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in ('td', 'th'):
            text = ' '.join(self.cell.split())
            if 'thead' in self.open:
                self.table.heads.append(text)
            else:
                self.table.rows[-1].append(text)
                self.table.figures[-1].append(self.figure)
            self.cell = None
        elif tag == 'section':
            self.section = ''

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data
        if 'style' not in self.open:
            self.texts[self.section] = self.texts.get(self.section, '') + data
