"""Simple feature pyramid: maps of several strides from the last map of a plain transformer.

"Exploring Plain Vision Transformer Backbones for Object Detection" (ViTDet), arXiv 2203.16527.
"""

from collections.abc import Sequence

import torch.nn.functional as F
from mmengine.model import BaseModule
from mmengine.registry import MODELS
from torch import Tensor, nn
from torchvision.models.convnext import LayerNorm2d


@MODELS.register_module()
class SimpleFeaturePyramid(BaseModule):
    """Neck for FAN-ViT. From the last of the backbone's maps, at 1/16, maps at 1/4, 1/8, 1/16 and 1/32.

    Args:
        in_channels: Channels of the backbone's last map.
        out_channels: Channels of each map given.
        num_outs: Number of maps. Beyond four, each is the one before at every second pixel, as in mmdet's FPN.
        init_cfg: As in mmengine.
    """

    def __init__(self, in_channels: int, out_channels: int = 256, num_outs: int = 5, init_cfg: dict | None = None):
        super().__init__(init_cfg)
        if num_outs < 4:
            raise ValueError(f'SimpleFeaturePyramid gives at least 4 maps, num_outs is {num_outs}')
        half, quarter = in_channels // 2, in_channels // 4
        rescale = {
            4: [_upsample(in_channels, half), LayerNorm2d(half, eps=1e-6), nn.GELU(), _upsample(half, quarter)],
            8: [_upsample(in_channels, half)],
            16: [],
            32: [nn.MaxPool2d(2)],
        }
        widths = [quarter, half, in_channels, in_channels]
        self.num_outs = num_outs
        self.stages = nn.ModuleList(
            nn.Sequential(
                *layers,
                nn.Conv2d(width, out_channels, 1, bias=False),
                LayerNorm2d(out_channels, eps=1e-6),
                nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False),
                LayerNorm2d(out_channels, eps=1e-6),
            )
            for layers, width in zip(rescale.values(), widths)
        )

    def forward(self, maps: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Maps of the backbone, the last of them (B, C, H/16, W/16), to ``num_outs`` maps from 1/4 on."""
        pyramid = [stage(maps[-1]) for stage in self.stages]
        while len(pyramid) < self.num_outs:
            pyramid.append(F.max_pool2d(pyramid[-1], 1, stride=2))
        return tuple(pyramid)


def _upsample(in_channels: int, out_channels: int) -> nn.Module:
    return nn.ConvTranspose2d(in_channels, out_channels, 2, stride=2)
