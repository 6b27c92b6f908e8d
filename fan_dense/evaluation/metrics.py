"""From the results of single conditions to the figures of a benchmark. Pure numbers: no torch, no OpenMMLab.

P is the figure on clean images; mPC (mean performance under corruption) the mean over the protocol's conditions, clean
excluded; rPC = mPC / P (Michaelis et al., arXiv 1907.07484). Every metric of the results is treated alike.

**What is missing or absent is never 0.** A figure that does not exist is NaN in Python and null in JSON:

- *A condition that was not run* is named in ``missing``, and no mean is taken unless the caller asks for a partial one.
  That is over the conditions that are there, of each corruption, group and severity alike. Without the clean one there
  is no P and no rPC; nor is there an rPC where P is 0.
- *A metric without ground truth* (AP of large objects where there are none) is NaN in all conditions, and so are its
  means. A mean of which one term is NaN is NaN: terms are not dropped.
- *A class without ground truth* is in ``absent_classes`` and has no figures of its own. AP leaves it out of the mean
  over classes in every condition alike. mIoU does, as in mmseg, only while no pixel is predicted as that class; then
  it counts as 0. ``absent_but_predicted`` names those conditions: their mIoU is a mean over more classes than P.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from fan_dense.evaluation.protocol import Protocol
from fan_dense.evaluation.result import Condition, ConditionResult, nan_to_none

FORMAT = 1
NAN = math.nan
# metrics that are NaN for a class if and only if it has no ground truth
_NEED_TRUTH = ('Acc', 'Recall', 'bbox_mAP', 'segm_mAP')


class MissingConditions(ValueError):
    """Conditions of the protocol that have no result; ``missing`` has all their names."""

    def __init__(self, missing: list[str], conditions: int):
        self.missing = tuple(missing)
        named = ', '.join(missing[:10]) + (f' and {len(missing) - 10} more' if len(missing) > 10 else '')
        super().__init__(
            f'{len(missing)} of {conditions} conditions are missing: {named}; '
            '--partial takes the mean of those that are there'
        )


@dataclass(frozen=True, kw_only=True)
class MetricSummary:
    """One metric; fractions, NaN where there is none.

    Attributes:
        clean, mpc, rpc: P, mPC and rPC.
        intervals: 'clean', 'mpc', 'rpc' -> [low, high]; None where none were given.
        by_corruption: corruption -> {'mean': over its severities, 'severities': {'1': ...}}.
        by_group: group -> mean of its conditions, taken as the protocol takes mPC.
        by_severity: '1' -> mean over the corruptions that have this severity.
        by_class: class -> {'clean', 'mpc', 'rpc', 'by_corruption': {corruption: mean over severities}}; empty for a
            metric that has no figures of classes.
        absent_classes: classes without ground truth.
        absent_but_predicted: those of them that count as 0 in some conditions -> these conditions.
    """

    clean: float
    mpc: float
    rpc: float
    intervals: dict[str, list[float]] | None
    by_corruption: dict[str, dict]
    by_group: dict[str, float]
    by_severity: dict[str, float]
    by_class: dict[str, dict]
    absent_classes: list[str]
    absent_but_predicted: dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One model under one protocol.

    Attributes:
        protocol: as data, see :meth:`Protocol.from_dict`.
        seed, image_order: of the corruptions.
        images: number of images scored in each condition.
        partial: whether conditions are missing, so that means are not those of the protocol.
        missing: names of these conditions.
        conditions: number of conditions of the protocol, with clean.
        classes: their names, in the order of the results.
        metrics: name -> :class:`MetricSummary`.
        pixel_digests: condition -> digest over the pixels that were scored.
        unchanged_images: condition -> number of images on which the corruption had no effect, if not 0.
    """

    format: int = FORMAT
    protocol: dict
    seed: int
    image_order: str
    images: int
    partial: bool
    missing: list[str]
    conditions: int
    classes: list[str]
    metrics: dict[str, MetricSummary]
    pixel_digests: dict[str, str]
    unchanged_images: dict[str, int]

    def to_json(self) -> str:
        """JSON text, the same bytes for the same results."""
        return json.dumps(nan_to_none(asdict(self)), indent=2) + '\n'

    @classmethod
    def from_json(cls, text: str) -> 'Summary':
        """Raises a ValueError if ``text`` is not a summary of this format."""
        content = json.loads(text)
        if not isinstance(content, dict) or content.get('format') != FORMAT:
            raise ValueError(f'no summary of format {FORMAT}; make it again from the results of its conditions')
        metrics = {name: _metric_from_dict(one) for name, one in content['metrics'].items()}
        return cls(**{**content, 'metrics': metrics})


