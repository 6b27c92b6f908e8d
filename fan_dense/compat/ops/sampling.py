"""Bilinear sampling as in RoIAlign: fractional points, their four pixels, averages and maxima over the grid of a bin.

Maps are read as rows of channels (N H W, C), so that one weighted sum over a few rows is one output vector, and a
fused gather (``embedding_bag``) does a whole layer without the samples in memory.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional


def pixel_rows(input: Tensor) -> Tensor:
    """(N, C, H, W) -> (N H W, C)"""
    return input.permute(0, 2, 3, 1).reshape(-1, input.shape[1])


def bilinear_taps(y: Tensor, x: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """The four pixels y width + x (..., 4) of each point (...) and their weights (..., 4).

    Points within a pixel of the map are moved onto it, those further out (or nan) weigh nothing.
    """
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    rows, row_weights = _neighbours(y.where(inside, 0), height)
    columns, column_weights = _neighbours(x.where(inside, 0), width)
    index = rows[..., :, None] * width + columns[..., None, :]  # ..., 2, 2
    weight = row_weights[..., :, None] * column_weights[..., None, :] * inside[..., None, None]
    return index.flatten(-2), weight.flatten(-2)


def _neighbours(position: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """The whole numbers on both sides (..., 2), within the map, and their weights (..., 2)."""
    position = position.clamp(0, length - 1)
    low = position.detach().floor()
    fraction = position - low
    index = torch.stack([low, (low + 1).clamp(max=length - 1)], -1).long()
    return index, torch.stack([1 - fraction, fraction], -1)


def sample(rows: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    """Weighted sums (..., C) of the rows (..., K)."""
    sums = functional.embedding_bag(
        index.flatten(0, -2), rows, mode='sum', per_sample_weights=weight.flatten(0, -2).to(rows)
    )
    return sums.view(*index.shape[:-1], rows.shape[1])


def scatter_taps(grad_input: Tensor, grad: Tensor, batch: Tensor, y: Tensor, x: Tensor) -> None:
    """Add ``grad`` (R, C, ...), each value sampled at its own point y, x of image ``batch`` (R,), to ``grad_input``."""
    channels, height, width = grad_input.shape[1:]
    index, weight = bilinear_taps(y, x, height, width)  # R, C, ..., 4
    plane = batch[:, None] * channels + torch.arange(channels, device=batch.device)  # R, C
    index = index + (plane * height * width).view(*plane.shape, *[1] * (index.dim() - 2))
    flat = torch.zeros(grad_input.numel(), dtype=weight.dtype, device=weight.device)
    flat.index_add_(0, index.flatten(), (grad[..., None] * weight).flatten())
    grad_input.add_(flat.view(grad_input.shape))


def grid_size(extent: Tensor, bins: int, sampling_ratio: int) -> Tensor:
    """Samples along one side of a bin (R,): ``sampling_ratio``, or one per pixel (rounded in float32) if that is 0."""
    if sampling_ratio > 0:
        return torch.full_like(extent, sampling_ratio, dtype=torch.long)
    return (extent / bins).float().ceil().long().clamp(min=0)


class BinPoints(NamedTuple):
    """The T sample points of all bins of all RoIs, bin after bin and row by row.

    ``roi``, ``row``, ``column`` (T,) name the bin, ``step_y``, ``step_x`` (T,) the point in it, ``first`` (B,) is the
    first point of each bin, ``count`` (B,) the number of its points, at least 1.
    """

    roi: Tensor
    row: Tensor
    column: Tensor
    step_y: Tensor
    step_x: Tensor
    first: Tensor
    count: Tensor


def bin_points(grid_h: Tensor, grid_w: Tensor, pooled_height: int, pooled_width: int) -> BinPoints:
    """Sample points for grids of ``grid_h`` x ``grid_w`` (R,) in each of ``pooled_height`` x ``pooled_width`` bins."""
    bins = pooled_height * pooled_width
    count = (grid_h * grid_w).repeat_interleave(bins)  # R bins
    first = count.cumsum(0) - count
    point = torch.arange(len(count), device=count.device).repeat_interleave(count)  # T
    step = torch.arange(len(point), device=count.device) - first[point]
    roi = point // bins
    row, column = point % bins // pooled_width, point % pooled_width
    return BinPoints(roi, row, column, step // grid_w[roi], step % grid_w[roi], first, count.clamp(min=1))


def average_over_bins(
    input: Tensor, batch: Tensor, points: BinPoints, y: Tensor, x: Tensor, size: tuple[int, int]
) -> Tensor:
    """Mean (R, C, *size) over the points y, x (T,) of each bin, in image ``batch`` (R,) of ``input`` (N, C, H, W)."""
    channels, height, width = input.shape[1:]
    index, weight = bilinear_taps(y, x, height, width)  # T, 4
    index = index + (batch[points.roi] * height * width)[:, None]
    sums = functional.embedding_bag(
        index.flatten(),
        pixel_rows(input),
        4 * points.first,
        mode='sum',
        per_sample_weights=weight.flatten().to(input),
    )
    means = sums / points.count[:, None]  # B, C
    return means.view(len(batch), *size, channels).permute(0, 3, 1, 2)


def first_maximum(
    grid_h: Tensor, grid_w: Tensor, channels: int, value_at: Callable[[Tensor, int, int], Tensor], dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """Largest of the ``grid_h`` x ``grid_w`` (B,) values of each bin, and its row and column in the grid, all (B, C).

    ``value_at(bins, step_y, step_x)`` gives the values (A, C) of the bins (A,) at one position of the grid. The first
    of equal values wins. A bin without values gives 0 at row and column -1.
    """
    best = torch.full((len(grid_h), channels), -torch.inf, dtype=dtype, device=grid_h.device)
    row, column = (torch.full_like(best, -1, dtype=torch.long) for _ in range(2))
    for step_y in range(int(grid_h.max()) if len(grid_h) else 0):
        for step_x in range(int(grid_w.max())):
            bins = ((step_y < grid_h) & (step_x < grid_w)).nonzero()[:, 0]
            value = value_at(bins, step_y, step_x)
            better = (value > best[bins]) | value.isnan()
            best[bins] = torch.where(better, value, best[bins])
            row[bins] = torch.where(better, step_y, row[bins])
            column[bins] = torch.where(better, step_x, column[bins])
    return best.where(row >= 0, 0), row, column
