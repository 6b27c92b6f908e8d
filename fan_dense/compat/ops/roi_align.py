"""RoIAlign (He et al., Mask R-CNN, 2017) over upright boxes. Average pooling is torchvision's compiled operator."""

import torch
import torchvision  # noqa: F401 (registers torch.ops.torchvision)
from torch import Tensor

from fan_dense.compat.ops.common import at_least_float32, float32

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
    """Fill ``output`` (R, C, aligned_height, aligned_width) from ``input`` (N, C, H, W) and ``rois`` (R, 5)."""
    if pool_mode != AVERAGE:
        raise NotImplementedError('max')
    size = (aligned_height, aligned_width)
    input, rois = at_least_float32(input, rois)
    output.copy_(torch.ops.torchvision.roi_align(input, rois, float32(spatial_scale), *size, sampling_ratio, aligned))


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
    """Fill ``grad_input`` (N, C, H, W)."""
    if pool_mode != AVERAGE:
        raise NotImplementedError('max')
    grad_output, rois = at_least_float32(grad_output, rois)
    size = (aligned_height, aligned_width, *grad_input.shape)
    grad_input.copy_(
        torch.ops.torchvision._roi_align_backward(
            grad_output, rois, float32(spatial_scale), *size, sampling_ratio, aligned
        )
    )
