"""FAN as the ImageNet classifier it was published as."""

from collections.abc import Mapping

import torch
from mmengine.registry import MODELS
from torch import Tensor, nn

from .fan import FAN, init_linear
from .layers.block import ClassAttentionBlock
from .layers.conv import BN


@MODELS.register_module()
class FANClassifier(FAN):
    """Image (B, 3, H, W) to logits (B, ``num_classes``), through both class-attention blocks in full.

    Args:
        arch: As in :class:`FAN`.
        num_classes: Classes.
        head_init_scale: Factor on the initial weights of the head. 0.001 in the published training of hybrid-large.
        in_channels: As in :class:`FAN`.
        pos_floor: As in :class:`FAN`, but on by default: the classifiers were published with it.
        drop_rate: As in :class:`FAN`.
        attn_drop_rate: As in :class:`FAN`.
        drop_path_rate: As in :class:`FAN`.
        drop_path_schedule: As in :class:`FAN`.
        norm_cfg: As in :class:`FAN`.
        norm_eval: As in :class:`FAN`.
        frozen_stages: As in :class:`FAN`.
        with_cp: As in :class:`FAN`.
        init_cfg: As in :class:`FAN`.
        **changes: As in :class:`FAN`.
    """

    def __init__(
        self,
        arch: str | Mapping = 'hybrid-small',
        num_classes: int = 1000,
        head_init_scale: float = 1.0,
        in_channels: int = 3,
        pos_floor: bool = True,
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
        super().__init__(
            arch,
            in_channels,
            out_indices=(3,),
            pos_floor=pos_floor,
            drop_rate=drop_rate,
            attn_drop_rate=attn_drop_rate,
            drop_path_rate=drop_path_rate,
            drop_path_schedule=drop_path_schedule,
            norm_cfg=norm_cfg,
            norm_eval=norm_eval,
            frozen_stages=frozen_stages,
            with_cp=with_cp,
            init_cfg=init_cfg,
            **changes,
        )
        dim, heads = self.arch.blocks()[-1]
        self.cls_token = nn.Parameter(nn.init.trunc_normal_(torch.empty(1, 1, dim), std=0.02))
        self.cls_attn_blocks = nn.ModuleList(
            ClassAttentionBlock(dim, heads, self.arch.mlp_ratio, self.arch.qkv_bias, drop_rate, attn_drop_rate)
            for _ in self.cls_attn_blocks
        )
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.head = nn.Linear(dim, num_classes)
        init_linear(self.cls_attn_blocks, self.head)
        self.head.weight.data.mul_(head_init_scale)

    def forward(self, image: Tensor) -> Tensor:
        return self.head(self.pool(self.forward_features(image)))

    def forward_features(self, image: Tensor) -> Tensor:
        """The class token and the patch tokens, normalised: (B, 1+N, C)."""
        x = self.trunk(image)[3].flatten(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1)  # (B, 1+N, C)
        for block in self.cls_attn_blocks:
            x = block(x)
        return self.norm(x)

    @staticmethod
    def pool(x: Tensor) -> Tensor:
        """What the head sees, (B, C), of these."""
        return x[:, 0]
