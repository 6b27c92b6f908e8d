"""Figures as they are: fractions, not rounded, per class.

mmdet's COCO metric rounds AP to 0.001 and mmseg's IoU metric to 0.01 %, which is as much as two models may differ in
the mean over a corruption's severities; and the former leaves AP out where a model detects nothing, which is an
AP of 0. Ours replace them, with the same arguments and the same names of the figures.
"""

import importlib

# stock metric -> (ours, where it is): a detector need not wait for the import of mmseg
_EXACT = {
    'CocoMetric': ('ExactCocoMetric', 'fan_dense.evaluation.coco_scores'),
    'IoUMetric': ('ExactIoUMetric', 'fan_dense.evaluation.iou_scores'),
}


def exact(evaluator) -> list[dict]:
    """An evaluator's config (a dict or a list of them) as a list with the stock metrics replaced by ours."""
    if not isinstance(evaluator, (list, tuple)):
        return exact([evaluator])
    return [_replaced(metric) for metric in evaluator]


def per_class(evaluator) -> dict[str, dict[str, float]]:
    """Metric -> class -> fraction, of a built evaluator that has evaluated; NaN for a class without ground truth."""
    return {name: values for metric in evaluator.metrics for name, values in getattr(metric, 'per_class', {}).items()}


def records(evaluator) -> dict:
    """Name ('iou', 'bbox', 'segm') -> what each image contributed, of a built evaluator that has evaluated."""
    return {name: record for metric in evaluator.metrics for name, record in getattr(metric, 'records', {}).items()}


def table(per_class: dict[str, dict[str, float]]) -> str:
    """The figures per class as aligned text, one line a class."""
    classes = next(iter(per_class.values()))
    width = max(len(name) for name in classes)
    lines = [' ' * width + ''.join(f'{name:>12}' for name in per_class)]
    lines += [f'{one:<{width}}' + ''.join(f'{values[one]:>12.4f}' for values in per_class.values()) for one in classes]
    return '\n'.join(lines)


def _replaced(metric: dict) -> dict:
    kind = metric['type'].rpartition('.')[2] if isinstance(metric['type'], str) else metric['type']
    if kind not in _EXACT:
        return metric
    name, module = _EXACT[kind]
    importlib.import_module(module)
    return {**metric, 'type': name}
