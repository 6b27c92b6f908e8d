"""Weights for FAN-Swin: those of the published networks, or what an ordinary Swin has in common with it.

An ordinary Swin, from timm, from its authors or from mmdet and mmseg, gives everything but the channel processing:
patch embedding, window attention, norms, merging, and the MLPs of the last stage.
"""

import re
from collections.abc import Mapping, Sequence

from torch import Tensor

from .loading import Converted, unwrap

# computed from the size of the map here
TABLES = re.compile(r'(.*\.)?(attn_mask|relative_position_index)$')
CLASSIFIER_ONLY = re.compile(r'(norm|head)\.')
# name in mmdet and mmseg -> published name
MMDET = {
    r'^patch_embed\.projection\.': 'patch_embed.proj.',
    r'^stages\.': 'layers.',
    r'\.attn\.w_msa\.': '.attn.',
    r'\.ffn\.layers\.0\.0\.': '.mlp.fc1.',
    r'\.ffn\.layers\.1\.': '.mlp.fc2.',
}


def convert_swin_state_dict(
    checkpoint: Mapping, prefix: str | None = None, dense: bool = True
) -> tuple[dict[str, Tensor], list[str]]:
    """Weights of a FAN-Swin or Swin under the names that :class:`FANSwin` and :class:`FANSwinClassifier` use.

    Args:
        checkpoint: As in :func:`~fan_dense.models.loading.unwrap`.
        prefix: As in :func:`~fan_dense.models.loading.unwrap`.
        dense: Leave out what only a classifier has: head and last norm.

    Returns:
        The weights, and the keys that were left out: beside the classifier's, tables that hold no weights, and all
        but the last stage's MLPs of an ordinary Swin.
    """
    published, dropped = unwrap(checkpoint, prefix)
    ordinary = is_ordinary(published)
    if 'patch_embed.projection.weight' in published:
        published = {_name_from_mmdet(key): _merged_by_columns(key, value) for key, value in published.items()}
    elif 'layers.0.downsample.norm.weight' not in published:  # timm since 0.9 merges at the beginning of a stage
        published = {_name_from_timm(key): value for key, value in published.items()}
    last = max((int(key.split('.')[1]) for key in published if key.startswith('layers.')), default=0)
    weights = {}
    for key, value in published.items():
        plain_mlp = re.match(r'layers\.(\d+)\.blocks\.\d+\.mlp\.', key) if ordinary else None
        if TABLES.match(key) or (dense and CLASSIFIER_ONLY.match(key)) or (plain_mlp and int(plain_mlp[1]) < last):
            dropped.append(key)
        else:
            weights[key] = value
    return weights, dropped


def is_ordinary(weights: Mapping[str, Tensor]) -> bool:
    """Whether the weights are those of a Swin without channel processing."""
    return not any('.mlp_v.' in key for key in weights)


def convert_swin(
    checkpoint: Mapping, depths: Sequence[int], prefix: str | None = None, dense: bool = True
) -> Converted:
    """A FAN-Swin or an ordinary Swin for a :class:`FANSwin` or :class:`FANSwinClassifier`.

    Args:
        checkpoint: As in :func:`~fan_dense.models.loading.unwrap`.
        depths: Blocks of each stage of the arch, though the chosen maps may need fewer stages.
        prefix: As in :func:`~fan_dense.models.loading.unwrap`.
        dense: As in :func:`convert_swin_state_dict`.
    """
    weights, dropped = convert_swin_state_dict(checkpoint, prefix, dense)

    def optional(key: str) -> bool:
        block = re.match(r'layers\.(\d+)\.blocks\.(\d+)\.', key)
        if block:
            stage, index = map(int, block.groups())
            return stage < len(depths) and index < depths[stage]
        return bool(re.match(r'norm\d\.|layers\.\d+\.downsample\.', key))

    new = r'norm\d\.|.*\.num_batches_tracked$'
    if is_ordinary(weights):
        stages = '|'.join(map(str, range(len(depths) - 1)))
        new += rf'|layers\.({stages})\.blocks\.\d+\.mlp\.|head\.'
    return Converted(weights, dropped, optional, re.compile(new).match)


def _name_from_timm(key: str) -> str:
    merging = re.match(r'layers\.(\d+)\.downsample\.', key)
    return f'layers.{int(merging[1]) - 1}.downsample.{key[merging.end() :]}' if merging else key.replace('.fc.', '.')


def _name_from_mmdet(key: str) -> str:
    for theirs, ours in MMDET.items():
        key = re.sub(theirs, ours, key)
    return key


def _merged_by_columns(key: str, value: Tensor) -> Tensor:
    """Merging's weights (..., 4C) for pixels channel by channel, by rows, to pixel by pixel, by columns."""
    if not re.search(r'\.downsample\.(norm\.(weight|bias)|reduction\.weight)$', key):
        return value
    return value.unflatten(-1, (-1, 2, 2)).movedim(-3, -1).transpose(-3, -2).flatten(-3)
