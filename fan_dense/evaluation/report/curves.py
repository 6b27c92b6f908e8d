"""Severity curves: how a score falls from clean (severity 0) to severity 5, one line a model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fan_dense.evaluation.report import style

COLUMNS = 4
WIDTH, HEIGHT = 2.3, 1.7  # of a small panel, inches


@dataclass(frozen=True)
class Curve:
    """One model's line: severity -> fraction, 0 being clean; NaN where it is not known."""

    letter: str
    look: style.Look
    values: Mapping[int, float]


@dataclass(frozen=True)
class Panel:
    """One corruption's curves."""

    title: str
    curves: Sequence[Curve]


def top(panels: Sequence[Panel]) -> float:
    """The upper end of an axis that all panels share, in per cent."""
    largest = max((v for p in panels for c in p.curves for v in c.values.values() if not math.isnan(v)), default=1.0)
    return max(1.0, 108 * largest)


def draw(axes, panel: Panel, upper: float) -> None:
    """Draw a panel; its lines end in the models' letters, or in the last value where there is one model."""
    for curve in panel.curves:
        xs = sorted(curve.values)
        ys = [100 * curve.values[x] for x in xs]
        look = curve.look
        axes.plot(xs, ys, linestyle=look.dashes, color=look.colour, marker=look.marker, clip_on=False, zorder=3)
        missing = [x for x, y in zip(xs, ys) if math.isnan(y)]
        axes.plot(missing, [0] * len(missing), linestyle='', marker='x', color=style.MUTED, clip_on=False)
    for curve, y in zip(panel.curves, _apart(panel.curves, upper)):
        if y is None:
            continue
        last = _last(curve)
        text = curve.letter if len(panel.curves) > 1 else f'{100 * curve.values[last]:.1f}'
        axes.annotate(
            text,
            (last, y),
            xytext=(6, 0),
            textcoords='offset points',
            va='center',
            color=curve.look.colour,
            fontweight='bold',
            annotation_clip=False,
        )
    severities = sorted({x for curve in panel.curves for x in curve.values})
    axes.set_xticks(severities, ['clean' if x == 0 else str(x) for x in severities])
    axes.set_xlim(min(severities), max(severities))
    axes.set_ylim(0, upper)
    axes.set_title(panel.title)
    axes.grid(axis='y')
    axes.set_axisbelow(True)
    axes.spines['left'].set_visible(False)
    axes.tick_params(axis='x', pad=5)
    axes.locator_params(axis='y', nbins=4)


def small(panel: Panel, upper: float):
    """One panel as a figure of its own, for a page that lays the panels out by itself."""
    figure = style.figure(WIDTH, HEIGHT)
    _place(figure, panel, upper, 0, 0)
    return figure


def single(panel: Panel, upper: float, note: str = ''):
    """One panel, larger, with its axis named."""
    figure = style.figure(4.3, 2.9)
    axes = style.axes_at(figure, 0.4, 0.4, 3.45, 2.0)
    draw(axes, panel, upper)
    axes.set_title('')
    style.heading(figure, panel.title, note)
    axes.set_xlabel('severity')
    return figure


def sheet(panels: Sequence[Panel], title: str, legend: Sequence[tuple[str, style.Look]]):
    """All panels in one figure, for a file."""
    from matplotlib.lines import Line2D

    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = style.figure(max(5, columns * WIDTH), 0.4 + rows * HEIGHT + 0.2 * len(legend) + 0.1)
    style.heading(figure, title)
    upper = top(panels)
    for index, panel in enumerate(panels):
        row, column = divmod(index, columns)
        _place(figure, panel, upper, column * WIDTH, 0.4 + row * HEIGHT)
    handles = [
        Line2D([], [], color=look.colour, linestyle=look.dashes, marker=look.marker, label=label)
        for label, look in legend
    ]
    figure.legend(handles=handles, loc='lower left', frameon=False, handlelength=3, borderaxespad=0.2)
    return figure


def _place(figure, panel: Panel, upper: float, left: float, top: float) -> None:
    draw(style.axes_at(figure, left + 0.32, top + 0.28, WIDTH - 0.72, HEIGHT - 0.58), panel, upper)


def _last(curve: Curve) -> int | None:
    return max((x for x, y in curve.values.items() if not math.isnan(y)), default=None)


def _apart(curves: Sequence[Curve], upper: float) -> list[float | None]:
    """Heights of the labels at the ends of lines, moved apart so that they do not cover each other."""
    ends = [(100 * curve.values[last], i) for i, curve in enumerate(curves) if (last := _last(curve)) is not None]
    heights: list[float | None] = [None] * len(curves)
    gap, below = 0.11 * upper, -math.inf
    for y, index in sorted(ends):
        below = heights[index] = max(y, below + gap)
    excess = max(0.0, below - upper)  # then all sink together
    return [None if y is None else y - excess for y in heights]
