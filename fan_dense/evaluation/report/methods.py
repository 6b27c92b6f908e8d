"""How the figures came about: what a reader needs to repeat the evaluation, and to compare it with others."""

import math
from collections.abc import Sequence

from fan_dense.evaluation.metrics import Summary
from fan_dense.evaluation.report import text
from fan_dense.evaluation.report.entry import Entry
from fan_dense.evaluation.report.tables import Table

_AGGREGATES = {
    'conditions': 'over all pairs of corruption and severity',
    'types': 'over corruptions of the mean over the severities of each',
}


def facts(models: Sequence[Entry]) -> list[str]:
    """The evaluation in a few words, for the head of a report."""
    protocol = models[0].protocol
    count = models[0].summary.conditions - 1
    images = sorted({model.summary.images for model in models})
    seeds = sorted({model.summary.seed for model in models})
    return [
        f'{len(protocol.corruptions)} corruptions, {count} conditions and clean',
        f'{" or ".join(map(str, images))} images',
        f'seed {" or ".join(map(str, seeds))}',
        f'{models[0].summary.image_order.upper()} order',
    ]


def finding(model: Entry, metric: str) -> str:
    """The figures of one model in a sentence or two."""
    figures = model.metrics[metric]
    means = {name: row['mean'] for name, row in figures.by_corruption.items() if not math.isnan(row['mean'])}
    ranked = [f'{text.spaced(name)} ({text.percent(means[name])})' for name in sorted(means, key=means.get)]
    told = [f'keeps {text.percent(figures.rpc)} % of its clean score' if not math.isnan(figures.rpc) else 'has no rPC']
    if len(ranked) < 5:
        told.append(f'From lowest to highest: {", ".join(ranked)}')
    else:
        told.append(f'Lowest under {", ".join(ranked[:3])}; highest under {ranked[-1]}')
    if figures.absent_classes:
        told.append(f'Without {text.listed(figures.absent_classes)}, absent from the ground truth')
    if unchanged := model.summary.unchanged_images:
        told.append(f'With images left unchanged: {text.listed(map(text.spaced, unchanged))}')
    return '. '.join(told) + '.'


def shared(models: Sequence[Entry]) -> list[tuple[str, str]]:
    """What holds for all models, as (name, text)."""
    protocol = models[0].protocol
    return [
        ('Protocol', f'{protocol.name}: {protocol.title}' if protocol.title else protocol.name),
        *([('Source', protocol.source)] if protocol.source else []),
        ('Images', f'corrupted as decoded, before any resize, in {models[0].summary.image_order.upper()} order'),
        ('Clean', 'the score without corruption (P)'),
        ('mPC', f'mean performance under corruption: {_AGGREGATES[protocol.aggregate]}; clean is no part of it'),
        ('rPC', 'mPC / clean: what is left of the clean score'),
        ('Intervals', '95 % confidence, by drawing images with replacement, the same draw for all conditions'),
    ]


def table(models: Sequence[Entry]) -> Table:
    """What differs from model to model."""
    rows = []
    for name, told in (
        ('seed', lambda model: str(model.summary.seed)),
        ('images', lambda model: str(model.summary.images)),
        ('classes', lambda model: f'{len(model.summary.classes)}: {text.listed(model.summary.classes, most=30)}'),
        ('conditions', lambda model: _there(model.summary)),
        ('config', lambda model: model.sweep.identity.config),
        ('checkpoint', lambda model: model.sweep.identity.checkpoint),
        ('checkpoint digest', lambda model: model.sweep.identity.checkpoint_digest),
        ('corruptions in training', lambda model: text.listed(model.sweep.identity.training_corruptions) or 'none'),
        ('versions', lambda model: ', '.join(f'{k} {v}' for k, v in model.sweep.identity.versions.items())),
    ):
        rows.append([name, *map(told, models)])
    return Table('Methods', ['', *models], rows)


def _there(summary: Summary) -> str:
    return f'{summary.conditions - len(summary.missing)} of {summary.conditions}'


def pixels(models: Sequence[Entry]) -> Table:
    """Digests of the pixels that were scored under each condition: equal ones mean equal images."""
    conditions = dict.fromkeys(name for model in models for name in model.summary.pixel_digests)
    rows = [
        [text.spaced(name), *(model.summary.pixel_digests.get(name, text.ABSENT) for model in models)]
        for name in conditions
    ]
    return Table('Pixel digests', ['condition', *models], rows)
