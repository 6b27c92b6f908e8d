"""Self-attention networks (SAN; Zhao, Jia, Koltun: "Exploring Self-attention for Image Recognition", CVPR 2020).

Differences from the published classifiers: maps for dense prediction, all relations of the paper, images of any size
from 32x32 on, and memory that does not grow with channels times neighbours. Parameter names are the published ones.
"""

import dataclasses
import itertools
import math
import operator
import re
from collections.abc import Mapping, Sequence

import torch.nn.functional as F
from mmengine.registry import MODELS
from torch import Tensor, nn

from .backbone import Backbone
from .layers.checkpoint import run
from .layers.conv import BN, build_norm2d
from .layers.san import PAIRWISE, PATCHWISE, PatchwiseAttention, SANBlock
from .loading import Converted, unwrap
from .table import nearest_first, read_arch

ARCHS = {
    'san10': dict(depths=(2, 1, 2, 4, 1)),
    'san15': dict(depths=(3, 2, 3, 5, 2)),
    'san19': dict(depths=(3, 3, 4, 6, 3)),
}
RELATIONS = {'pairwise': PAIRWISE, 'patchwise': PATCHWISE}  # the published one first


@dataclasses.dataclass(frozen=True)
class SANArch:
    """Shape of a SAN: one entry a stage in every tuple.

    Attributes:
        depths: Blocks.
        kernel_sizes: Side of the neighbourhoods, odd.
        dims: Channels, divisible by 32.
        strides: Side and stride of the max-pooling that a stage begins with; 1 for none.
        dilations: Pixels from one neighbour to the next.
    """

    depths: tuple[int, ...]
    kernel_sizes: tuple[int, ...] = (3, 7, 7, 7, 7)
    dims: tuple[int, ...] = (64, 256, 512, 1024, 2048)
    strides: tuple[int, ...] = (2, 2, 2, 2, 2)
    dilations: tuple[int, ...] = (1, 1, 1, 1, 1)

    def __post_init__(self):
        stages = dataclasses.astuple(self)
        if len({len(values) for values in stages}) > 1:
            raise ValueError(f'SAN arch: all tuples need one entry a stage: {self}')
        for dim in self.dims:
            if dim % 32:
                raise ValueError(f'SAN arch: dims must be divisible by 32, not {dim}')


