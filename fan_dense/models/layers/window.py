"""Attention within windows of a map, shifted from block to block (Swin; Liu et al. 2021), on maps of any size."""

import functools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .conv import convolve


def split_windows(x: Tensor, size: int) -> Tensor:
    """(B, H, W, C) to windows (B, H/size * W/size, size * size, C), row-major in both."""
    x = x.unflatten(2, (-1, size)).unflatten(1, (-1, size))  # (B, rows, size, columns, size, C)
    return x.transpose(2, 3).flatten(3, 4).flatten(1, 2)


def join_windows(x: Tensor, size: int, width: int) -> Tensor:
    """Undo :func:`split_windows` for a map W wide: (B, H/size * W/size, size * size, C) to (B, H, W, C)."""
    x = x.unflatten(2, (size, size)).unflatten(1, (-1, width // size))  # (B, rows, columns, size, size, C)
    return x.transpose(2, 3).flatten(3, 4).flatten(1, 2)


def pad_to_multiple(x: Tensor, size: int) -> Tensor:
    """Zeros below and to the right of (B, H, W, C), so that ``size`` divides H and W."""
    _, height, width, _ = x.shape
    return F.pad(x, (0, 0, 0, -width % size, 0, -height % size)) if height % size or width % size else x


@functools.lru_cache(maxsize=8)
def relative_position_index(size: int, device: torch.device | str = 'cpu') -> Tensor:
    """Row of the bias table for each pair of pixels of a window: (size * size, size * size).

    Row (dy + size - 1) * (2 size - 1) + (dx + size - 1) belongs to pairs that are (dy, dx) apart. Shared by all
    callers: not to be written to.
    """
    with torch.inference_mode(False):  # or a first call in inference mode would break later training
        position = torch.arange(size * size, device=device)
        dy, dx = ((axis[:, None] - axis + size - 1) for axis in (position // size, position % size))
        return dy * (2 * size - 1) + dx


@functools.lru_cache(maxsize=32)  # four stages of a handful of image sizes, a byte for each pair of pixels
def shift_mask(
    height: int, width: int, size: int, shifts: tuple[int, int], device: torch.device | str = 'cpu'
) -> Tensor:
    """Pairs of pixels that a cyclic shift brought into one window from opposite borders of the map.

    Args:
        height: Rows of the map, a multiple of ``size``.
        width: Columns, a multiple of ``size``.
        size: Side of the windows.
        shifts: Rows up and columns to the left that the map was shifted by.
        device: Where the result lies.

    Returns:
        (windows, size * size, size * size), bool. Shared by all callers: not to be written to.
    """
    with torch.inference_mode(False):
        rows, columns = (
            torch.arange(length, device=device) >= length - shift for length, shift in zip((height, width), shifts)
        )
        origin = 2 * rows[:, None] + columns  # which border a pixel was brought in from: (H, W)
        origin = split_windows(origin[None, :, :, None], size)[0, :, :, 0]  # (windows, size * size)
        return origin[:, :, None] != origin[:, None]


class WindowAttention(nn.Module):
    """Self-attention within windows, with a bias by relative position. (B, H, W, C) to (B, H, W, C).

    A map that windows do not tile is padded below and to the right. As in the published dense networks, what is padded
    is zero before the projections, and takes part as keys and values.

    Args:
        dim: Channels C.
        num_heads: Heads h.
        size: Side of the windows.
        shift: Rows and columns that windows are moved by, against the grid that starts at the upper left corner.
        shift_single: Shift also along an axis that a single window covers. It only cuts the window in two, but the
            published dense network was defined so; the classifiers were trained without.
        attn_drop: Dropout of the attention weights.
        drop: Dropout of the projection.
    """

    def __init__(self, dim, num_heads, size=7, shift=0, shift_single=False, attn_drop=0.0, drop=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.size = size
        self.shift = shift
        self.shift_single = shift_single
        self.attn_drop = attn_drop
        self.relative_position_bias_table = nn.Parameter(torch.empty((2 * size - 1) ** 2, num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x: Tensor) -> Tensor:
        _, height, width, _ = x.shape
        x = pad_to_multiple(x, self.size)
        shifts = tuple(self.shift if self.shift_single or length > self.size else 0 for length in x.shape[1:3])
        if shifts == (0, 0):
            x = self.attend(x)
        else:
            mask = shift_mask(*x.shape[1:3], self.size, shifts, x.device)
            x = x.roll((-shifts[0], -shifts[1]), (1, 2))
            x = self.attend(x, mask).roll(shifts, (1, 2))
        return self.drop(self.proj(x[:, :height, :width]))

    def attend(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attention within the windows of (B, H, W, C) but for the pairs in ``mask`` (windows, N, N), N = size^2."""
        windows = split_windows(self.qkv(x), self.size)  # (B, windows, N, 3C)
        q, k, v = windows.unflatten(-1, (3, self.num_heads, -1)).permute(3, 0, 1, 4, 2, 5)  # (B, windows, h, N, d)
        bias = self.relative_position_bias_table[relative_position_index(self.size, x.device)].permute(2, 0, 1)
        if mask is not None:
            bias = (bias - 100 * mask[:, None].to(bias.dtype)).flatten(0, 1)  # (windows * h, N, N); 100 as published
        # fused kernels know four dimensions; the bias must not be copied for each image, nor where it is one for all
        together = (0, 1) if mask is None else (1, 2)
        mixed = F.scaled_dot_product_attention(
            *(part.flatten(*together) for part in (q, k, v)),
            attn_mask=bias[None],
            dropout_p=self.attn_drop if self.training else 0.0,
        )
        mixed = mixed.reshape(q.shape).transpose(2, 3).flatten(3)  # (B, windows, N, C)
        return join_windows(mixed, self.size, x.shape[2])


class PatchMerging(nn.Module):
    """Four neighbouring pixels to one with twice the channels. (B, H, W, C) to (B, H/2, W/2, 2C), rounded up."""

    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(4 * dim)
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = pad_to_multiple(x, 2).unflatten(2, (-1, 2)).unflatten(1, (-1, 2))  # (B, H/2, 2, W/2, 2, C)
        # NOTE by columns, as the checkpoints have it: (row, column) = (0, 0), (1, 0), (0, 1), (1, 1)
        return self.reduction(self.norm(x.permute(0, 1, 3, 4, 2, 5).flatten(3)))


class PatchEmbed(nn.Module):
    """Patches of the image to tokens. (B, 3, H, W) to (B, H/size, W/size, C), rounded up."""

    def __init__(self, dim: int, size: int = 4, in_channels: int = 3):
        super().__init__()
        self.size = size
        self.proj = nn.Conv2d(in_channels, dim, size, stride=size)
        self.norm = nn.LayerNorm(dim)

    def forward(self, image: Tensor) -> Tensor:
        image = pad_to_multiple(image.permute(0, 2, 3, 1), self.size)
        return self.norm(convolve(self.proj, image))
