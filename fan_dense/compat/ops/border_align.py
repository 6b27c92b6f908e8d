"""BorderAlign (Qiu et al., BorderDet, 2020): the largest value on each side of a box, a quarter of the channels each.

Shapes: input (N, 4 C, H, W) with the channels for top, left, bottom, right; boxes (N, K, 4) as x1, y1, x2, y2 in pixels
of the map; output and argmax (N, C, K, 4), argmax being the number of the point along the side.
"""

import torch
from torch import Tensor

from fan_dense.compat.ops.common import at_least_float32
from fan_dense.compat.ops.sampling import bilinear_taps, pixel_rows, sample, scatter_taps


def border_align_forward(input: Tensor, boxes: Tensor, output: Tensor, argmax_idx: Tensor, pool_size: int) -> None:
    """Fill ``output`` and ``argmax_idx`` from ``pool_size`` + 1 points on each side."""
    input, boxes = at_least_float32(input, boxes)
    images, _, height, width = input.shape
    y, x = _points(boxes, pool_size)  # N, K, 4, P
    image = torch.arange(images, device=boxes.device).view(-1, 1, 1, 1) * height * width
    for side, channels in enumerate(input.chunk(4, 1)):
        index, weight = bilinear_taps(y[:, :, side], x[:, :, side], height, width)  # N, K, P, 4
        value, place = sample(pixel_rows(channels), index + image, weight).max(2)  # N, K, C
        output[..., side].copy_(value.transpose(1, 2))
        argmax_idx[..., side].copy_(place.transpose(1, 2))


def border_align_backward(
    grad_output: Tensor, boxes: Tensor, argmax_idx: Tensor, grad_input: Tensor, pool_size: int
) -> None:
    """Fill ``grad_input``, which comes as zeros: the gradient of a side goes to its largest point."""
    grad_output, boxes = at_least_float32(grad_output, boxes)
    points = _points(boxes, pool_size)
    images = torch.arange(len(boxes), device=boxes.device)
    for side, grad in enumerate(grad_input.chunk(4, 1)):
        place = argmax_idx[..., side].long()  # N, C, K
        y, x = (
            axis[:, None, :, side].expand(-1, place.shape[1], -1, -1).gather(-1, place[..., None])[..., 0]
            for axis in points
        )
        scatter_taps(grad, grad_output[..., side], images, y, x)


def _points(boxes: Tensor, pool_size: int) -> tuple[Tensor, Tensor]:
    """y and x (N, K, 4, pool_size + 1) of the points, from (x1, y1) along top and left, else back from (x2, y2)."""
    x1, y1, x2, y2 = boxes[..., None].unbind(-2)  # N, K, 1
    steps = torch.arange(pool_size + 1, device=boxes.device)
    right, down = (x2 - x1) / pool_size * steps, (y2 - y1) / pool_size * steps  # N, K, P
    still = torch.zeros_like(right)
    y = torch.stack([y1 + still, y1 + down, y2 + still, y2 - down], 2)
    x = torch.stack([x1 + right, x1 + still, x2 - right, x2 + still], 2)
    return y, x
