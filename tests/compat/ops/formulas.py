"""Definitions of the operators, one point at a time, in float64: what the vectorised code is compared with."""

import math
from itertools import product

import torch
from torch import Tensor

Plane = list[list[float]]


def clamped_bilinear(plane: Plane, y: float, x: float) -> float:
    """RoIAlign's sample: 0 beyond one pixel outside the plane (H, W), else the point moved onto it."""
    height, width = len(plane), len(plane[0])
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    return padded_bilinear(plane, min(max(y, 0), height - 1), min(max(x, 0), width - 1))


def padded_bilinear(plane: Plane, y: float, x: float) -> float:
    """Sample of a plane (H, W) that is 0 outside."""
    height, width = len(plane), len(plane[0])
    top, left = math.floor(y), math.floor(x)
    total = 0.0
    for i, j in product((top, top + 1), (left, left + 1)):
        if 0 <= i < height and 0 <= j < width:
            total += plane[i][j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return total


def grid(extent: float, bins: int, sampling_ratio: int) -> int:
    """Samples along one side of a bin."""
    return sampling_ratio if sampling_ratio > 0 else max(math.ceil(extent / bins), 0)


def pooled(input: Tensor, images, bin_points, size: tuple[int, int], reduce) -> Tensor:
    """``reduce`` of the clamped samples of each bin; ``bin_points(roi, row, column)`` lists its points y, x."""
    planes = input.tolist()
    output = torch.zeros(len(images), input.shape[1], *size, dtype=torch.float64)
    for roi, channel, row, column in product(*map(range, output.shape)):
        plane = planes[int(images[roi])][channel]
        output[roi, channel, row, column] = reduce(
            [clamped_bilinear(plane, y, x) for y, x in bin_points(roi, row, column)]
        )
    return output


def mean(values: list[float]) -> float:
    """Mean, 0 of nothing."""
    return sum(values) / max(len(values), 1)


def spread(start: float, length: float, points: int) -> list[float]:
    """Points in the middle of ``points`` equal parts of [start, start + length]."""
    return [start + (i + 0.5) * length / points for i in range(points)]
