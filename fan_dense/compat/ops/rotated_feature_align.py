"""Feature refinement of R3Det (Yang et al., 2021): to each pixel the features at its rotated box are added."""

import torch
from torch import Tensor

from fan_dense.compat.ops.common import at_least_float32, float32, gradients
from fan_dense.compat.ops.sampling import bilinear_taps, pixel_rows, sample


def rotated_feature_align_forward(
    features: Tensor, best_bboxes: Tensor, output: Tensor, spatial_scale: float, points: int
) -> None:
    """Fill ``output`` (N, C, H, W), the features plus those at the centre, or at the centre and the four corners.

    ``best_bboxes`` (N, H, W, 5) gives a box for each pixel: centre y, x, width, height before scaling, angle in
    radians; ``points`` is 1 or 5.
    """
    output.copy_(_refine(features, best_bboxes, spatial_scale, points))


def rotated_feature_align_backward(
    grad_output: Tensor, best_bboxes: Tensor, grad_input: Tensor, spatial_scale: float, points: int
) -> None:
    """Fill ``grad_input``."""
    # Refinement is linear in the features, so any values do for them.
    refine = lambda features: _refine(features, best_bboxes, spatial_scale, points)  # noqa: E731
    grad_input.copy_(gradients(refine, [grad_input], grad_output)[0])


def _refine(features: Tensor, boxes: Tensor, spatial_scale: float, points: int) -> Tensor:
    features, boxes = at_least_float32(features, boxes)
    images, _, height, width = features.shape
    scaled = boxes[..., :4] * float32(spatial_scale)
    y, x, box_width, box_height = scaled[..., None].unbind(-2)  # N, H, W, 1
    if points == 5:
        # In float32 whatever the dtype, and by the sine of the C library (as polar does it): so mmcv has it.
        angle = boxes[..., 4:].float()
        direction = torch.polar(torch.ones_like(angle), angle)
        cos, sin = direction.real.to(boxes) / 2, direction.imag.to(boxes) / 2
        along, across = boxes.new_tensor([[0, 1, -1, -1, 1], [0, 1, 1, -1, -1]])
        y = y + along * sin * box_width + across * cos * box_height  # N, H, W, 5
        x = x + along * cos * box_width - across * sin * box_height
    index, weight = bilinear_taps(y, x, height, width)  # N, H, W, points, 4
    image = torch.arange(images, device=boxes.device).view(-1, 1, 1, 1, 1) * height * width
    added = sample(pixel_rows(features), (index + image).flatten(-2), weight.flatten(-2))  # N, H, W, C
    return features + added.permute(0, 3, 1, 2)
