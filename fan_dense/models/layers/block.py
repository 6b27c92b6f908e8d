"""FAN block, and the class-attention block in its two uses: whole for classification, patch tokens for dense maps."""

import torch
from torch import Tensor, nn
from torchvision.ops import StochasticDepth

from .attention import ClassAttention, TokenMixing
from .channel import CHANNEL_PROCESSING, Mlp
from .conv import BN, Downsample


class FANBlock(nn.Module):
    """Token mixing, then channel processing, both residual. (B, H, W, C) to (B, H, W, C).

    Args:
        dim: Channels C.
        num_heads: Heads of the token mixing.
        out_dim: Channels of the next block. If they differ, ``downsample``, to be applied after the block, leads there.
        channel: Name of the channel processing, a key of :data:`CHANNEL_PROCESSING`.
        channel_heads: Its heads. Default: ``num_heads``.
        mlp_ratio: Hidden channels of its MLP, as a multiple of C.
        qkv_bias: Biases of query, key and value projections.
        drop: Dropout of projection and MLP.
        attn_drop: Dropout of the attention weights.
        drop_path: Probability of dropping a branch, per image.
        norm_cfg: Normalisation in the MLP.
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        out_dim: int | None = None,
        channel: str = 'eca',
        channel_heads: int | None = None,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = True,
        drop: float = 0.0,
        attn_drop: float = 0.0,
        drop_path: float = 0.0,
        norm_cfg: dict = BN,
    ):
        super().__init__()
        self.gamma1 = nn.Parameter(torch.ones(dim))
        self.gamma2 = nn.Parameter(torch.ones(dim))
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = TokenMixing(dim, num_heads, qkv_bias, attn_drop, drop)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = CHANNEL_PROCESSING[channel](
            dim, channel_heads or num_heads, int(dim * mlp_ratio), qkv_bias, attn_drop, drop, norm_cfg
        )
        self.drop_path = StochasticDepth(drop_path, mode='row')
        self.downsample = nn.Identity() if out_dim in (None, dim) else Downsample(dim, out_dim)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop_path(self.gamma1 * self.attn(self.norm1(x)))
        return x + self.drop_path(self.gamma2 * self.mlp(self.norm2(x)))


class PatchTokenBlock(nn.Module):
    """What a class-attention block does to the patch tokens (..., C), which never see the class token.

    NOTE The normalised tokens are added to themselves, twice: the checkpoints were trained so. Dense networks have
    this part only, as the rest would be parameters without gradients.
    """

    def __init__(self, dim: int, eta: float | None = 1.0):
        super().__init__()
        self.gamma1 = 1.0 if eta is None else nn.Parameter(torch.full((dim,), eta))
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        return 2 * self.norm2(x + self.gamma1 * self.norm1(x))


class ClassAttentionBlock(PatchTokenBlock):
    """Class attention and an MLP on the class token, token 0 of (B, 1+N, C). As in CaiT, but for the patch tokens.

    Args:
        dim: Channels C.
        num_heads: Heads.
        mlp_ratio: Hidden channels of the MLP, as a multiple of C.
        qkv_bias: Biases of query, key and value projections.
        drop: Dropout of projection and MLP.
        attn_drop: Dropout of the attention weights.
        eta: Initial layer scale; None for none.
        tokens_norm: The second norm covers all tokens (the published networks) or the class token alone.
    """

    def __init__(
        self, dim, num_heads, mlp_ratio=4.0, qkv_bias=True, drop=0.0, attn_drop=0.0, eta=1.0, tokens_norm=True
    ):
        super().__init__(dim, eta)
        self.tokens_norm = tokens_norm
        self.gamma2 = 1.0 if eta is None else nn.Parameter(torch.full((dim,), eta))
        self.attn = ClassAttention(dim, num_heads, qkv_bias, attn_drop, drop)
        self.mlp = Mlp(dim, int(dim * mlp_ratio), drop)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(x)
        cls, patches = (x + self.gamma1 * torch.cat([self.attn(y), y[:, 1:]], 1)).split([1, x.shape[1] - 1], 1)
        cls, patches = self.norm2(cls), self.norm2(patches) if self.tokens_norm else patches
        return torch.cat([cls + self.gamma2 * self.mlp(cls), 2 * patches], 1)
