"""RoIAlign (He et al., Mask R-CNN, 2017) over upright boxes; the average is torchvision's compiled operator.

Shapes: input (N, C, H, W), rois (R, 5) as image, x1, y1, x2, y2 before scaling, output (R, C, aligned_height,
aligned_width). For the maximum, ``argmax_y`` and ``argmax_x``, in the shape of the output, hold the sample that won.
"""

from typing import NamedTuple

import torch
import torchvision  # noqa: F401 (registers torch.ops.torchvision)
from torch import Tensor

from fan_dense.compat.ops.common import at_least_float32, float32
from fan_dense.compat.ops.sampling import bilinear_taps, first_maximum, grid_size, pixel_rows, sample, scatter_taps

MAX, AVERAGE = 0, 1


def roi_align_forward(
    input: Tensor,
    rois: Tensor,
    output: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    """Fill ``output``, and for the maximum ``argmax_y`` and ``argmax_x``."""
    input, rois = at_least_float32(input, rois)
    rois = _numbers(rois)
    arguments = (input, rois, float32(spatial_scale), aligned_height, aligned_width, sampling_ratio, aligned)
    if pool_mode == AVERAGE:
        output.copy_(torch.ops.torchvision.roi_align(*arguments))
    else:
        for buffer, values in zip((output, argmax_y, argmax_x), _maximum(*arguments)):
            buffer.copy_(values)


def roi_align_backward(
    grad_output: Tensor,
    rois: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    grad_input: Tensor,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    """Fill ``grad_input``, which comes as zeros."""
    grad_output, rois = at_least_float32(grad_output, rois)
    rois = _numbers(rois)
    if pool_mode == AVERAGE:
        shape = (aligned_height, aligned_width, *grad_input.shape)
        grad = torch.ops.torchvision._roi_align_backward(
            grad_output, rois, float32(spatial_scale), *shape, sampling_ratio, aligned
        )
        grad_input.copy_(grad)
    else:
        scatter_taps(grad_input, grad_output, rois[:, 0].long(), *at_least_float32(argmax_y, argmax_x))


def _numbers(rois: Tensor) -> Tensor:
    """The boxes (R, 5), those with a coordinate of nan or infinity, as of a diverged training, far outside the image.

    There they pool 0. Given nan, torchvision reads memory that is not its own.
    """
    outside = torch.full_like(rois, -1e6)
    outside[:, 0] = rois[:, 0].nan_to_num(0)
    return rois.where(rois.isfinite().all(1, keepdim=True), outside)


class Line(NamedTuple):
    """Sample points of each bin (B,) along one axis: where it starts, its length, how many points."""

    start: Tensor
    length: Tensor
    points: Tensor

    def at(self, bins: Tensor | slice, step: Tensor | int) -> Tensor:
        """Coordinate of point number ``step`` of the bins."""
        return self.start[bins] + (step + 0.5) * self.length[bins] / self.points[bins]


def _maximum(
    input: Tensor, rois: Tensor, scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int, aligned: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Largest sample of each bin and its y and x, nan where there is none."""
    channels, height, width = input.shape[1:]
    corners = rois[:, 1:] * scale - (0.5 if aligned else 0)
    extent = (corners[:, 2:] - corners[:, :2]).clamp(min=-torch.inf if aligned else 1)
    columns = _line(corners[:, 0], extent[:, 0], pooled_width, sampling_ratio)
    rows = _line(corners[:, 1], extent[:, 1], pooled_height, sampling_ratio)
    # R, pooled_height, pooled_width -> B
    rows = Line(*(tensor[:, :, None].expand(-1, -1, pooled_width).flatten() for tensor in rows))
    columns = Line(*(tensor[:, None, :].expand(-1, pooled_height, -1).flatten() for tensor in columns))
    pixels = pixel_rows(input)
    image = rois[:, 0].long().repeat_interleave(pooled_height * pooled_width) * height * width  # B

    def value_at(bins: Tensor, step_y: int, step_x: int) -> Tensor:
        index, weight = bilinear_taps(rows.at(bins, step_y), columns.at(bins, step_x), height, width)
        return sample(pixels, index + image[bins, None], weight)

    best, row, column = first_maximum(rows.points, columns.points, channels, value_at, input.dtype)
    everywhere = slice(None)
    y = rows.at(everywhere, row.T).where(row.T >= 0, torch.nan)  # C, B
    x = columns.at(everywhere, column.T).where(column.T >= 0, torch.nan)
    shape = (channels, -1, pooled_height, pooled_width)
    return tuple(tensor.reshape(shape).transpose(0, 1) for tensor in (best.T, y, x))


def _line(start: Tensor, extent: Tensor, bins: int, sampling_ratio: int) -> Line:
    """Points along one axis for ``bins`` bins of each RoI (R,), as tensors (R, bins)."""
    length = (extent / bins)[:, None].expand(-1, bins)
    points = grid_size(extent, bins, sampling_ratio)[:, None].expand(-1, bins)
    return Line(start[:, None] + torch.arange(bins, device=start.device) * length, length, points)
