"""One model of a report: what its sweep says, and how the report calls and draws it."""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fan_dense.evaluation.folder import Identity
from fan_dense.evaluation.metrics import MetricSummary, Summary
from fan_dense.evaluation.protocol import Protocol
from fan_dense.evaluation.report import text
from fan_dense.evaluation.report.style import Look, look


@dataclass(frozen=True)
class Sweep:
    """What a report needs of a sweep's folder.

    Attributes:
        folder: the folder.
        identity: what was measured.
        summary: its figures.
        phases: condition -> phase -> seconds.
        worst: content of ``worst/worst.json``; may be empty.
    """

    folder: Path
    identity: Identity
    summary: Summary
    phases: Mapping[str, Mapping[str, float]]
    worst: Sequence[Mapping]


@dataclass(frozen=True)
class Entry:
    """A model of the report: its letter (which charts call it by), look in charts, and a name that is its alone."""

    letter: str
    look: Look
    name: str
    sweep: Sweep

    @property
    def summary(self) -> Summary:
        return self.sweep.summary

    @property
    def metrics(self) -> Mapping[str, MetricSummary]:
        return self.sweep.summary.metrics

    @cached_property
    def protocol(self) -> Protocol:
        return Protocol.from_dict(self.summary.protocol)

    @property
    def label(self) -> str:
        return f'{self.letter} · {self.name}'

    @property
    def marked(self) -> str:
        """The label with what has to be said wherever a mean of this model is."""
        return self.label + self.marking

    @property
    def marking(self) -> str:
        return ''.join(f' [{mark}]' for mark in self.marks)

    @property
    def marks(self) -> dict[str, str]:
        """What has to be said wherever a mean of this model is -> what exactly."""
        found = {}
        if self.summary.partial:
            found['PARTIAL'] = f'missing: {", ".join(map(text.spaced, self.summary.missing))}'
        if self.seen_in_training:
            found['not zero-shot'] = f'in training: {", ".join(map(text.spaced, self.seen_in_training))}'
        return found

    @property
    def seen_in_training(self) -> list[str]:
        """Corruptions of the test that are part of the training pipeline too."""
        return [name for name in self.sweep.identity.training_corruptions if name in self.protocol.corruptions]


def entries(sweeps: Sequence[Sweep]) -> list[Entry]:
    """The models in the given order; those of equal names are told apart by their folders."""
    names = [sweep.identity.name for sweep in sweeps]
    return [
        Entry(
            letter=letter(index),
            look=look(index),
            name=name if names.count(name) == 1 else f'{name} ({sweep.folder})',
            sweep=sweep,
        )
        for index, (name, sweep) in enumerate(zip(names, sweeps))
    ]


def letter(index: int) -> str:
    """
    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'A2')
    """
    again, place = divmod(index, len(string.ascii_uppercase))
    return string.ascii_uppercase[place] + (str(again + 1) if again else '')


def all_metrics(models: Sequence[Entry]) -> list[str]:
    """All metrics of all models, the main ones first."""
    found = dict.fromkeys(name for model in models for name in model.metrics)
    return [name for name in text.MAIN if name in found] + [name for name in found if name not in text.MAIN]


def main_metrics(models: Sequence[Entry]) -> list[str]:
    """Those that get a chapter: the main ones, and the first one of a model that has none of them."""
    chosen = set(text.MAIN)
    for model in models:
        if not chosen.intersection(model.metrics):
            chosen.update(list(model.metrics)[:1])
    return [name for name in all_metrics(models) if name in chosen]


def having(models: Sequence[Entry], metric: str) -> list[Entry]:
    return [model for model in models if metric in model.metrics]
