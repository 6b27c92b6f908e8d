"""Deformable RoI pooling (Dai et al., 2017): average RoIAlign whose bins are moved by a learned fraction of the box.

Shapes: input (N, C, H, W), rois (R, 5) as image, x1, y1, x2, y2 before scaling, offset (R, 2, pooled_height,
pooled_width) with x before y, or empty, output (R, C, pooled_height, pooled_width).
"""

from torch import Tensor

from fan_dense.compat.ops.common import at_least_float32, float32, gradients
from fan_dense.compat.ops.sampling import average_over_bins, bin_points, grid_size


def deform_roi_pool_forward(
    input: Tensor,
    rois: Tensor,
    offset: Tensor,
    output: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> None:
    """Fill ``output``; a bin moves by ``gamma`` x offset x size of the box."""
    output.copy_(_pool(input, rois, offset, pooled_height, pooled_width, spatial_scale, sampling_ratio, gamma))


def deform_roi_pool_backward(
    grad_output: Tensor,
    input: Tensor,
    rois: Tensor,
    offset: Tensor,
    grad_input: Tensor,
    grad_offset: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> None:
    """Fill ``grad_input`` and, unless it is empty, ``grad_offset``."""
    arguments = (pooled_height, pooled_width, spatial_scale, sampling_ratio, gamma)
    inputs = [input, offset] if offset.numel() else [input]
    grads = gradients(lambda input, offset=offset: _pool(input, rois, offset, *arguments), inputs, grad_output)
    for buffer, grad in zip((grad_input, grad_offset), grads):
        buffer.copy_(grad)


def _pool(
    input: Tensor,
    rois: Tensor,
    offset: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> Tensor:
    input, rois, offset = at_least_float32(input, rois, offset)
    corners = rois[:, 1:] * float32(spatial_scale) - 0.5
    start_x, start_y = corners[:, :2].T
    width, height = (corners[:, 2:] - corners[:, :2]).T
    grid_h = grid_size(height, pooled_height, sampling_ratio)
    grid_w = grid_size(width, pooled_width, sampling_ratio)
    points = bin_points(grid_h, grid_w, pooled_height, pooled_width)
    roi = points.roi
    y, x = start_y[roi], start_x[roi]  # T
    if offset.numel():
        moved = float32(gamma) * offset[roi, :, points.row, points.column]  # T, 2
        y, x = y + moved[:, 1] * height[roi], x + moved[:, 0] * width[roi]
    bin_h, bin_w = (height / pooled_height)[roi], (width / pooled_width)[roi]
    y = y + points.row * bin_h + (points.step_y + 0.5) * bin_h / grid_h[roi]
    x = x + points.column * bin_w + (points.step_x + 0.5) * bin_w / grid_w[roi]
    return average_over_bins(input, rois[:, 0].long(), points, y, x, (pooled_height, pooled_width))