def summarise(
    protocol: Protocol,
    results: Mapping[Condition, ConditionResult],
    *,
    intervals: Mapping[str, dict[str, list[float]]] | None = None,
    partial: bool = False,
) -> Summary:
    """The figures of ``protocol``, from the results of its conditions; results of other conditions are not looked at.

    Args:
        protocol: says which conditions count, and how their mean is taken.
        results: of one model, by condition.
        intervals: metric -> intervals of P, mPC and rPC; see :mod:`fan_dense.evaluation.confidence`.
        partial: take means of the conditions that are there, if not all are.

    Raises:
        MissingConditions: conditions are missing, and ``partial`` is False.
        ValueError: the results do not belong together: different checkpoints, images, metrics, seeds, ...
    """
    keys = conditions_of(protocol, results)
    found = {str(condition): results[key] for condition, key in keys.items() if key is not None}
    missing = [str(condition) for condition, key in keys.items() if key is None]
    if missing and not partial:
        raise MissingConditions(missing, len(keys))
    if not found:
        raise ValueError(f'there is no result of any condition of protocol {protocol.name}')
    _check_belonging(found)
    first = next(iter(found.values()))
    return Summary(
        protocol=protocol.to_dict(),
        seed=[*keys][-1].seed,
        image_order=[*keys][-1].image_order,
        images=first.images,
        partial=bool(missing),
        missing=missing,
        conditions=len(keys),
        classes=_classes(first),
        metrics={name: _metric(name, protocol, found, (intervals or {}).get(name)) for name in first.metrics},
        pixel_digests={name: result.pixel_digest for name, result in found.items()},
        unchanged_images={name: len(r.unchanged_images) for name, r in found.items() if r.unchanged_images},
    )


def conditions_of(protocol: Protocol, present: Iterable[Condition]) -> dict[Condition, Condition | None]:
    """The conditions of ``protocol`` in its order -> the one among ``present`` that is it, None where it is missing.

    Seed and image order are those that are present. Clean pixels have neither, so any clean condition will do.

    Raises:
        ValueError: conditions of several seeds or image orders are present, or several clean ones.
    """
    pairs = {(one.corruption, one.severity) for one in protocol.conditions()}
    present = [one for one in present if (one.corruption, one.severity) in pairs]
    clean = [one for one in present if one.corruption is None]
    settings = sorted({(one.seed, one.image_order) for one in present if one.corruption is not None})
    if len(settings) > 1 or len(clean) > 1:
        told = (
            ' and '.join(f'seed {seed} {order}' for seed, order in settings) if settings[1:] else f'{len(clean)} clean'
        )
        raise ValueError(f'there are results of {told}; give those of one seed and one image order')
    expected = protocol.conditions(*(settings[0] if settings else (0, protocol.image_order)))
    known = {condition: condition for condition in present} | {Condition(): clean[0] if clean else None}
    return {condition: known.get(condition) for condition in expected}


