"""FAN-ViT and FAN-Hybrid as backbones ("Understanding the Robustness in Vision Transformers", arXiv 2204.12451).

Differences from the published dense code: one class for segmentation and detection, any norm layer and drop path by
config, and no parameter that no output depends on. Parameter names are the published ones.
"""

from collections.abc import Mapping, Sequence

import torch
from mmengine.registry import MODELS
from torch import Tensor, nn

from .arch import resolve_arch
from .backbone import Backbone
from .conversion import convert_fan
from .layers.block import FANBlock, PatchTokenBlock
from .layers.checkpoint import run
from .layers.conv import BN, convolve
from .layers.position import PositionEncoding
from .layers.stem import ConvStem, HybridStem
from .loading import Converted


@MODELS.register_module()
class FAN(Backbone):
    """Fully attentional network. Gives four maps, of which ``out_indices`` are computed.

    ====== ====================================== ===========================================
    map    FAN-Hybrid                             FAN-ViT
    ====== ====================================== ===========================================
    0      1/4, ConvNeXt stage 0                  1/16, tokens after the first tapped block
    1      1/8, ConvNeXt stage 1                  1/16, second tapped block
    2      1/16, tokens after the tapped block    1/16, third tapped block
    3      final tokens, see ``last_map``         final tokens, see ``last_map``
    ====== ====================================== ===========================================

    Only what the chosen maps depend on exists: no parameter is without gradient, so DistributedDataParallel needs no
    ``find_unused_parameters``. ``out_channels`` and ``out_strides`` describe the maps in the order they are given.

    Args:
        arch: A name of :data:`~fan_dense.models.arch.ARCHS`, or a dict with the keys of
            :class:`~fan_dense.models.arch.FANArch`.
        in_channels: Channels of the image.
        out_indices: The maps to give.
        last_map: What map 3 is: ``'tokens'``, the final tokens as they are (published for segmentation), or
            ``'downsample'``, a 3x3 stride-2 convolution of them to ``last_channels`` (published for detection).
        last_channels: Channels of that convolution.
        pos_floor: Position encoding in which pairs of features share a frequency. The classifiers, and so the released
            checkpoints, were trained with it, the published dense networks without.
        drop_rate: Dropout of projections and MLPs.
        attn_drop_rate: Dropout of attention weights.
        drop_path_rate: Probability of dropping a residual branch of a block, per image. The class-attention blocks and
            the ConvNeXt stages have none.
        drop_path_schedule: ``'constant'``, the same in all blocks as in the published training, or ``'linear'`` from 0
            in the first block to the full rate in the last.
        norm_cfg: The BatchNorm layers (in MLPs and the stem of FAN-ViT), for instance ``dict(type='SyncBN')``.
        norm_eval: Keep these in evaluation mode while training.
        frozen_stages: -1 for nothing; 0 to freeze the stem and the position encoding; n for the first n blocks as
            well. What is frozen stays in evaluation mode.
        with_cp: Recompute blocks in the backward pass rather than keep their activations.
        init_cfg: ``dict(type='Pretrained', checkpoint=...)`` loads the published classifiers as they are.
        **changes: Keys of :class:`~fan_dense.models.arch.FANArch` that differ from ``arch``, for ablations:
            ``channel='ca'``, ``num_heads=6``, ``taps=(7, 15, 23)``.

    Raises:
        ValueError: for an unknown arch, key or value, in one line.
    """

    def __init__(
        self,
        arch: str | Mapping = 'hybrid-small',
        in_channels: int = 3,
        out_indices: Sequence[int] = (0, 1, 2, 3),
        last_map: str = 'tokens',
        last_channels: int = 768,
        pos_floor: bool = False,
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
        drop_path_schedule: str = 'constant',
        norm_cfg: dict = BN,
        norm_eval: bool = False,
        frozen_stages: int = -1,
        with_cp: bool = False,
        init_cfg: dict | list | None = None,
        **changes,
    ):
        row = resolve_arch(arch, **changes)
        layout, maps = row.blocks(), row.maps()
        super().__init__(out_indices, len(maps), frozen_stages, len(layout), norm_eval, init_cfg)
        self.arch = row
        self.with_cp = with_cp
        if last_map not in ('tokens', 'downsample'):
            raise ValueError(f"last_map must be 'tokens' or 'downsample', not {last_map!r}")
        if last_map == 'downsample' and maps[3][1] == 32:
            raise ValueError(f"the tokens of arch {arch!r} end at 1/32 already: use last_map='tokens'")

        # only what the wanted maps depend on
        self.taps = {block: index for index, block in enumerate(self.arch.tapped(), 3 - len(self.arch.tapped()))}
        needed = [block + 1 for block, index in self.taps.items() if index in self.out_indices]
        depth = len(layout) if 3 in self.out_indices else max(needed, default=0)
        dim = layout[0][0]
        if self.arch.stem == 'conv':
            self.patch_embed = ConvStem(16, dim, in_channels, norm_cfg)
        else:
            stages = slice(2 if depth else max(self.out_indices) + 1)
            dims, depths = self.arch.stem_dims[stages], self.arch.stem_depths[stages]
            self.patch_embed = HybridStem(depths, dims, dim if depth else None, in_channels, with_cp)
        self.pos_embed = PositionEncoding(dim, floor=pos_floor) if depth else None
        self.blocks = nn.ModuleList(
            FANBlock(
                *layout[index],
                out_dim=layout[index + 1][0] if index + 1 < depth else None,
                channel=self.arch.channel,
                channel_heads=self.arch.channel_heads,
                mlp_ratio=self.arch.mlp_ratio,
                qkv_bias=self.arch.qkv_bias,
                drop=drop_rate,
                attn_drop=attn_drop_rate,
                drop_path=rate,
                norm_cfg=norm_cfg,
            )
            for index, rate in enumerate(_drop_path_rates(drop_path_rate, drop_path_schedule, len(layout))[:depth])
        )
        self.cls_attn_blocks = nn.ModuleList(
            PatchTokenBlock(maps[3][0]) for _ in range(2 if 3 in self.out_indices else 0)
        )
        self.learnable_downsample = nn.Identity()
        if last_map == 'downsample':
            if 3 in self.out_indices:
                self.learnable_downsample = nn.Conv2d(maps[3][0], last_channels, 3, stride=2, padding=1)
            maps[3] = last_channels, 32
        self.describe(maps)
        init_linear(self)
        self.freeze()

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        """Image (B, 3, H, W), any H and W from 16 on, to the chosen maps (B, C, H/stride, W/stride).

        FAN-Hybrid rounds sizes down, FAN-ViT up.
        """
        maps = self.trunk(image)
        if 3 in self.out_indices:
            for block in self.cls_attn_blocks:
                maps[3] = block(maps[3])
            maps[3] = convolve(self.learnable_downsample, maps[3])
        return tuple(maps[index].permute(0, 3, 1, 2).contiguous() for index in self.out_indices)

    def trunk(self, image: Tensor) -> dict[int, Tensor]:
        """Maps (B, H', W', C) before the class-attention blocks, by their index; the tokens after all blocks are 3."""
        if min(image.shape[-2:]) < 16:
            raise ValueError(f'FAN needs images of at least 16x16 pixels, got {tuple(image.shape)}')
        maps = self.patch_embed(image)
        if not self.blocks:
            return dict(enumerate(maps))
        *maps, x = maps
        maps = dict(enumerate(maps))
        x = x + self.pos_embed(x)
        for index, block in enumerate(self.blocks):
            x = run(block, x, self.with_cp)
            if index in self.taps:
                maps[self.taps[index]] = x
            x = block.downsample(x)
        return maps | {3: x}

    @torch.no_grad()
    def attention_maps(self, image: Tensor, blocks: Sequence[int] | None = None) -> dict[int, Tensor]:
        """Attention matrices (B, h, N, N) of the token mixing in ``blocks`` (all by default), for studies.

        Computed explicitly, beside the fused kernel of the forward pass: N is the number of tokens, so ask for few
        blocks of large images. Call it in evaluation mode: it runs the blocks.
        """
        wanted = range(len(self.blocks)) if blocks is None else blocks
        x, maps = self.patch_embed(image)[-1], {}
        x = x + self.pos_embed(x)
        for index, block in enumerate(self.blocks):
            if index in wanted:
                maps[index] = block.attn.attention_map(block.norm1(x))
            x = block.downsample(block(x))
        return maps

    def convert(self, weights: Mapping, prefix: str | None = None) -> Converted:
        return convert_fan(weights, len(self.arch.blocks()), prefix, dense=not hasattr(self, 'cls_token'))

    def frozen(self) -> list[nn.Module]:
        return [self.patch_embed, *([self.pos_embed] if self.blocks else []), *self.blocks[: self.frozen_stages]]


def init_linear(*networks: nn.Module) -> None:
    """Initial weights of all linear layers: truncated normal, std 0.02, and bias 0."""
    for network in networks:
        for module in network.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)


def _drop_path_rates(rate: float, schedule: str, depth: int) -> list[float]:
    if schedule not in ('constant', 'linear'):
        raise ValueError(f"drop_path_schedule must be 'constant' or 'linear', not {schedule!r}")
    return [rate if schedule == 'constant' else rate * index / max(depth - 1, 1) for index in range(depth)]
