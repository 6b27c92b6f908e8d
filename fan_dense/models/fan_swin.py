"""FAN-Swin as a backbone: a Swin transformer whose MLPs are FAN's channel processing (arXiv 2204.12451).

Published as a classifier of 224x224 images. Here any size goes: windows are padded at run time, which channel
processing does not see, since it works on the map and not on windows. Parameter names are the published ones.
"""

import dataclasses
from collections.abc import Mapping, Sequence

from mmengine.registry import MODELS
from torch import Tensor, nn
from torchvision.ops import StochasticDepth

from .backbone import Backbone
from .conversion_swin import convert_swin
from .fan import init_linear
from .layers.channel import ECAProcessing, Mlp
from .layers.checkpoint import run
from .layers.conv import BN
from .layers.window import PatchEmbed, PatchMerging, WindowAttention
from .loading import Converted
from .table import read_arch

TINY = dict(embed_dims=96, depths=(2, 2, 6, 2), num_heads=(3, 6, 12, 24))
ARCHS = {
    'tiny': TINY,
    'small': dict(embed_dims=96, depths=(2, 2, 18, 2), num_heads=(3, 6, 12, 24)),
    'base': dict(embed_dims=128, depths=(2, 2, 18, 2), num_heads=(4, 8, 16, 32)),
    'large': dict(embed_dims=192, depths=(2, 2, 18, 2), num_heads=(6, 12, 24, 48)),
    # As in the published segmentation code, where no config uses it and no checkpoint fits it.
    'tiny-seg': dict(TINY, channel_heads=8, mlp_residual=True, shift_single=True),
}


@dataclasses.dataclass(frozen=True)
class FANSwinArch:
    """Shape of a FAN-Swin.

    Attributes:
        embed_dims: Channels of the first stage; each of the others has twice those of the one before.
        depths: Blocks of each stage. The windows of every other block are shifted by half.
        num_heads: Heads of the window attention in each stage; they divide its channels.
        window_size: Side of the windows.
        mlp_ratio: Hidden channels of the MLPs, as a multiple of the stage's.
        channel_heads: Heads of the channel processing in all stages. None: as ``num_heads``.
        mlp_residual: Whether the convolutions in the channel processing's MLP are added to their input.
        shift_single: As in :class:`~fan_dense.models.layers.window.WindowAttention`.
    """

    embed_dims: int
    depths: tuple[int, ...]
    num_heads: tuple[int, ...]
    window_size: int = 7
    mlp_ratio: float = 4.0
    channel_heads: int | None = None
    mlp_residual: bool = False
    shift_single: bool = False

    def __post_init__(self):
        if len(self.depths) != len(self.num_heads):
            raise ValueError(f'FAN-Swin arch: depths and num_heads must be equally long: {self}')
        for dim, heads in zip(self.dims, self.num_heads):
            for count in (heads, self.channel_heads or heads):
                if dim % count:
                    raise ValueError(f'FAN-Swin arch: {count} heads do not divide {dim} channels')

    @property
    def dims(self) -> list[int]:
        """Channels of each stage."""
        return [self.embed_dims * 2**stage for stage in range(len(self.depths))]


