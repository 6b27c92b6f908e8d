"""A condition of the benchmark, and the result of evaluating one model under it. No torch, no OpenMMLab."""

import json
import math
from dataclasses import asdict, dataclass, field

from fan_dense import checks


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Clean (no corruption), or a corruption at a severity, and what its pixels depend on beside the image."""

    corruption: str | None = None
    severity: int | None = None
    seed: int = 0
    image_order: str = 'bgr'

    def __post_init__(self):
        checks.corruption_and_severity(self.corruption, self.severity)
        checks.one_of('image_order', self.image_order, checks.IMAGE_ORDERS)
        if type(self.seed) is not int or self.seed < 0:
            raise ValueError(f'seed is {self.seed!r}; it must be a whole number, 0 or larger')

    def __str__(self):
        return 'clean' if self.corruption is None else f'{self.corruption} {self.severity}'

    def describe(self) -> str:
        """All of it, for a caption."""
        return f'{self}, seed {self.seed}, {self.image_order}' if self.corruption else 'clean'

    @property
    def file_stem(self) -> str:
        """Name of the result file: different for every condition."""
        if self.corruption is None:
            return 'clean'
        return f'{self.corruption}-{self.severity}-seed{self.seed}-{self.image_order}'


@dataclass(frozen=True, kw_only=True)
class ConditionResult:
    """Scores of one model under one condition.

    Attributes:
        condition: what was evaluated.
        config, checkpoint: files of the model, and the first 64 bits of the checkpoint's SHA-256.
        metrics: name -> fraction (``bbox_mAP``, ``segm_mAP``, ``mIoU``, ...); NaN where there is no ground truth.
        per_class: metric -> class -> fraction; NaN for an absent class.
        images: number of images scored.
        pixel_digest: over the pixels that the network's pipeline was given, before resizing.
        clean_pixel_digest: the same before the corruption: equal in all conditions of a sweep.
        unchanged_images: keys of images on which the corruption had no effect.
        seconds: duration of the evaluation.
        phases: phase of it -> seconds; see :class:`fan_dense.evaluation.loop.Outcome`.
        finished: when it ended, UTC, ISO 8601.
        versions: of the packages that the figures depend on.
    """

    condition: Condition
    config: str
    checkpoint: str
    checkpoint_digest: str
    metrics: dict[str, float]
    per_class: dict[str, dict[str, float]]
    images: int
    pixel_digest: str
    unchanged_images: list[str]
    seconds: float
    finished: str
    versions: dict[str, str]
    phases: dict[str, float] = field(default_factory=dict)
    clean_pixel_digest: str = ''

    def to_json(self) -> str:
        """JSON text; NaN is written as null."""
        return json.dumps(nan_to_none(asdict(self)), indent=2) + '\n'

    @classmethod
    def from_json(cls, text: str) -> 'ConditionResult':
        """What :meth:`to_json` wrote; null is NaN again.

        Raises:
            ValueError: the text is something else.
        """
        try:
            values = json.loads(text)
            condition = Condition(**values.pop('condition'))
            values['metrics'] = _none_to_nan(values['metrics'])
            values['per_class'] = {name: _none_to_nan(classes) for name, classes in values['per_class'].items()}
            return cls(condition=condition, **values)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f'not the result of a condition: {type(error).__name__}: {error}') from error

    def summary(self) -> str:
        """The condition and its main figures, in a few lines."""
        lines = [
            self.condition.describe(),
            '  '.join(f'{name} {value:.4f}' for name, value in self.metrics.items()),
            f'{self.images} images in {self.seconds:.1f} s, pixels {self.pixel_digest[:12]}',
        ]
        if self.unchanged_images:
            lines.append(f'{self.condition.corruption} left {len(self.unchanged_images)} images unchanged')
        return '\n'.join(lines)


def nan_to_none(node):
    """Nested dicts and lists with None for NaN, which JSON does not have."""
    if isinstance(node, dict):
        return {key: nan_to_none(value) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return [nan_to_none(value) for value in node]
    return None if isinstance(node, float) and math.isnan(node) else node


def _none_to_nan(figures: dict) -> dict[str, float]:
    return {name: math.nan if value is None else value for name, value in figures.items()}
