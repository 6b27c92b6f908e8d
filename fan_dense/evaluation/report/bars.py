"""Bars: the mean of each group of corruptions, and the shares of the time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fan_dense.evaluation.report import style

WIDTH = 4.3  # inches
THICKNESS = 0.2
# neighbours differ in lightness
_FILLINGS = ('#0b5a8c', '#c3dcec', '#8a94a0', '#ffffff', '#3f4a54', '#dfe4e8', '#a3adb7')


@dataclass(frozen=True)
class Bars:
    """One model's bars: name -> fraction, NaN where it is not known, and the clean score behind them."""

    letter: str
    look: style.Look
    clean: float
    values: Mapping[str, float]


def group_bars(title: str, models: Sequence[Bars], note: str = ''):
    """A block of bars a group, one a model, each before an outline that reaches to the clean score."""
    names = list(models[0].values)
    block = THICKNESS * len(models) + 0.14
    left = 0.15 + max(map(style.text_width, names))
    figure = style.figure(WIDTH, 0.42 + block * len(names))
    axes = style.axes_at(figure, left, 0.4, WIDTH - left - 1.05, block * len(names))
    largest = max((v for m in models for v in (m.clean, *m.values.values()) if not math.isnan(v)), default=0.0) or 1.0
    for row, name in enumerate(names):
        axes.text(-0.02 * largest, row * block + (block - 0.14) / 2, name, ha='right', va='center')
        for index, model in enumerate(models):
            _bar(axes, row * block + THICKNESS * (index + 0.5), model, model.values[name], largest, len(models) > 1)
    axes.set_xlim(0, largest)
    axes.set_ylim(block * len(names), 0)
    axes.set_axis_off()
    style.heading(figure, title, note)
    return figure


def _bar(axes, y: float, model: Bars, value: float, largest: float, named: bool) -> None:
    letter = f'{model.letter}  ' if named else ''
    if not math.isnan(model.clean):
        axes.barh(y, model.clean, 0.75 * THICKNESS, facecolor='none', edgecolor=style.MUTED, linewidth=0.7)
    known = not math.isnan(value)
    if known:
        axes.barh(y, value, 0.75 * THICKNESS, color=model.look.colour)
    text = letter + (f'{100 * value:.1f}' if known else '–')
    if known and model.clean > 0:
        text += f'  ({value / model.clean:.0%})'
    end = largest if math.isnan(model.clean) else max(model.clean, value if known else 0)
    axes.text(end + 0.02 * largest, y, text, va='center', color=style.INK, fontsize=8)


def shares(title: str, bars: Sequence[tuple[str, Mapping[str, float]]]):
    """Stacked bars of seconds by kind, all on one scale; each part that has room for it carries its share."""
    from matplotlib.patches import Patch

    kinds = list(dict.fromkeys(kind for _, parts in bars for kind in parts))
    fillings = {kind: _FILLINGS[index % len(_FILLINGS)] for index, kind in enumerate(kinds)}
    largest = max(sum(parts.values()) for _, parts in bars)
    height, legend = 0.46 * len(bars), 0.2 * -(-len(kinds) // 3)
    figure = style.figure(WIDTH, 0.42 + height + legend)
    axes = style.axes_at(figure, 0.03, 0.32, WIDTH - 0.06, height)
    for row, (label, parts) in enumerate(bars):
        axes.text(0, row + 0.28, label, va='center', fontsize=8)
        _stack(axes, row + 0.68, parts, largest, fillings)
    axes.set_xlim(0, largest)
    axes.set_ylim(len(bars), 0)
    axes.set_axis_off()
    style.heading(figure, title)
    handles = [Patch(facecolor=fillings[kind], edgecolor=style.MUTED, linewidth=0.5, label=kind) for kind in kinds]
    figure.legend(handles=handles, loc='lower left', ncols=3, frameon=False, fontsize=7.5, borderaxespad=0.1)
    return figure


def _stack(axes, y: float, parts: Mapping[str, float], largest: float, fillings: Mapping[str, str]) -> None:
    start, total = 0.0, sum(parts.values())
    for kind, seconds in parts.items():
        filling = fillings[kind]
        axes.barh(y, seconds, 0.5, start, color=filling, edgecolor=style.MUTED, linewidth=0.5)
        if seconds > 0.09 * largest:
            where = (start + seconds / 2, y + 0.02)
            share = f'{seconds / total:.0%}'
            axes.text(*where, share, ha='center', va='center', fontsize=7.5, color=style.ink_on(filling))
        start += seconds
