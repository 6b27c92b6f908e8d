"""Weights of the published FAN networks in ours: names of keys, what is left out, and a report of both."""

import dataclasses
import re
from collections.abc import Iterable, Mapping

from mmengine.logging import print_log
from torch import Tensor, nn

LEAST_SHARE = 0.95
CLASSIFIER_ONLY = re.compile(r'cls_token$|norm\.|head\.|cls_attn_blocks\.\d+\.(attn\.|mlp\.|gamma2$)')
# what some choice of maps does without; blocks apart
OPTIONAL = re.compile(
    r'(learnable_downsample|pos_embed|cls_attn_blocks|patch_embed\.proj|patch_embed\.backbone\.stages\.1)\.'
)
NEW = re.compile(r'learnable_downsample\.|.*\.num_batches_tracked$')  # a published checkpoint may be without


class CheckpointMismatch(ValueError):
    """A checkpoint that belongs to another network."""


def convert_fan_state_dict(
    checkpoint: Mapping, prefix: str | None = None, dense: bool = True
) -> tuple[dict[str, Tensor], list[str]]:
    """Published weights under the names that :class:`FAN` and :class:`FANClassifier` use.

    Unwraps ``state_dict``, ``model`` or ``state_dict_ema``, removes ``module.``, renames ``pos_embeder.`` to
    ``pos_embed.`` and splits a fused ``qkv`` of class attention.

    Args:
        checkpoint: What the file holds.
        prefix: Take only keys that start so, without it. By default ``'backbone.'`` if there are such keys, as in the
            checkpoints of detectors and segmentors.
        dense: Leave out what only a classifier has: head, last norm, class token, and all of class attention that
            the patch tokens do not depend on.

    Returns:
        The weights, and the keys that were left out.
    """
    for wrapper in ('state_dict', 'model', 'state_dict_ema'):
        if isinstance(checkpoint.get(wrapper), Mapping):
            checkpoint = checkpoint[wrapper]
    checkpoint = {key.removeprefix('module.'): value for key, value in checkpoint.items()}
    if prefix is None:
        prefix = 'backbone.' if any(key.startswith('backbone.') for key in checkpoint) else ''

    weights, dropped = {}, []
    for name, value in checkpoint.items():
        key = name.removeprefix(prefix).replace('pos_embeder.', 'pos_embed.')
        if not name.startswith(prefix) or (dense and CLASSIFIER_ONLY.match(key)):
            dropped.append(name)
        elif '.attn.qkv.' in key:
            weights.update(zip((key.replace('.qkv.', f'.{part}.') for part in 'qkv'), value.chunk(3)))
        else:
            weights[key] = value
    return weights, dropped


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """What became of each key.

    Attributes:
        loaded: In the network now.
        missing: Of the network, not in the checkpoint; these keep their initial values.
        dropped: Of the checkpoint, rightly not in this network: the classifier's, blocks that no map needs.
        wrong: Of the checkpoint, with another shape than in the network or of no network of this arch.
        share: Fraction of the network's values that were loaded, of those that a published checkpoint has.
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


def load_fan_checkpoint(
    network: nn.Module, checkpoint: str, prefix: str | None = None, map_location: str = 'cpu'
) -> LoadReport:
    """Load a published classifier, or a FAN of ours, into a :class:`FAN` or :class:`FANClassifier`; log the report.

    Args:
        network: Where to.
        checkpoint: Path or URL.
        prefix: As in :func:`convert_fan_state_dict`.
        map_location: As in ``torch.load``.

    Raises:
        CheckpointMismatch: if any key is wrong or under 95 % of the values are there. Nothing is loaded then.
    """
    from mmengine.runner.checkpoint import CheckpointLoader  # which may be importing this package right now

    own = network.state_dict()
    content = CheckpointLoader.load_checkpoint(checkpoint, map_location)
    weights, dropped = convert_fan_state_dict(content, prefix, dense='cls_token' not in own)
    report = sort_keys(weights, dropped, own, depth=len(network.arch.blocks()))
    if report.wrong or report.share < LEAST_SHARE:
        raise CheckpointMismatch(f'{checkpoint} {_complaint(report, weights, own)}; is it of another arch?')
    network.load_state_dict({key: weights[key] for key in report.loaded}, strict=False)
    print_log(f'{checkpoint}: {report}', logger='current')
    return report


def sort_keys(weights: Mapping[str, Tensor], dropped: list[str], own: Mapping[str, Tensor], depth: int) -> LoadReport:
    """Report on converted ``weights`` for a network with the state-dict ``own`` and an arch of ``depth`` blocks."""
    unknown = [key for key in weights if key not in own]
    optional = [key for key in unknown if _is_optional(key, depth)]
    loaded = [key for key in weights if key in own and weights[key].shape == own[key].shape]
    return LoadReport(
        loaded=loaded,
        missing=[key for key in own if key not in weights],
        dropped=dropped + optional,
        wrong=[key for key in weights if key not in {*loaded, *optional}],
        share=_size(own, loaded) / _size(own, own),
    )


def _is_optional(key: str, depth: int) -> bool:
    block = re.match(r'blocks\.(\d+)\.', key)
    return int(block[1]) < depth if block else bool(OPTIONAL.match(key))


def _size(own: Mapping[str, Tensor], keys: Iterable[str]) -> int:
    return sum(own[key].numel() for key in keys if not NEW.match(key))


def _complaint(report: LoadReport, weights: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> str:
    text = f'does not fit: it has {report.share:.1%} of the values'
    if not report.wrong:
        return text
    key = report.wrong[0]
    expected = f'instead of {tuple(own[key].shape)}' if key in own else 'which the network lacks'
    return f'{text} and {len(report.wrong)} wrong keys, the first {key} {tuple(weights[key].shape)} {expected}'
