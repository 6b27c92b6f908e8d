"""Weights of published networks into ours: unwrapping the file, a report on every key, and when to refuse."""

import dataclasses
from collections.abc import Callable, Mapping

from mmengine.logging import print_log
from torch import Tensor, nn

LEAST_SHARE = 0.95


class CheckpointMismatch(ValueError):
    """A checkpoint that belongs to another network."""


def unwrap(checkpoint: Mapping, prefix: str | None = None) -> tuple[dict[str, Tensor], list[str]]:
    """The backbone's weights in a checkpoint.

    Args:
        checkpoint: What the file holds. The weights may be its ``state_dict``, ``model`` or ``state_dict_ema``, and
            their names may begin with ``module.``.
        prefix: Take only keys that start so, without it. By default ``'backbone.'`` if there are such keys, as in the
            checkpoints of detectors and segmentors.

    Returns:
        The weights, and the keys of others that were left out.
    """
    for wrapper in ('state_dict', 'model', 'state_dict_ema'):
        if isinstance(checkpoint.get(wrapper), Mapping):
            checkpoint = checkpoint[wrapper]
    checkpoint = {key.removeprefix('module.'): value for key, value in checkpoint.items()}
    if prefix is None:
        prefix = 'backbone.' if any(key.startswith('backbone.') for key in checkpoint) else ''
    weights = {key.removeprefix(prefix): value for key, value in checkpoint.items() if key.startswith(prefix)}
    return weights, [key for key in checkpoint if not key.startswith(prefix)]


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """What became of each key.

    Attributes:
        loaded: In the network now.
        missing: Of the network, not in the checkpoint; these keep their initial values.
        dropped: Of the checkpoint, rightly not in this network: the classifier's, blocks that no map needs.
        wrong: Of the checkpoint, with another shape than in the network or of no network of this arch.
        share: Fraction of the network's values that were loaded, of those that such a checkpoint has.
    """

    loaded: list[str]
    missing: list[str]
    dropped: list[str]
    wrong: list[str]
    share: float

    def __str__(self) -> str:
        lines = [f'loaded {len(self.loaded)} keys, {self.share:.1%} of the values']
        for name in ('missing', 'dropped', 'wrong'):
            if keys := getattr(self, name):
                lines.append(f'{name} ({len(keys)}): {", ".join(keys)}')
        return '\n'.join(lines)


@dataclasses.dataclass(frozen=True)
class Converted:
    """A checkpoint under the names of our network.

    Attributes:
        weights: Name to value.
        dropped: Keys of the checkpoint that no network of the kind has.
        optional: Whether a name belongs to the arch, though this choice of maps may do without.
        new: Whether a name of the network is one that such checkpoints are without.
    """

    weights: Mapping[str, Tensor]
    dropped: list[str]
    optional: Callable[[str], object]
    new: Callable[[str], object]


def read_checkpoint(checkpoint: str, map_location: str = 'cpu') -> Mapping:
    """What a checkpoint holds, from a path or URL."""
    from mmengine.runner.checkpoint import CheckpointLoader  # which may be importing this package right now

    return CheckpointLoader.load_checkpoint(checkpoint, map_location)


def load_converted(network: nn.Module, converted: Converted, name: str) -> LoadReport:
    """Load a converted checkpoint called ``name`` into ``network``, and log the report.

    Raises:
        CheckpointMismatch: if any key is wrong or under 95 % of the values are there. Nothing is loaded then.
    """
    own, weights = network.state_dict(), converted.weights
    report = sort_keys(converted, own)
    if report.wrong or report.share < LEAST_SHARE:
        raise CheckpointMismatch(f'{name} {_complaint(report, weights, own)}; is it of another arch?')
    network.load_state_dict({key: weights[key] for key in report.loaded}, strict=False)
    print_log(f'{name}: {report}', logger='current')
    return report


def sort_keys(converted: Converted, own: Mapping[str, Tensor]) -> LoadReport:
    """Report on a converted checkpoint for a network with the state-dict ``own``."""
    weights = converted.weights
    optional = [key for key in weights if key not in own and converted.optional(key)]
    loaded = [key for key in weights if key in own and weights[key].shape == own[key].shape]
    expected = {key: value.numel() for key, value in own.items() if not converted.new(key)}
    return LoadReport(
        loaded=loaded,
        missing=[key for key in own if key not in weights],
        dropped=[*converted.dropped, *optional],
        wrong=[key for key in weights if key not in {*loaded, *optional}],
        share=sum(expected.get(key, 0) for key in loaded) / sum(expected.values()),
    )


def _complaint(report: LoadReport, weights: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> str:
    text = f'does not fit: it has {report.share:.1%} of the values'
    if not report.wrong:
        return text
    key = report.wrong[0]
    expected = f'instead of {tuple(own[key].shape)}' if key in own else 'which the network lacks'
    return f'{text} and {len(report.wrong)} wrong keys, the first {key} {tuple(weights[key].shape)} {expected}'
