"""SegFormer's head as it was published ("SegFormer: Simple and Efficient Design", arXiv 2105.15203, section 3.2).

Registered together with mmseg, and not imported by ``fan_dense.models``.
"""

from mmcv.cnn import ConvModule
from mmseg.models.decode_heads import SegformerHead
from mmseg.registry import MODELS
from torch import nn


@MODELS.register_module()
class LinearSegformerHead(SegformerHead):
    """mmseg's SegFormer head with linear projections, as in the paper, its Eq. 4.

    mmseg's own puts a norm and an activation behind the projection of each map, so that checkpoints of the published
    code, which have neither, cannot be loaded into it. Arguments are the same.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.convs = nn.ModuleList(ConvModule(dim, self.channels, 1, act_cfg=None) for dim in self.in_channels)