class FANSwinBlock(nn.Module):
    """Window attention, then channel processing or an MLP, both residual. (B, H, W, C) to (B, H, W, C).

    Args:
        dim: Channels C.
        attn: The window attention.
        mlp: The channel processing or MLP.
        drop_path: Probability of dropping a branch, per image.
    """

    def __init__(self, dim: int, attn: nn.Module, mlp: nn.Module, drop_path: float = 0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = attn
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = mlp
        self.drop_path = StochasticDepth(drop_path, mode='row')

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop_path(self.attn(self.norm1(x)))
        return x + self.drop_path(self.mlp(self.norm2(x)))


class FANSwinStage(nn.Module):
    """Blocks, then ``downsample``, to be applied after the map is taken. (B, H, W, C) to (B, H, W, C)."""

    def __init__(self, blocks: Sequence[nn.Module], downsample: nn.Module, with_cp: bool = False):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.downsample = downsample
        self.with_cp = with_cp

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = run(block, x, self.with_cp)
        return x


@MODELS.register_module()
class FANSwin(Backbone):
    """FAN-Swin. Map i, of which ``out_indices`` are given, is stage i's output after a LayerNorm of its own.

    Maps are at 1/4, 1/8, 1/16 and 1/32 of the image; sizes round up. Stages that no map depends on do not exist.
    ``out_channels`` and ``out_strides`` describe the maps in the order they are given.

    Args:
        arch: A name of :data:`ARCHS`, or a dict with the keys of :class:`FANSwinArch`.
        in_channels: Channels of the image.
        out_indices: The maps to give.
        drop_rate: Dropout of patches, projections and MLPs.
        attn_drop_rate: Dropout of attention weights.
        drop_path_rate: Probability of dropping a residual branch of the last block, per image. It grows linearly from
            0 in the first.
        norm_cfg: The BatchNorm layers in the MLPs, for instance ``dict(type='SyncBN')``.
        norm_eval: Keep these in evaluation mode while training.
        frozen_stages: -1 for nothing; 0 to freeze the patch embedding; n for the first n stages and their norms as
            well. What is frozen stays in evaluation mode.
        with_cp: Recompute blocks in the backward pass rather than keep their activations.
        init_cfg: ``dict(type='Pretrained', checkpoint=...)`` loads the published classifiers, and of a Swin from timm,
            its authors, mmdet or mmseg what it has in common with this network.
        **changes: Keys of :class:`FANSwinArch` that differ from ``arch``.

    Raises:
        ValueError: for an unknown arch, key or value, in one line.
    """

    def __init__(
        self,
        arch: str | Mapping = 'tiny',
        in_channels: int = 3,
        out_indices: Sequence[int] = (0, 1, 2, 3),
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.2,
        norm_cfg: dict = BN,
        norm_eval: bool = False,
        frozen_stages: int = -1,
        with_cp: bool = False,
        init_cfg: dict | list | None = None,
        **changes,
    ):
        row = read_arch('FAN-Swin', arch, ARCHS, FANSwinArch, **changes)
        stages = len(row.depths)
        super().__init__(out_indices, stages, frozen_stages, stages, norm_eval, init_cfg)
        self.arch = row
        last = max(self.out_indices)
        self.patch_embed = PatchEmbed(row.embed_dims, in_channels=in_channels)
        self.pos_drop = nn.Dropout(drop_rate)

        def build_block(stage: int, index: int) -> nn.Module:
            dim, heads, hidden_dim = row.dims[stage], row.num_heads[stage], int(row.dims[stage] * row.mlp_ratio)
            size, shift = row.window_size, row.window_size // 2 if index % 2 else 0
            attn = WindowAttention(dim, heads, size, shift, row.shift_single, attn_drop_rate, drop_rate)
            if stage < stages - 1:
                options = dict(attn_drop=attn_drop_rate, drop=drop_rate, norm_cfg=norm_cfg, residual=row.mlp_residual)
                mlp = ECAProcessing(dim, row.channel_heads or heads, hidden_dim, **options)
            else:  # NOTE the last stage is a plain Swin: published so
                mlp = Mlp(dim, hidden_dim, drop_rate)
            depth = sum(row.depths[:stage]) + index
            return FANSwinBlock(dim, attn, mlp, drop_path_rate * depth / max(sum(row.depths) - 1, 1))

        self.layers = nn.ModuleList(
            FANSwinStage(
                [build_block(stage, index) for index in range(row.depths[stage])],
                PatchMerging(row.dims[stage]) if stage < last else nn.Identity(),
                with_cp,
            )
            for stage in range(last + 1)
        )
        for index in self.out_indices:
            self.add_module(f'norm{index}', nn.LayerNorm(row.dims[index]))
        self.describe([(dim, 4 * 2**stage) for stage, dim in enumerate(row.dims)])
        init_linear(self)
        self.freeze()

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        """Image (B, 3, H, W), any H and W, to the chosen maps (B, C, H/stride, W/stride)."""
        maps = self.trunk(image)
        normed = (self.get_submodule(f'norm{index}')(maps[index]) for index in self.out_indices)
        return tuple(x.permute(0, 3, 1, 2).contiguous() for x in normed)

    def trunk(self, image: Tensor) -> list[Tensor]:
        """Each stage's tokens (B, H', W', C), without norms."""
        x = self.pos_drop(self.patch_embed(image))
        maps = []
        for stage in self.layers:
            maps.append(x := stage(x))
            x = stage.downsample(x)
        return maps

    def convert(self, weights: Mapping, prefix: str | None = None) -> Converted:
        return convert_swin(weights, self.arch.depths, prefix, dense=not hasattr(self, 'head'))

    def frozen(self) -> list[nn.Module]:
        norms = (getattr(self, f'norm{stage}', None) for stage in range(self.frozen_stages))
        return [self.patch_embed, *self.layers[: self.frozen_stages], *filter(None, norms)]


@MODELS.register_module()
class FANSwinClassifier(FANSwin):
    """Image (B, 3, H, W) to logits (B, ``num_classes``): a linear layer on the mean of the last tokens, normalised.

    Args:
        arch: As in :class:`FANSwin`.
        num_classes: Classes.
        **kwargs: As in :class:`FANSwin`, except ``out_indices``.
    """

    def __init__(self, arch: str | Mapping = 'tiny', num_classes: int = 1000, **kwargs):
        super().__init__(arch, out_indices=(-1,), **kwargs)
        last = f'norm{self.out_indices[0]}'
        self.norm = self.get_submodule(last)
        delattr(self, last)
        self.head = nn.Linear(self.arch.dims[-1], num_classes)
        init_linear(self.head)

    def forward(self, image: Tensor) -> Tensor:
        return self.head(self.pool(self.forward_features(image)))

    def forward_features(self, image: Tensor) -> Tensor:
        """The last tokens, normalised: (B, H/32, W/32, C)."""
        return self.norm(self.trunk(image)[-1])

    @staticmethod
    def pool(x: Tensor) -> Tensor:
        """What the head sees, (B, C), of these."""
        return x.mean((1, 2))