def mean(protocol: Protocol, figures: Mapping, corruptions: Iterable[str] | None = None):
    """The mean over conditions, taken as ``protocol.aggregate`` says.

    Args:
        protocol: whose conditions count.
        figures: (corruption, severity) -> a figure, or an array of them; others than the protocol's do not count.
        corruptions: take the mean over these only.

    Returns:
        The mean of those that are there, NaN if none is.
    """
    rows = [
        [figures[name, severity] for severity in protocol.severities(name) if (name, severity) in figures]
        for name in (protocol.corruptions if corruptions is None else corruptions)
    ]
    rows = [row for row in rows if row]
    if not rows:
        return NAN
    if protocol.aggregate == 'types':
        rows = [[np.mean(row, axis=0)] for row in rows]
    return np.mean([figure for row in rows for figure in row], axis=0)


def ratio(part, whole):
    """``part / whole`` of fractions, NaN where ``whole`` is 0 (or so small that it might as well be); or of arrays."""
    whole = np.asarray(whole, float)
    found = np.full(np.broadcast_shapes(np.shape(part), whole.shape), NAN)
    return np.divide(part, whole, out=found, where=whole > np.finfo(float).tiny)


def relative_degradation(summary: Summary, reference: Summary) -> dict[str, dict]:
    """Errors of a model under corruption relative to those of a reference model, as in mCE.

    With the error D = 1 - figure, summed over the severities s of a corruption c (Hendrycks and Dietterich,
    arXiv 1903.12261; Kamann and Rother, arXiv 1908.05005):

    - 'ce' = sum_s D[c, s] / sum_s D_reference[c, s]
    - 'relative_ce' = sum_s (D[c, s] - D[clean]) / sum_s (D_reference[c, s] - D_reference[clean]), NaN where the
      reference does not degrade

    Returns:
        metric -> {'by_corruption': {corruption: {'ce', 'relative_ce'}}, 'mean': {'ce', 'relative_ce'}}, for the metrics
        that both have; below 1 is better than the reference.

    Raises:
        ValueError: the summaries are of different protocols, conditions, classes or pixels.
    """
    for field in ('protocol', 'seed', 'image_order', 'missing', 'images', 'classes', 'pixel_digests'):
        ours, theirs = getattr(summary, field), getattr(reference, field)
        if ours != theirs:
            if field == 'protocol':
                ours, theirs = ours['name'], theirs['name']
                theirs += ' (another one)' if ours == theirs else ''
            told = '' if field == 'pixel_digests' else f' ({_short(ours)} and {_short(theirs)})'
            raise ValueError(f'the reference is not comparable: {field} differs{told}; evaluate both models alike')
    return {
        name: _relative(ours, reference.metrics[name])
        for name, ours in summary.metrics.items()
        if name in reference.metrics
    }


def _relative(ours: MetricSummary, theirs: MetricSummary) -> dict:
    rows = {}
    for name, row in ours.by_corruption.items():
        mine, other = row['mean'], theirs.by_corruption[name]['mean']
        fall = theirs.clean - other
        rows[name] = {
            'ce': float(ratio(1 - mine, 1 - other)),
            'relative_ce': float(ratio(ours.clean - mine, fall)) if fall > 0 else NAN,
        }
    return {
        'by_corruption': rows,
        'mean': {key: float(np.mean([row[key] for row in rows.values()])) for key in ('ce', 'relative_ce')},
    }


def _metric(name: str, protocol: Protocol, found: dict[str, ConditionResult], intervals) -> MetricSummary:
    figures = {condition: result.metrics[name] for condition, result in found.items()}
    by_condition = _by_condition(found, figures)
    clean, mpc = figures.get('clean', NAN), float(mean(protocol, by_condition))
    per_class = _per_class(name, found)
    absent = _absent(found, per_class)
    return MetricSummary(
        clean=clean,
        mpc=mpc,
        rpc=float(ratio(mpc, clean)),
        intervals=intervals,
        by_corruption={
            corruption: {
                'mean': float(mean(protocol, by_condition, [corruption])),
                'severities': {
                    str(severity): by_condition.get((corruption, severity), NAN)
                    for severity in protocol.severities(corruption)
                },
            }
            for corruption in protocol.corruptions
        },
        by_group={group: float(mean(protocol, by_condition, members)) for group, members in protocol.groups.items()},
        by_severity={
            str(level): float(mean(protocol, {key: value for key, value in by_condition.items() if key[1] == level}))
            for level in sorted({level for one in protocol.corruptions for level in protocol.severities(one)})
        },
        by_class={
            one: _class(protocol, found, {c: NAN if one in absent else v[one] for c, v in per_class.items()})
            for one in next(iter(per_class.values()), {})
        },
        absent_classes=absent,
        absent_but_predicted={
            one: conditions
            for one in absent
            if (conditions := [name for name, values in per_class.items() if not math.isnan(values[one])])
        },
    )


