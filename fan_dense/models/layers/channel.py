"""Channel processing: what takes the place of the MLP in a FAN block. One class a variant, chosen by name.

A variant is a module from (B, H, W, C) to (B, H, W, C). All are built with the same arguments: ``dim`` C, ``num_heads``
h, ``hidden_dim`` of the MLP, ``qkv_bias``, ``attn_drop`` of the channel weights, ``drop`` of the MLP, ``norm_cfg`` of
the normalisation between its convolutions.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .attention import split_heads
from .conv import BN, DepthwiseConvs, SqueezeExcite


class Mlp(nn.Module):
    """Two linear layers with GELU between them."""

    def __init__(self, dim: int, hidden_dim: int, drop: float = 0.0):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden_dim)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden_dim, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.fc2(self.drop(self.act(self.fc1(x)))))


class MlpProcessing(Mlp):
    """The MLP of an ordinary transformer: FAN without channel attention. Has no heads, queries or normalisation."""

    def __init__(self, dim, num_heads, hidden_dim, qkv_bias=True, attn_drop=0.0, drop=0.0, norm_cfg=BN):
        super().__init__(dim, hidden_dim, drop)


class FANMlp(nn.Module):
    """Two linear layers and, between them, depth-wise convolutions that hold the only non-linearity.

    Args:
        dim: Channels in and out.
        hidden_dim: Channels between.
        drop: Dropout after the convolutions and at the end.
        norm_cfg: Normalisation between the convolutions.
        residual: Add the convolutions to their input. NOTE FAN-Swin's published classifiers were trained without.
        linear: ReLU after the first layer (no published network has it).
    """

    def __init__(self, dim, hidden_dim, drop=0.0, norm_cfg=BN, residual=True, linear=False):
        super().__init__()
        self.residual = residual
        self.gamma = nn.Parameter(torch.ones(hidden_dim))
        self.fc1 = nn.Linear(dim, hidden_dim)
        self.act = nn.ReLU() if linear else nn.Identity()
        self.dwconv = DepthwiseConvs(hidden_dim, norm_cfg)
        self.fc2 = nn.Linear(hidden_dim, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.fc1(x))  # (B, H, W, rC)
        mixed = self.drop(self.dwconv(x, self.gamma))
        return self.drop(self.fc2(x + mixed if self.residual else mixed))


class SEProcessing(FANMlp):
    """The MLP, then squeeze-and-excitation (published as fan_small_12_p16_224_se_attn). Has no heads or queries."""

    def __init__(self, dim, num_heads, hidden_dim, qkv_bias=True, attn_drop=0.0, drop=0.0, norm_cfg=BN):
        super().__init__(dim, hidden_dim, drop, norm_cfg)
        self.se = SqueezeExcite(dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.se(super().forward(x))


def channel_gate(q: Tensor, x: Tensor, num_heads: int) -> Tensor:
    """One weight in (0, 1) a channel: sigmoid(softmax(q)^T k), with k the mean of softmax(x) over a head's channels.

    Both softmaxes are over the tokens. Linear in tokens and channels (paper, Eq. 7).

    Args:
        q: Queries (B, N, C).
        x: Tokens (B, N, C).
        num_heads: Heads h, which divide C.

    Returns:
        (B, h, C/h).
    """
    q = q.softmax(1).unflatten(-1, (num_heads, -1))  # (B, N, h, d)
    prototype = x.softmax(1).unflatten(-1, (num_heads, -1)).mean(-1, keepdim=True)  # (B, N, h, 1)
    return (q * prototype).sum(1).sigmoid()


class ECAProcessing(nn.Module):
    """Efficient channel attention: the MLP's output times one weight a channel and image (paper, Eq. 7).

    Args:
        dim: Channels C.
        num_heads: Heads h.
        hidden_dim: Channels inside the MLP.
        qkv_bias: Bias of the query projection.
        attn_drop: Dropout of the channel weights.
        drop: Dropout of the MLP.
        norm_cfg: Normalisation inside the MLP.
        residual: As in :class:`FANMlp`.
    """

    def __init__(self, dim, num_heads, hidden_dim, qkv_bias=True, attn_drop=0.0, drop=0.0, norm_cfg=BN, residual=True):
        super().__init__()
        self.num_heads = num_heads
        self.temperature = nn.Parameter(torch.ones(num_heads, 1, 1))
        self.mlp_v = FANMlp(dim, hidden_dim, drop, norm_cfg, residual)
        self.norm_v = nn.LayerNorm(dim)  # NOTE eps 1e-5 here, 1e-6 in the blocks: checkpoints were trained so
        self.q = nn.Linear(dim, dim, bias=qkv_bias)
        self.attn_drop = nn.Dropout(attn_drop)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.attn_drop(self.channel_weights(x)).flatten(1)[:, None, None]  # (B, 1, 1, C)
        return gate * self.norm_v(self.mlp_v(x))

    def channel_weights(self, x: Tensor) -> Tensor:
        """The weights (B, h, C/h) that ``forward(x)`` applies, without dropout."""
        tokens = x.flatten(1, 2)  # (B, N, C)
        return channel_gate(self.q(tokens), tokens, self.num_heads) * self.temperature.squeeze(-1)


def channel_attention(q: Tensor, k: Tensor, temperature: Tensor) -> Tensor:
    """softmax(temperature q^T k) for queries and keys (..., N, d), each channel scaled to length 1 over the tokens.

    As in XCiT (El-Nouby et al. 2021, Eq. 2). Gives (..., d, d); rows sum to 1.
    """
    return (F.normalize(q, dim=-2).transpose(-2, -1) @ F.normalize(k, dim=-2) * temperature).softmax(-1)


class CAProcessing(ECAProcessing):
    """Channel self-attention, which ECA is the efficient form of: each channel of the MLP's output becomes a mean of
    its head's channels, weighted by their likeness. Quadratic in the channels of a head; arguments as for ECA.
    """

    def __init__(self, dim, num_heads, hidden_dim, qkv_bias=True, attn_drop=0.0, drop=0.0, norm_cfg=BN):
        super().__init__(dim, num_heads, hidden_dim, qkv_bias, attn_drop, drop, norm_cfg)
        self.k = nn.Linear(dim, dim, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        v = split_heads(self.norm_v(self.mlp_v(x)).flatten(1, 2), self.num_heads)  # (B, h, N, d)
        # NOTE Not scaled_dot_product_attention: with d queries of length N, rather than the other way round, it is 1.2
        # to 2.2 times slower than this on the CPU, and the matrix that it would avoid is small.
        mixed = v @ self.attn_drop(self.channel_weights(x)).transpose(-2, -1)
        return mixed.transpose(1, 2).reshape(x.shape)

    def channel_weights(self, x: Tensor) -> Tensor:
        """The weights (B, h, C/h, C/h) that ``forward(x)`` applies, without dropout: a row for each channel given."""
        q, k = (split_heads(project(x.flatten(1, 2)), self.num_heads) for project in (self.q, self.k))
        return channel_attention(q, k, self.temperature)


CHANNEL_PROCESSING = {'eca': ECAProcessing, 'ca': CAProcessing, 'se': SEProcessing, 'mlp': MlpProcessing}
HEADLESS = ('se', 'mlp')
