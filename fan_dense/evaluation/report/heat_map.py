"""Heat map of one model: corruptions (rows, by group) x severities, with the figures in the cells."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fan_dense.evaluation.report import style

CELL = (0.46, 0.215)  # inches
HEADER = 0.6


@dataclass(frozen=True)
class Row:
    """A corruption: its mean, and severity -> fraction; NaN where the condition is missing."""

    name: str
    group: str
    mean: float
    values: Mapping[int, float]


def heat_map(title: str, note: str, rows: Sequence[Row], largest: float):
    """Draw ``rows``; the darkest colour is ``largest`` (a fraction). A missing condition's cell is crossed."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list('score', style.SCALE)
    severities = sorted({severity for row in rows for severity in row.values})
    lines = _lines(rows)
    mean_at = len(severities) + 0.2
    left = 0.15 + max(style.text_width(row.name) for row in rows)
    width, height = CELL[0] * (mean_at + 1), CELL[1] * len(lines)
    figure = style.figure(left + width + 0.05, HEADER + height + 0.05)
    axes = style.axes_at(figure, left, HEADER, width, height)
    for y, line in enumerate(lines):
        if isinstance(line, str):
            axes.text(-0.08, y + 0.62, line, va='center', ha='right', color=style.MUTED, fontsize=7.5, style='italic')
            continue
        axes.text(-0.08, y + 0.5, line.name, va='center', ha='right')
        for x, severity in enumerate(severities):
            if severity in line.values:
                _cell(axes, x, y, line.values[severity], largest, colours)
        _cell(axes, mean_at, y, line.mean, largest, colours, bold=True)
    for x, name in [*enumerate(map(str, severities)), (mean_at, 'mean')]:
        axes.text(x + 0.5, -0.12, name, ha='center', va='bottom', color=style.MUTED)
    axes.set_xlim(0, mean_at + 1)
    axes.set_ylim(len(lines), 0)
    axes.set_axis_off()
    style.heading(figure, title, note)
    return figure


def _lines(rows: Sequence[Row]) -> list[str | Row]:
    """Rows with the name of a group in front of each group."""
    lines, group = [], None
    for row in rows:
        if row.group != group:
            lines.append(row.group)
            group = row.group
        lines.append(row)
    return lines


def _cell(axes, x: float, y: float, value: float, largest: float, colours, bold: bool = False) -> None:
    from matplotlib.patches import Rectangle

    known = not math.isnan(value)
    share = min(1.0, value / largest) if known and largest > 0 else 0.0
    axes.add_patch(
        Rectangle(
            (x + 0.03, y + 0.04),
            0.94,
            0.92,
            facecolor=colours(share) if known else 'white',
            edgecolor='none' if known else style.MUTED,
            hatch=None if known else '///',
            linewidth=0.5,
        )
    )
    if known:
        axes.text(
            x + 0.5,
            y + 0.53,
            f'{100 * value:.1f}',
            ha='center',
            va='center',
            fontsize=7.8,
            color=style.ink_on(colours(share)),
            fontweight='bold' if bold else 'normal',
        )
