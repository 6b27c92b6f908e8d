"""Weights of the published FAN networks in ours: names of keys, and what is left out."""

import re
from collections.abc import Mapping

from torch import Tensor

from .loading import Converted, unwrap

CLASSIFIER_ONLY = re.compile(r'cls_token$|norm\.|head\.|cls_attn_blocks\.\d+\.(attn\.|mlp\.|gamma2$)')
# what some choice of maps does without; blocks apart
OPTIONAL = re.compile(
    r'(learnable_downsample|pos_embed|cls_attn_blocks|patch_embed\.proj|patch_embed\.backbone\.stages\.1)\.'
)
NEW = re.compile(r'learnable_downsample\.|.*\.num_batches_tracked$')  # a published checkpoint may be without


def convert_fan_state_dict(
    checkpoint: Mapping, prefix: str | None = None, dense: bool = True
) -> tuple[dict[str, Tensor], list[str]]:
    """Published weights under the names that :class:`FAN` and :class:`FANClassifier` use.

    Renames ``pos_embeder.`` to ``pos_embed.`` and splits a fused ``qkv`` of class attention.

    Args:
        checkpoint: As in :func:`~fan_dense.models.loading.unwrap`.
        prefix: As in :func:`~fan_dense.models.loading.unwrap`.
        dense: Leave out what only a classifier has: head, last norm, class token, and all of class attention that
            the patch tokens do not depend on.

    Returns:
        The weights, and the keys that were left out.
    """
    published, dropped = unwrap(checkpoint, prefix)
    weights = {}
    for name, value in published.items():
        key = name.replace('pos_embeder.', 'pos_embed.')
        if dense and CLASSIFIER_ONLY.match(key):
            dropped.append(name)
        elif '.attn.qkv.' in key:
            weights.update(zip((key.replace('.qkv.', f'.{part}.') for part in 'qkv'), value.chunk(3)))
        else:
            weights[key] = value
    return weights, dropped


def convert_fan(checkpoint: Mapping, depth: int, prefix: str | None = None, dense: bool = True) -> Converted:
    """A published classifier, or a FAN of ours, for a :class:`FAN` or :class:`FANClassifier` of ``depth`` blocks.

    Args:
        checkpoint: As in :func:`~fan_dense.models.loading.unwrap`.
        depth: Blocks of the arch, though the chosen maps may need fewer.
        prefix: As in :func:`~fan_dense.models.loading.unwrap`.
        dense: As in :func:`convert_fan_state_dict`.
    """

    def optional(key: str) -> bool:
        block = re.match(r'blocks\.(\d+)\.', key)
        return int(block[1]) < depth if block else bool(OPTIONAL.match(key))

    return Converted(*convert_fan_state_dict(checkpoint, prefix, dense), optional, NEW.match)
