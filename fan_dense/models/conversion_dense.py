"""Segmentors and detectors of the published code (mmseg 0.x, mmdet 2.x) under the names of mmseg 1.x and mmdet 3.x.

Mask R-CNN and Cascade Mask R-CNN have the same names in mmdet 2.x and 3.x ("the compatibility is fully kept", say its
maintainers in issue 9779), so that only the backbone changes. SegFormer's published head differs from mmseg's in names,
in the order in which it joins the maps, and in what it is, see :mod:`~fan_dense.models.segformer_head`.
"""

import re
from collections.abc import Iterable, Mapping

from torch import Tensor, nn

from .backbone import Backbone
from .loading import CheckpointMismatch, Converted, LoadReport, load

# published name -> name in LinearSegformerHead
SEGFORMER = {
    'linear_fuse.conv.': 'fusion_conv.conv.',
    'linear_fuse.bn.': 'fusion_conv.bn.',
    'linear_pred.': 'conv_seg.',
}
SEGFORMER_NEEDS = ('linear_fuse.conv.weight', 'linear_fuse.bn.running_var', 'linear_pred.weight', 'linear_pred.bias')
HEAD = 'decode_head.'
CLASSIFIER_HEADS = ('head.weight', 'head.fc.weight', 'fc.weight')


def kind(keys: Iterable[str]) -> str:
    """What a checkpoint with these keys is of: segformer, mask-rcnn, cascade, classifier or backbone.

    Raises:
        CheckpointMismatch: A segmentor or detector that is none of these.
    """
    keys = set(keys)
    if {f'{HEAD}linear_fuse.conv.weight', f'{HEAD}fusion_conv.conv.weight'} & keys:
        return 'segformer'
    if 'roi_head.mask_head.conv_logits.weight' in keys:
        return 'mask-rcnn'
    if 'roi_head.mask_head.0.conv_logits.weight' in keys:
        return 'cascade'
    others = [key for key in keys if not key.startswith('backbone.')]
    if len(others) < len(keys) and others:
        raise CheckpointMismatch(f'is of neither SegFormer nor Mask R-CNN nor Cascade Mask R-CNN: it has {min(others)}')
    return 'classifier' if keys.intersection(CLASSIFIER_HEADS) else 'backbone'


def convert_model(weights: Mapping[str, Tensor], backbone: Backbone) -> Converted:
    """A segmentor or detector, published or ours, with ``backbone``, which has our names."""
    inner = backbone.convert({key: value for key, value in weights.items() if key.startswith('backbone.')})
    heads, dropped = convert_heads(weights)
    return Converted(
        {f'backbone.{key}': value for key, value in inner.weights.items()} | heads,
        [f'backbone.{key}' for key in inner.dropped] + dropped,
        optional=lambda key: key.startswith('backbone.') and inner.optional(key.removeprefix('backbone.')),
        new=lambda key: key.endswith('.num_batches_tracked'),
    )


def convert_heads(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """All but the backbone's weights under new names, and the keys of them that were left out.

    SegFormer's published head becomes that of :class:`~fan_dense.models.segformer_head.LinearSegformerHead`: a linear
    layer becomes a 1x1 convolution, and the fusing convolution's inputs, which begin with the last map, are reordered
    to begin with the first.

    Raises:
        CheckpointMismatch: It is such a head, but not all of it.
    """
    others = {key: value for key, value in weights.items() if not key.startswith('backbone.')}
    weights = {key: value for key, value in others.items() if isinstance(value, Tensor)}
    dropped = [key for key in others if key not in weights]
    if f'{HEAD}linear_fuse.conv.weight' not in weights:
        return weights, dropped
    levels = sum(bool(re.fullmatch(rf'{HEAD}linear_c\d+\.proj\.weight', key)) for key in weights)
    projections = [f'linear_c{level}.proj.{part}' for level in range(1, levels + 1) for part in ('weight', 'bias')]
    if absent := [name for name in (*SEGFORMER_NEEDS, *projections) if HEAD + name not in weights]:
        raise CheckpointMismatch(f'has an incomplete SegFormer head: it lacks {HEAD}{absent[0]}')
    fused = weights[f'{HEAD}linear_fuse.conv.weight'].shape[1]
    if not levels or fused % levels:
        raise CheckpointMismatch(f'has a SegFormer head that fuses {fused} channels of {levels} maps')
    converted = {}
    for key, value in weights.items():
        name = key.removeprefix(HEAD)
        if name in ('conv_seg.weight', 'conv_seg.bias'):  # the base class's, which the published head does not use
            dropped.append(key)
            continue
        if match := re.fullmatch(r'linear_c(\d+)\.proj\.(weight|bias)', name):
            name = f'convs.{int(match[1]) - 1}.conv.{match[2]}'
            value = value[..., None, None] if match[2] == 'weight' else value  # (E, C) to (E, C, 1, 1)
        elif name == 'linear_fuse.conv.weight':
            value = value.unflatten(1, (levels, -1)).flip(1).flatten(1, 2)  # (E, levels*E, 1, 1), last map first
        for theirs, ours in SEGFORMER.items():
            if name.startswith(theirs):
                name = ours + name.removeprefix(theirs)
        converted[(HEAD if key.startswith(HEAD) else '') + name] = value
    return converted, dropped


def load_published_model(model: nn.Module, checkpoint: str, map_location: str = 'cpu', ema: bool = False) -> LoadReport:
    """Load a checkpoint of the published segmentation or detection code into a model of mmseg 1.x or mmdet 3.x.

    Args:
        model: A segmentor or detector whose ``backbone`` is one of ours. For SegFormer its ``decode_head`` has to be a
            :class:`~fan_dense.models.segformer_head.LinearSegformerHead`.
        checkpoint: As in :func:`~fan_dense.models.loading.load`.
        map_location: As in ``torch.load``.
        ema: As in :func:`~fan_dense.models.loading.choose`.

    Raises:
        CheckpointMismatch: if it is of another model. Nothing is loaded then.
    """
    projection = f'{HEAD}convs.0.conv.bias'

    def convert(weights: Mapping[str, Tensor]) -> Converted:
        converted = convert_model(weights, model.backbone)
        if projection in converted.weights and projection not in model.state_dict():
            raise CheckpointMismatch("has a SegFormer head that needs decode_head=dict(type='LinearSegformerHead')")
        return converted

    return load(model, checkpoint, convert, map_location, ema)
