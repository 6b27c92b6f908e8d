"""Convolutions on (B, H, W, C) maps.

A (B, H, W, C) map seen as (B, C, H, W) is exactly torch's channels-last memory format: neither view copies anything,
and depth-wise convolutions are 2 to 8 times faster there on the CPU than on contiguous (B, C, H, W) maps.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BN = dict(type='BN')


def convolve(conv: nn.Module, x: Tensor) -> Tensor:
    """Apply a module that works on (B, C, H, W) to a map (B, H, W, C)."""
    return conv(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


def build_norm2d(norm_cfg: dict, channels: int) -> nn.Module:
    """A normalisation layer of OpenMMLab's registry for (B, C, H, W) maps, ``dict(type='BN')`` for instance."""
    from mmcv.cnn import build_norm_layer  # mmcv imports mmengine, which imports this package

    return build_norm_layer(norm_cfg, channels)[1]


class PointwiseConv(nn.Conv2d):
    """1x1 convolution of the last axis of (..., C). The weights are (C_out, C, 1, 1), as in the checkpoints."""

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__(in_channels, out_channels, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight.flatten(1), self.bias)


class SampleVarianceNorm(nn.LayerNorm):
    """LayerNorm of the last axis whose variance divides by C - 1 instead of C.

    NOTE The released FAN-Hybrid networks compute it so in all ConvNeXt layers but the stem: their implementation
    (timm 0.5's LayerNorm2d) took the unbiased variance wherever its input was laid out channels-last. With 128
    channels it is 0.4 % off the usual one.
    """

    def forward(self, x: Tensor) -> Tensor:
        shrink = (x.shape[-1] - 1) / x.shape[-1]
        return F.layer_norm(x, self.normalized_shape, self.weight * shrink**0.5, self.bias, self.eps * shrink)


class DepthwiseConvs(nn.Module):
    """3x3 depth-wise convolution, GELU, BatchNorm, 3x3 depth-wise convolution. (B, H, W, C) to (B, H, W, C)."""

    def __init__(self, channels: int, norm_cfg: dict = BN):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.bn = build_norm2d(norm_cfg, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        for conv in (self.conv1, self.conv2):
            nn.init.normal_(conv.weight, std=math.sqrt(2 / 9))  # fan_out of a depth-wise 3x3 is 9
            nn.init.zeros_(conv.bias)

    def forward(self, x: Tensor, gamma: Tensor | None = None) -> Tensor:
        """``gamma`` (C,) scales the output. It goes into the last convolution: a pass over the map less."""
        x = self.bn(F.gelu(self.conv1(x.permute(0, 3, 1, 2))))
        weight, bias = self.conv2.weight, self.conv2.bias
        if gamma is not None:
            weight, bias = weight * gamma[:, None, None, None], bias * gamma
        return F.conv2d(x, weight, bias, padding=1, groups=len(bias)).permute(0, 2, 3, 1)


class Downsample(nn.Module):
    """3x3 stride-2 convolution and LayerNorm between two widths. (B, H, W, C) to (B, H/2, W/2, C_out), rounded up."""

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.proj = nn.Conv2d(in_channels, out_channels, 3, stride=2, padding=1)
        self.norm = nn.LayerNorm(out_channels)  # NOTE eps 1e-5 here, 1e-6 in the blocks: checkpoints were trained so

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(convolve(self.proj, x))


class SqueezeExcite(nn.Module):
    """Gate the channels of (B, H, W, C) by a two-layer network of their means."""

    def __init__(self, channels: int, ratio: float = 0.25):
        super().__init__()
        self.conv_reduce = PointwiseConv(channels, int(channels * ratio + 0.5))
        self.conv_expand = PointwiseConv(int(channels * ratio + 0.5), channels)
        for conv in (self.conv_reduce, self.conv_expand):
            nn.init.kaiming_normal_(conv.weight, mode='fan_out')
            nn.init.zeros_(conv.bias)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.conv_expand(F.relu(self.conv_reduce(x.mean((1, 2), keepdim=True))))  # (B, 1, 1, C)
        return x * torch.sigmoid(gate)
