"""Self-attention among tokens, and of the class token to all tokens (CaiT, Touvron et al. 2021)."""

import torch.nn.functional as F
from torch import Tensor, nn


def attention_matrix(q: Tensor, k: Tensor) -> Tensor:
    """softmax(q k^T / sqrt(d)) for q (..., M, d) and k (..., N, d): (..., M, N), rows sum to 1."""
    return (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(B, N, C) to (B, h, N, C/h), without a copy."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


class TokenMixing(nn.Module):
    """Multi-head self-attention among the H*W tokens of a map. (B, H, W, C) to (B, H, W, C)."""

    def __init__(self, dim: int, num_heads: int, qkv_bias: bool = True, attn_drop: float = 0.0, drop: float = 0.0):
        super().__init__()
        self.num_heads = num_heads
        self.attn_drop = attn_drop
        self.q = nn.Linear(dim, dim, bias=qkv_bias)
        self.kv = nn.Linear(dim, 2 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x: Tensor) -> Tensor:
        dropout = self.attn_drop if self.training else 0.0
        mixed = F.scaled_dot_product_attention(*self.queries_keys_values(x), dropout_p=dropout)  # (B, h, N, d)
        return self.drop(self.proj(mixed.transpose(1, 2).reshape(x.shape)))

    def queries_keys_values(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Each (B, h, N, d), from (B, H, W, C)."""
        x = x.flatten(1, 2)  # (B, N, C)
        return tuple(split_heads(part, self.num_heads) for part in (self.q(x), *self.kv(x).chunk(2, dim=-1)))

    def attention_map(self, x: Tensor) -> Tensor:
        """The attention matrix (B, h, N, N) that ``forward(x)`` applies, without dropout."""
        q, k, _ = self.queries_keys_values(x)
        return attention_matrix(q, k)


class ClassAttention(nn.Module):
    """Attention of the class token, token 0 of (B, 1+N, C), to all tokens. Gives (B, 1, C)."""

    def __init__(self, dim: int, num_heads: int, qkv_bias: bool = True, attn_drop: float = 0.0, drop: float = 0.0):
        super().__init__()
        self.num_heads = num_heads
        self.attn_drop = attn_drop
        self.q = nn.Linear(dim, dim, bias=qkv_bias)
        self.k = nn.Linear(dim, dim, bias=qkv_bias)
        self.v = nn.Linear(dim, dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x: Tensor) -> Tensor:
        dropout = self.attn_drop if self.training else 0.0
        mixed = F.scaled_dot_product_attention(*self.queries_keys_values(x), dropout_p=dropout)  # (B, h, 1, d)
        return self.drop(self.proj(mixed.transpose(1, 2).flatten(2)))

    def queries_keys_values(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, h, 1, d) of the class token, keys and values (B, h, 1+N, d) of all."""
        return tuple(split_heads(part, self.num_heads) for part in (self.q(x[:, :1]), self.k(x), self.v(x)))

    def attention_map(self, x: Tensor) -> Tensor:
        """The attention (B, h, 1, 1+N) that ``forward(x)`` applies, without dropout."""
        q, k, _ = self.queries_keys_values(x)
        return attention_matrix(q, k)
