"""Clean score and mean under corruption of every model, the published ones below: a line from one to the other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fan_dense.evaluation.report import style

WIDTH = 4.3  # inches
ROW = 0.47
LEFT, RIGHT = 0.45, 0.5  # room for the numbers at both ends
NOT_KNOWN = (math.nan, math.nan)


@dataclass(frozen=True)
class Row:
    """A model; fractions, NaN where not known. ``look`` is None for a published one; the mark is never cut."""

    label: str
    mark: str
    look: style.Look | None
    clean: float
    mean: float
    clean_interval: tuple[float, float] = NOT_KNOWN
    mean_interval: tuple[float, float] = NOT_KNOWN


def overview(title: str, note: str, rows: Sequence[Row]):
    """One line a row; bars with caps are confidence intervals, hollow marks published figures."""
    figure = style.figure(WIDTH, 0.85 + ROW * len(rows))
    axes = style.axes_at(figure, LEFT, 0.42, WIDTH - LEFT - RIGHT, ROW * len(rows))
    values = [100 * value for row in rows for value in (row.clean, row.mean, *row.clean_interval, *row.mean_interval)]
    known = [value for value in values if not math.isnan(value)] or [0.0, 1.0]
    margin = 0.06 * (max(known) - min(known)) + 0.5
    axes.set_xlim(max(0, min(known) - margin), max(known) + margin)
    axes.set_ylim(len(rows), 0)
    for y, row in enumerate(rows):
        _draw(axes, y, row)
    own = sum(row.look is not None for row in rows)
    if 0 < own < len(rows):
        axes.axhline(own, color=style.MUTED, linewidth=0.6, linestyle=(0, (2, 2)))
    axes.set_yticks([])
    axes.locator_params(axis='x', nbins=6, steps=[1, 2, 5, 10])
    axes.spines['left'].set_visible(False)
    axes.grid(axis='x')
    axes.set_axisbelow(True)
    axes.set_xlabel('per cent')
    style.heading(figure, title, note)
    return figure


def _draw(axes, y: float, row: Row) -> None:
    height = y + 0.68
    colour = style.MUTED if row.look is None else row.look.colour
    marker = 'o' if row.look is None else row.look.marker
    label = style.shortened(row.label, WIDTH - LEFT, 8, row.mark)
    axes.text(0, y + 0.26, label, transform=axes.get_yaxis_transform(), va='center', fontsize=8)
    axes.plot([100 * row.mean, 100 * row.clean], [height] * 2, color=colour, linewidth=1.2)
    ends = (
        (row.mean, row.mean_interval, 'white' if row.look is None else colour, 'right', -1),
        (row.clean, row.clean_interval, 'white', 'left', 1),
    )
    for value, (low, high), filling, side, sign in ends:
        if math.isnan(value):
            continue
        axes.plot(100 * value, height, marker=marker, color=colour, markerfacecolor=filling, markersize=5.5, zorder=4)
        reach = value
        if not math.isnan(low):
            limits = [100 * low, 100 * high]
            axes.plot(limits, [height] * 2, color=colour, linewidth=4.5, alpha=0.3, solid_capstyle='butt')
            axes.plot(limits, [height] * 2, linestyle='', marker='|', markersize=7, color=colour)
            reach = low if sign < 0 else high
        axes.annotate(
            f'{100 * value:.1f}',
            (100 * reach, height),
            xytext=(6 * sign, 0),
            textcoords='offset points',
            ha=side,
            va='center',
            fontsize=8,
            fontweight='normal' if row.look is None else 'bold',
            annotation_clip=False,
        )
