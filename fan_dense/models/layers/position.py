"""Fourier position encoding, as in XCiT (El-Nouby et al. 2021, timm's models/xcit.py)."""

import functools
import math

import torch
from torch import Tensor, nn

from .conv import PointwiseConv


@functools.lru_cache(maxsize=32)  # a training run sees a handful of sizes, multi-scale testing a few dozen
def fourier_features(
    height: int,
    width: int,
    hidden_dim: int = 32,
    temperature: float = 10000.0,
    floor: bool = False,
    device: torch.device | str = 'cpu',
) -> Tensor:
    """Sines and cosines of row and column, in float32 as the published networks compute them.

    Positions count from 1 and are scaled to 2 pi at the last row or column. Feature i of a half has the frequency
    temperature^(-i/hidden_dim) and is a sine for even i, a cosine for odd i.

    Args:
        height: Rows H.
        width: Columns W.
        hidden_dim: Features of each half.
        temperature: Ratio of the highest frequency to the one after the lowest.
        floor: Odd features share the frequency of the even one before: the published classifiers (and so the
            checkpoints) do it, the published dense networks do not.
        device: Where the result lies.

    Returns:
        (H, W, 2 * hidden_dim): the row's features, then the column's. Shared by all callers: not to be written to.
    """
    with torch.inference_mode(False):  # or a first call in inference mode would break later training
        index = torch.arange(hidden_dim, dtype=torch.float32, device=device)
        period = temperature ** ((2 * (index // 2) if floor else index) / hidden_dim)

        def half(length: int) -> Tensor:
            position = torch.arange(1, length + 1, dtype=torch.float32, device=device)
            angle = (position / (position[-1] + 1e-6) * 2 * math.pi)[:, None] / period  # (length, hidden_dim)
            return torch.where(index % 2 == 0, angle.sin(), angle.cos())

        rows, columns = half(height), half(width)
        return torch.cat([rows[:, None].expand(-1, width, -1), columns.expand(height, -1, -1)], dim=-1)


class PositionEncoding(nn.Module):
    """Projects :func:`fourier_features` to ``dim`` channels. Gives (H, W, dim) for a map (B, H, W, dim).

    Args:
        dim: Channels.
        hidden_dim: As in :func:`fourier_features`.
        temperature: As in :func:`fourier_features`.
        floor: As in :func:`fourier_features`.
    """

    def __init__(self, dim: int, hidden_dim: int = 32, temperature: float = 10000.0, floor: bool = False):
        super().__init__()
        self.features = dict(hidden_dim=hidden_dim, temperature=temperature, floor=floor)
        self.token_projection = PointwiseConv(2 * hidden_dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        features = fourier_features(*x.shape[1:3], **self.features, device=x.device)
        return self.token_projection(features.to(self.token_projection.weight.dtype))