def _class(protocol: Protocol, found: dict[str, ConditionResult], figures: dict[str, float]) -> dict:
    by_condition = _by_condition(found, figures)
    clean, mpc = figures.get('clean', NAN), float(mean(protocol, by_condition))
    return {
        'clean': clean,
        'mpc': mpc,
        'rpc': float(ratio(mpc, clean)),
        'by_corruption': {one: float(mean(protocol, by_condition, [one])) for one in protocol.corruptions},
    }


def _by_condition(found: dict[str, ConditionResult], figures: dict[str, float]) -> dict[tuple, float]:
    """Figures by (corruption, severity), as :func:`mean` takes them."""
    conditions = {name: result.condition for name, result in found.items()}
    return {(conditions[name].corruption, conditions[name].severity): figure for name, figure in figures.items()}


def _per_class(metric: str, found: dict[str, ConditionResult]) -> dict[str, dict[str, float]]:
    """Condition -> class -> figure; a mean such as mIoU has its classes under the name IoU."""
    first = next(iter(found.values()))
    name = metric if metric in first.per_class else metric.removeprefix('m')
    return {condition: result.per_class[name] for condition, result in found.items() if name in first.per_class}


def _absent(found: dict[str, ConditionResult], per_class: dict[str, dict[str, float]]) -> list[str]:
    """Classes without ground truth, which is the same in all conditions and for all metrics."""
    judged = [
        values for result in found.values() for name, values in result.per_class.items() if name in _NEED_TRUTH
    ] or per_class.values()
    return [
        one
        for one in next(iter(per_class.values()), {})
        if any(one in values and math.isnan(values[one]) for values in judged)
    ]


def _check_belonging(found: dict[str, ConditionResult]) -> None:
    """Raise a ValueError unless the results are of one model on the same images, and no corrupted one is clean."""
    first_name, first = next(iter(found.items()))
    for name, result in found.items():
        if str(result.condition) != name:
            raise ValueError(f'the result given for {name} is of {result.condition}')
        for what, read in _SHARED.items():
            if read(result) != read(first):
                raise ValueError(
                    f'{what} of {name} differ from those of {first_name} ({_short(read(result))} and '
                    f'{_short(read(first))}): these results do not belong together'
                )
        if name != 'clean' and 'clean' in found and result.pixel_digest == found['clean'].pixel_digest:
            raise ValueError(
                f'the pixels of {name} are those of clean: it was scored on the pixels of the clean images; delete its '
                'result and run the sweep again with --resume'
            )


def _classes(result: ConditionResult) -> list[str]:
    return list(dict.fromkeys(name for values in result.per_class.values() for name in values))


_SHARED = {
    'checkpoints': lambda result: result.checkpoint_digest,
    'images before corruption': lambda result: result.clean_pixel_digest,
    'numbers of images': lambda result: result.images,
    'metrics': lambda result: sorted(result.metrics),
    'metrics of classes': lambda result: sorted(result.per_class),
    'classes': lambda result: sorted(_classes(result)),
}


def _short(value: object) -> str:
    text = ', '.join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return text if len(text) <= 60 else f'{text[:60]} ...'


def _metric_from_dict(content: dict) -> MetricSummary:
    read = MetricSummary(**_none_to_nan(content))
    return read if content['intervals'] is not None else replace(read, intervals=None)


def _none_to_nan(node):
    if isinstance(node, dict):
        return {key: _none_to_nan(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_none_to_nan(value) for value in node]
    return NAN if node is None else node
