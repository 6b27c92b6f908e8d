"""From the image to tokens: a stack of strided convolutions (FAN-ViT), or two ConvNeXt stages (FAN-Hybrid)."""

import itertools
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .checkpoint import run
from .conv import BN, PointwiseConv, SampleVarianceNorm, build_norm2d, convolve


class ConvStem(nn.Module):
    """3x3 stride-2 convolutions, each with BatchNorm, and GELU between them (as in XCiT).

    Args:
        patch_size: 4, 8 or 16, the stride of the tokens. Odd sizes round up at each convolution.
        embed_dim: Channels C of the tokens.
        in_channels: Channels of the image.
        norm_cfg: Normalisation layers.
    """

    def __init__(self, patch_size: int, embed_dim: int, in_channels: int = 3, norm_cfg: dict = BN):
        super().__init__()
        parts = {16: (8, 4, 2, 1), 8: (4, 2, 1), 4: (4, 1)}[patch_size]
        widths = [in_channels, *(embed_dim // part for part in parts)]
        layers = []
        for narrow, wide in itertools.pairwise(widths):
            conv = nn.Conv2d(narrow, wide, 3, stride=2, padding=1, bias=False)
            layers += [nn.Sequential(conv, build_norm2d(norm_cfg, wide)), nn.GELU()]
        self.proj = nn.Sequential(*layers[:-1])

    def forward(self, image: Tensor) -> list[Tensor]:
        """(B, 3, H, W) to the tokens, [(B, H/16, W/16, C)]."""
        return [self.proj(image.contiguous(memory_format=torch.channels_last)).permute(0, 2, 3, 1)]


class HybridStem(nn.Module):
    """The first stages of a ConvNeXt and a 2x2 stride-2 convolution to tokens. All sizes round down.

    Args:
        depths: Blocks of each stage.
        dims: Channels of each stage.
        embed_dim: Channels of the tokens; None to stop before them.
        in_channels: Channels of the image.
        with_cp: Recompute the blocks in the backward pass instead of keeping their activations.
    """

    def __init__(
        self,
        depths: Sequence[int],
        dims: Sequence[int],
        embed_dim: int | None,
        in_channels: int = 3,
        with_cp: bool = False,
    ):
        super().__init__()
        self.backbone = ConvNeXt(depths, dims, in_channels, with_cp)
        self.proj = None if embed_dim is None else nn.Conv2d(dims[-1], embed_dim, 2, stride=2)

    def forward(self, image: Tensor) -> list[Tensor]:
        """(B, 3, H, W) to the map of each stage (1/4, 1/8) and the tokens (1/16), each (B, H', W', C)."""
        maps = self.backbone(image)
        return maps if self.proj is None else maps + [convolve(self.proj, maps[-1])]


class ConvNeXt(nn.Module):
    """Stages of a ConvNeXt (Liu et al. 2022), without norms on the outputs."""

    def __init__(self, depths: Sequence[int], dims: Sequence[int], in_channels: int = 3, with_cp: bool = False):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(in_channels, dims[0], 4, stride=4), nn.LayerNorm(dims[0], eps=1e-6))
        widths = [None, *dims]
        self.stages = nn.ModuleList(ConvNeXtStage(*args, with_cp) for args in zip(widths, dims, depths))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.trunc_normal_(module.weight, std=0.02)
                nn.init.zeros_(module.bias)

    def forward(self, image: Tensor) -> list[Tensor]:
        conv, norm = self.stem
        x = norm(conv(image.contiguous(memory_format=torch.channels_last)).permute(0, 2, 3, 1))
        maps = []
        for stage in self.stages:
            maps.append(x := stage(x))
        return maps


class ConvNeXtStage(nn.Module):
    """A LayerNorm and a 2x2 stride-2 convolution (not in the first stage), then blocks."""

    def __init__(self, in_channels: int | None, channels: int, depth: int, with_cp: bool = False):
        super().__init__()
        self.with_cp = with_cp
        if in_channels is not None:
            norm = SampleVarianceNorm(in_channels, eps=1e-6)
            self.downsample = nn.Sequential(norm, nn.Conv2d(in_channels, channels, 2, stride=2))
        else:
            self.downsample = None
        self.blocks = nn.ModuleList(ConvNeXtBlock(channels) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        if self.downsample is not None:
            norm, conv = self.downsample
            x = convolve(conv, norm(x))
        for block in self.blocks:
            x = run(block, x, self.with_cp)
        return x


class ConvNeXtBlock(nn.Module):
    """7x7 depth-wise convolution, LayerNorm, two 1x1 convolutions with GELU, layer scale; residual."""

    def __init__(self, dim: int, norm: type[nn.Module] = SampleVarianceNorm):
        super().__init__()
        self.gamma = nn.Parameter(torch.full((dim,), 1e-6))
        self.conv_dw = nn.Conv2d(dim, dim, 7, padding=3, groups=dim)
        self.norm = norm(dim, eps=1e-6)
        self.mlp = nn.ModuleDict(dict(fc1=PointwiseConv(dim, 4 * dim), fc2=PointwiseConv(4 * dim, dim)))

    def forward(self, x: Tensor) -> Tensor:
        y = F.gelu(self.mlp['fc1'](self.norm(convolve(self.conv_dw, x))))  # (B, H, W, 4C)
        return x + self.gamma * self.mlp['fc2'](y)
