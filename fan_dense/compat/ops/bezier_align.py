"""Average RoIAlign between two Bezier curves (Liu et al., ABCNet, 2020).

Shapes: input (N, C, H, W), beziers (R, 17) as image and the eight control points x, y before scaling (the upper curve
from left to right, the lower from right to left), output (R, C, aligned_height, aligned_width).
"""

import torch
from torch import Tensor

from fan_dense.compat.ops.common import at_least_float32, float32, gradients
from fan_dense.compat.ops.sampling import average_over_bins, bin_points, grid_size


def bezier_align_forward(
    input: Tensor,
    beziers: Tensor,
    output: Tensor,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> None:
    """Fill ``output``."""
    output.copy_(_pool(input, beziers, aligned_height, aligned_width, spatial_scale, sampling_ratio, aligned))


def bezier_align_backward(
    grad_output: Tensor,
    beziers: Tensor,
    grad_input: Tensor,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> None:
    """Fill ``grad_input``."""
    arguments = (beziers, aligned_height, aligned_width, spatial_scale, sampling_ratio, aligned)
    # Pooling is linear in the input, so any values do for it.
    grad_input.copy_(gradients(lambda input: _pool(input, *arguments), [grad_input], grad_output)[0])


def _pool(
    input: Tensor,
    beziers: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    input, beziers = at_least_float32(input, beziers)
    control = beziers[:, 1:].view(-1, 2, 4, 2) * float32(spatial_scale)  # R, curve, control point, x y
    upper, lower = control[:, 0], control[:, 1].flip(1)
    # The larger distance of the end points of the two curves, along each axis.
    width, height = torch.maximum(*((curve[:, 0] - curve[:, 3]).abs() for curve in (upper, lower))).T
    if not aligned:
        width, height = width.clamp(min=1), height.clamp(min=1)
    grid_h = grid_size(height, pooled_height, sampling_ratio)
    grid_w = grid_size(width, pooled_width, sampling_ratio)
    points = bin_points(grid_h, grid_w, pooled_height, pooled_width)
    roi = points.roi
    down = (points.row.to(input) / pooled_height)[:, None]  # T, 1
    u = torch.arange(pooled_width, device=input.device).to(input) / pooled_width
    upper, lower = (_bezier(curve, u)[roi, points.column] for curve in (upper, lower))  # T, 2
    centre_x, centre_y = (lower * down + upper * (1 - down) - (0.5 if aligned else 0)).T
    bin_h, bin_w = (height / pooled_height)[roi], (width / pooled_width)[roi]
    y = centre_y - 0.5 * bin_h + (points.step_y + 0.5) * bin_h / grid_h[roi]
    x = centre_x - 0.5 * bin_w + (points.step_x + 0.5) * bin_w / grid_w[roi]
    return average_over_bins(input, beziers[:, 0].long(), points, y, x, (pooled_height, pooled_width))


def _bezier(control: Tensor, u: Tensor) -> Tensor:
    """Points (R, U, 2) of the cubic curves with control points (R, 4, 2) at the parameters ``u`` (U,)."""
    v = 1 - u
    basis = torch.stack([v**3, 3 * u * v**2, 3 * u**2 * v, u**3], 1)  # U, 4
    return (basis[..., None] * control[:, None]).sum(2)
