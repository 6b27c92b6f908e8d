"""RoI max pooling as in mmcv, which, unlike torchvision, does not round the scaled corners to whole pixels.

Shapes: input (N, C, H, W), rois (R, 5) as image, x1, y1, x2, y2 before scaling (x2 and y2 belong to the box), output
and argmax (R, C, pooled_height, pooled_width); argmax is y W + x of the pixel, -1 where a bin is empty.
"""

import torch
from torch import Tensor

from fan_dense.compat.ops.common import at_least_float32, float32
from fan_dense.compat.ops.sampling import first_maximum, pixel_rows


def roi_pool_forward(
    input: Tensor,
    rois: Tensor,
    output: Tensor,
    argmax: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
) -> None:
    """Fill ``output`` and ``argmax``."""
    input, rois = at_least_float32(input, rois)
    channels, height, width = input.shape[1:]
    shape = (-1, pooled_height, pooled_width)
    low = rois[:, 1:3] * float32(spatial_scale)
    extent = (rois[:, 3:] + 1) * float32(spatial_scale) - low
    exists = (extent > 0).all(1)[:, None, None].expand(shape)
    left, columns = _pixels(low[:, 0], extent[:, 0], pooled_width, width)  # R, pooled_width
    top, rows = _pixels(low[:, 1], extent[:, 1], pooled_height, height)
    top, rows = (tensor[:, :, None].expand(shape).flatten() for tensor in (top, rows))  # B
    left, columns = (tensor[:, None, :].expand(shape).flatten() for tensor in (left, columns))
    pixels = pixel_rows(input)
    image = rois[:, 0].long().repeat_interleave(pooled_height * pooled_width) * height * width  # B

    def value_at(bins: Tensor, step_y: int, step_x: int) -> Tensor:
        return pixels[image[bins] + (top[bins] + step_y) * width + left[bins] + step_x]

    best, row, column = first_maximum(rows * exists.flatten(), columns, channels, value_at, input.dtype)
    place = torch.where(row < 0, -1, (top[:, None] + row) * width + left[:, None] + column)
    output.copy_(best.view(*exists.shape, channels).permute(0, 3, 1, 2))
    argmax.copy_(place.view(*exists.shape, channels).permute(0, 3, 1, 2))


def roi_pool_backward(
    grad_output: Tensor,
    rois: Tensor,
    argmax: Tensor,
    grad_input: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
) -> None:
    """Fill ``grad_input``, which comes as zeros: the gradient of a bin goes to its largest pixel."""
    _, channels, height, width = grad_input.shape
    plane = rois[:, 0].long()[:, None] * channels + torch.arange(channels, device=rois.device)  # R, C
    index = plane[..., None, None] * height * width + argmax
    filled = argmax >= 0
    flat = grad_input.new_zeros(grad_input.numel()).index_add_(0, index[filled], grad_output[filled])
    grad_input.copy_(flat.view(grad_input.shape))


def _pixels(start: Tensor, extent: Tensor, bins: int, length: int) -> tuple[Tensor, Tensor]:
    """First pixel and number of pixels (R, bins) along one axis of ``length`` pixels; neighbours may share one."""
    edges = torch.arange(bins + 1, device=start.device) * (extent / bins)[:, None] + start[:, None]
    first = edges[:, :-1].float().floor().clamp(0, length).long()
    last = edges[:, 1:].float().ceil().clamp(0, length).long()
    return first, (last - first).clamp(min=0)
