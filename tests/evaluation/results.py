"""Results of conditions for the tests, made up from figures."""

from fan_dense.evaluation.protocol import Protocol
from fan_dense.evaluation.result import Condition, ConditionResult


def protocol(aggregate='conditions', **groups) -> Protocol:
    """``protocol(weather=dict(fog=(1, 2)))``."""
    return Protocol(name='mine', aggregate=aggregate, groups=groups)


def result(condition: Condition, metrics: dict, per_class: dict | None = None, **changes) -> ConditionResult:
    return ConditionResult(
        **{
            'condition': condition,
            'config': 'c.py',
            'checkpoint': 'c.pth',
            'checkpoint_digest': '0' * 16,
            'metrics': metrics,
            'per_class': per_class or {},
            'images': 4,
            'pixel_digest': f'pixels of {condition.describe()}',
            'unchanged_images': [],
            'seconds': 1.0,
            'finished': '2026-01-01T00:00:00+00:00',
            'versions': {},
            **changes,
        }
    )


def results(figures: dict[str, float], metric='mIoU', seed=0, image_order='bgr', **changes) -> dict:
    """``results({'clean': 0.5, 'fog 1': 0.4})``, one metric."""
    made = [result(condition(name, seed, image_order), {metric: figure}, **changes) for name, figure in figures.items()]
    return {one.condition: one for one in made}


def condition(name: str, seed=0, image_order='bgr') -> Condition:
    if name == 'clean':
        return Condition()
    corruption, severity = name.split()
    return Condition(corruption=corruption, severity=int(severity), seed=seed, image_order=image_order)
