"""CARAFE (Wang et al., 2019): upsampling in which every output pixel has its own kernel.

out[n, c, y, x] = sum over i, j < k of masks[n, (g k + i) k + j, y, x] f[n, c, y // s + i - k // 2, x // s + j - k // 2]
with k = ``kernel_size``, s = ``scale_factor``, g the group of channel c and f the features with zeros around them.

Shapes: features (N, C, H, W), masks (N, group_size k k, s H, s W), output (N, C, s H, s W).
"""

import torch
from torch import Tensor
from torch.nn import functional

from fan_dense.compat.ops.common import gradients


def carafe_forward(
    features: Tensor,
    masks: Tensor,
    rfeatures: Tensor,
    routput: Tensor,
    rmasks: Tensor,
    output: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> None:
    """Fill ``output``, and ``rfeatures`` with what :func:`carafe_backward` wants to see again, the features."""
    rfeatures.copy_(features)
    carafe_naive_forward(features, masks, output, kernel_size, group_size, scale_factor)


def carafe_backward(
    grad_output: Tensor,
    rfeatures: Tensor,
    masks: Tensor,
    rgrad_output: Tensor,
    rgrad_input_hs: Tensor,
    rgrad_input: Tensor,
    rgrad_masks: Tensor,
    grad_input: Tensor,
    grad_masks: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> None:
    """Fill ``grad_input`` and ``grad_masks``; the other buffers are work space of the compiled operator."""
    carafe_naive_backward(grad_output, rfeatures, masks, grad_input, grad_masks, kernel_size, group_size, scale_factor)


def carafe_naive_forward(
    features: Tensor, masks: Tensor, output: Tensor, kernel_size: int, group_size: int, scale_factor: int
) -> None:
    """Fill ``output``."""
    output.copy_(_reassemble(features, masks, kernel_size, group_size, scale_factor))


def carafe_naive_backward(
    grad_output: Tensor,
    features: Tensor,
    masks: Tensor,
    grad_input: Tensor,
    grad_masks: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> None:
    """Fill ``grad_input`` and ``grad_masks``."""
    reassemble = lambda *inputs: _reassemble(*inputs, kernel_size, group_size, scale_factor)  # noqa: E731
    for buffer, grad in zip((grad_input, grad_masks), gradients(reassemble, [features, masks], grad_output)):
        buffer.copy_(grad)


def _reassemble(features: Tensor, masks: Tensor, kernel: int, groups: int, scale: int) -> Tensor:
    images, channels, height, width = features.shape
    half = kernel // 2
    padded = functional.pad(features, (half, half, half, half)).unflatten(1, (groups, -1))
    kernels = masks.view(images, groups, 1, kernel, kernel, height, scale, width, scale)
    output = torch.zeros((), dtype=features.dtype, device=features.device)
    for i in range(kernel):
        for j in range(kernel):
            shifted = padded[..., i : i + height, None, j : j + width, None]  # N, groups, C / groups, H, 1, W, 1
            output = output + kernels[:, :, :, i, j] * shifted  # N, groups, C / groups, H, s, W, s
    return output.reshape(images, channels, height * scale, width * scale)
