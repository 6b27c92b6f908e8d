"""Average RoIAlign over rotated boxes (R, 6): image, centre x, y, width, height before scaling, angle in radians."""

from math import inf

from torch import Tensor

from fan_dense.compat.ops.common import at_least_float32, float32, gradients
from fan_dense.compat.ops.sampling import average_over_bins, bin_points, grid_size


def roi_align_rotated_forward(
    input: Tensor,
    rois: Tensor,
    output: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
    clockwise: bool,
) -> None:
    """Fill ``output`` (R, C, pooled_height, pooled_width) from ``input`` (N, C, H, W)."""
    output.copy_(_pool(input, rois, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned, clockwise))


def roi_align_rotated_backward(
    grad_output: Tensor,
    rois: Tensor,
    grad_input: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
    clockwise: bool,
) -> None:
    """Fill ``grad_input``."""
    arguments = (rois, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned, clockwise)
    # Pooling is linear in the input, so any values do for it.
    grad_input.copy_(gradients(lambda input: _pool(input, *arguments), [grad_input], grad_output)[0])


def _pool(
    input: Tensor,
    rois: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
    clockwise: bool,
) -> Tensor:
    input, rois = at_least_float32(input, rois)
    scale = float32(spatial_scale)
    centre_x, centre_y = (rois[:, 1:3] * scale - (0.5 if aligned else 0)).T
    width, height = (rois[:, 3:5] * scale).clamp(min=-inf if aligned else 1).T
    angle = -rois[:, 5] if clockwise else rois[:, 5]
    grid_h = grid_size(height, pooled_height, sampling_ratio)
    grid_w = grid_size(width, pooled_width, sampling_ratio)
    points = bin_points(grid_h, grid_w, pooled_height, pooled_width)
    roi = points.roi
    bin_h, bin_w = (height / pooled_height)[roi], (width / pooled_width)[roi]  # T
    across = -height[roi] / 2 + points.row * bin_h + (points.step_y + 0.5) * bin_h / grid_h[roi]
    along = -width[roi] / 2 + points.column * bin_w + (points.step_x + 0.5) * bin_w / grid_w[roi]
    cos, sin = angle.cos()[roi], angle.sin()[roi]
    y = across * cos - along * sin + centre_y[roi]
    x = across * sin + along * cos + centre_x[roi]
    return average_over_bins(input, rois[:, 0].long(), points, y, x, (pooled_height, pooled_width))
