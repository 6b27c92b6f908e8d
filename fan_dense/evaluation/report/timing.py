"""Where the time of a sweep went."""

from collections.abc import Mapping, Sequence

from fan_dense.evaluation.report import text
from fan_dense.evaluation.report.entry import Entry
from fan_dense.evaluation.report.tables import Table

# phase of a result -> what it is called; the workers' phases run beside the main process's, several at a time
MAIN = {'network': 'network', 'metric': 'metric', 'wait': 'waiting for images', 'other': 'harness'}
WORKERS = {'decode': 'decode', 'corrupt': 'corrupt', 'transform': 'resize and pack'}


def seconds(model: Entry) -> dict[str, float]:
    """Phase -> seconds of all conditions together; empty where the sweep has no times."""
    totals: dict[str, float] = {}
    for condition in model.sweep.phases.values():
        for phase, duration in condition.items():
            totals[phase] = totals.get(phase, 0.0) + duration
    return totals


def parts(totals: Mapping[str, float], kinds: Mapping[str, str]) -> dict[str, float]:
    return {title: totals[phase] for phase, title in kinds.items() if phase in totals}


def table(models: Sequence[Entry]) -> Table:
    """Seconds of each phase, with its share of the process that it is in."""
    models = [model for model in models if seconds(model)]
    rows = []
    for where, kinds in (('main process', MAIN), ('workers', WORKERS)):
        for phase, name in kinds.items():
            rows.append([f'{name} ({where})', *(_share(seconds(model), phase, kinds) for model in models)])
    count = [f'{len(model.sweep.phases)} conditions' for model in models]
    each = [text.duration(seconds(model).get('total', 0.0) / len(model.sweep.phases)) for model in models]
    rows.append(['time of a condition, mean', *each])
    rows.append(['measured over', *count])
    return Table('Time', ['phase', *models], rows)


def _share(totals: Mapping[str, float], phase: str, kinds: Mapping[str, str]) -> str:
    if phase not in totals:
        return text.ABSENT
    whole = sum(parts(totals, kinds).values())
    return text.duration(totals[phase]) + (f' ({totals[phase] / whole:.1%})' if whole else '')