@MODELS.register_module()
class SAN(Backbone):
    """Self-attention network. Map i, of which ``out_indices`` are given, is stage i's output after its norm and ReLU.

    For the published architectures these are 64, 256, 512, 1024 and 2048 channels at 1/2, 1/4, 1/8, 1/16 and 1/32;
    sizes round down. Stages that no map depends on do not exist. ``out_channels`` and ``out_strides`` describe the maps
    in the order they are given.

    At its border a map is continued by reflection, as published. Where it is not larger than that margin (stages of 7x7
    neighbourhoods with sides under 4, so images with sides under 128), for which the published networks are not
    defined, it is reflected to and fro.

    Args:
        arch: A name of :data:`ARCHS`, or a dict with the keys of :class:`SANArch`.
        attention: ``'pairwise'`` or ``'patchwise'``.
        relation: How features are compared: for pairwise attention ``'subtraction'``, ``'summation'``,
            ``'concatenation'``, ``'hadamard'`` or ``'dot_product'``, for patchwise attention ``'concatenation'``,
            ``'star_product'`` or ``'clique_product'``. Default: the first, the published one.
        in_channels: Channels of the image.
        out_indices: The maps to give.
        norm_cfg: The BatchNorm layers, for instance ``dict(type='SyncBN')``.
        norm_eval: Keep these in evaluation mode while training.
        frozen_stages: -1 for nothing; 0 to freeze the first convolution; n for the first n stages as well. What is
            frozen stays in evaluation mode.
        with_cp: Recompute blocks in the backward pass rather than keep their activations.
        init_cfg: ``dict(type='Pretrained', checkpoint=...)`` loads the published classifiers as they are.
        **changes: Keys of :class:`SANArch` that differ from ``arch``.

    Raises:
        ValueError: for an unknown arch, key or value, in one line.
    """

    def __init__(
        self,
        arch: str | Mapping = 'san10',
        attention: str = 'pairwise',
        relation: str | None = None,
        in_channels: int = 3,
        out_indices: Sequence[int] = (0, 1, 2, 3, 4),
        norm_cfg: dict = BN,
        norm_eval: bool = False,
        frozen_stages: int = -1,
        with_cp: bool = False,
        init_cfg: dict | list | None = None,
        **changes,
    ):
        row = read_arch('SAN', arch, ARCHS, SANArch, **changes)
        stages = len(row.depths)
        super().__init__(out_indices, stages, frozen_stages, stages, norm_eval, init_cfg)
        self.arch = row
        self.attention, self.relation = _checked_attention(attention, relation)
        self.with_cp = with_cp
        self.stages = range(max(self.out_indices) + 1)

        dims = self.arch.dims
        self.conv_in = nn.Conv2d(in_channels, dims[0], 1, bias=False)
        self.bn_in = build_norm2d(norm_cfg, dims[0])
        for stage in self.stages:
            dim, kernel_size, dilation = dims[stage], self.arch.kernel_sizes[stage], self.arch.dilations[stage]
            blocks = (
                SANBlock(dim, self.attention, self.relation, kernel_size, dilation, norm_cfg)
                for _ in range(self.arch.depths[stage])
            )
            self.add_module(f'conv{stage}', nn.Conv2d(dims[max(stage - 1, 0)], dim, 1, bias=False))
            self.add_module(f'layer{stage}', nn.Sequential(*blocks))
            self.add_module(f'bn{stage}', build_norm2d(norm_cfg, dim))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity='relu')
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, SANBlock) and isinstance(module.sam, PatchwiseAttention):
                # Each block squares its features: before norms have statistics, the deeper networks overflow. So sums
                # start out as large as means, and small beside what they are added to.
                module.sam.conv_w[-1].weight.data /= module.sam.window[0] ** 2
                module.conv.weight.data /= 10

        self.describe(zip(dims, itertools.accumulate(self.arch.strides, operator.mul)))
        self.freeze()

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        """Image (B, 3, H, W), any H and W from 32 on, to the chosen maps (B, C, H/stride, W/stride)."""
        least = math.prod(self.arch.strides[stage] for stage in self.stages)
        if min(image.shape[2:]) < least:
            raise ValueError(f'SAN needs images of at least {least}x{least} pixels, not {tuple(image.shape[2:])}')
        x = F.relu(self.bn_in(self.conv_in(image)), inplace=True)
        maps = []
        for stage in self.stages:
            conv, blocks, norm = self.stage(stage)
            stride = self.arch.strides[stage]
            x = conv(F.max_pool2d(x, stride) if stride > 1 else x)
            for block in blocks:
                x = run(block, x, self.with_cp)
            maps.append(x := F.relu(norm(x), inplace=True))
        return tuple(maps[index] for index in self.out_indices)

    def stage(self, index: int) -> tuple[nn.Module, nn.Sequential, nn.Module]:
        """Convolution to the stage's width, blocks, and last norm of a stage."""
        return tuple(self.get_submodule(f'{name}{index}') for name in ('conv', 'layer', 'bn'))

    def convert(self, weights: Mapping, prefix: str | None = None) -> Converted:
        weights, dropped = unwrap(weights, prefix)
        if not hasattr(self, 'fc'):
            dropped += [key for key in weights if key.startswith('fc.')]
            weights = {key: value for key, value in weights.items() if not key.startswith('fc.')}

        def optional(key: str) -> bool:
            match = re.match(r'(conv|bn|layer)(?P<stage>\d+)\.(?P<block>\d+)?', key)
            depth = dict(enumerate(self.arch.depths)).get(match and int(match['stage']), 0)
            return match is not None and int(match['block'] or 0) < depth

        def new(key: str) -> bool:
            return key.endswith('.num_batches_tracked')

        return Converted(weights, dropped, optional, new)

    def frozen(self) -> list[nn.Module]:
        stages = (self.stage(index) for index in self.stages[: self.frozen_stages])
        return [self.conv_in, self.bn_in, *(module for stage in stages for module in stage)]


@MODELS.register_module()
class SANClassifier(SAN):
    """Image (B, 3, H, W) to logits (B, ``num_classes``): a linear layer on the mean of the last map.

    Args:
        arch: As in :class:`SAN`.
        num_classes: Classes.
        **kwargs: As in :class:`SAN`, except ``out_indices``.
    """

    def __init__(self, arch: str | Mapping = 'san10', num_classes: int = 1000, **kwargs):
        super().__init__(arch, out_indices=(-1,), **kwargs)
        self.fc = nn.Linear(self.arch.dims[-1], num_classes)

    def forward(self, image: Tensor) -> Tensor:
        return self.fc(self.pool(self.forward_features(image)))

    def forward_features(self, image: Tensor) -> Tensor:
        """The last map (B, C, H/32, W/32)."""
        return super().forward(image)[0]

    @staticmethod
    def pool(x: Tensor) -> Tensor:
        """What the last layer sees, (B, C), of that."""
        return x.mean((2, 3))


def _checked_attention(attention: str, relation: str | None) -> tuple[str, str]:
    if attention not in RELATIONS:
        raise ValueError(f"attention must be 'pairwise' or 'patchwise', not {attention!r}")
    known = RELATIONS[attention]
    relation = next(iter(known)) if relation is None else relation
    if relation not in known:
        names = ', '.join(nearest_first(relation, known))
        raise ValueError(f'unknown relation {relation!r} for {attention} attention; known: {names}')
    return attention, relation
