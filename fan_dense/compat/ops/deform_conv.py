"""Deformable convolution, plain and modulated (Dai et al., 2017; Zhu et al., 2019), by torchvision's compiled operator.

Shapes: input (N, C, H, W), weight (O, C / groups, kh, kw), offset (N, 2 G kh kw, H', W') with y before x, mask
(N, G kh kw, H', W'), output (N, O, H', W'); G = ``deformable_group``.
"""

import math
from typing import NamedTuple

import torch
import torchvision  # noqa: F401 (registers torch.ops.torchvision)
from torch import Tensor
from torch.nn import functional

from fan_dense.compat.ops.common import at_least_float32


class Geometry(NamedTuple):
    """How the kernel walks over the input, in the order of torchvision's arguments."""

    stride_h: int
    stride_w: int
    pad_h: int
    pad_w: int
    dilation_h: int
    dilation_w: int


def deform_conv_forward(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    output: Tensor,
    columns: Tensor,
    ones: Tensor,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    im2col_step: int,
) -> None:
    """Fill ``output``. ``columns``, ``ones`` and ``im2col_step`` concern the work space of the compiled operator."""
    geometry = Geometry(dH, dW, padH, padW, dilationH, dilationW)
    output.copy_(_forward(input, weight, offset, None, None, geometry, group, deformable_group))


def deform_conv_backward_input(
    input: Tensor,
    offset: Tensor,
    grad_output: Tensor,
    grad_input: Tensor,
    grad_offset: Tensor,
    weight: Tensor,
    columns: Tensor,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    im2col_step: int,
) -> None:
    """Fill ``grad_input`` and ``grad_offset``."""
    geometry = Geometry(dH, dW, padH, padW, dilationH, dilationW)
    grads = _backward(grad_output, input, weight, offset, None, None, geometry, group, deformable_group)
    grad_input.copy_(grads[0])
    grad_offset.copy_(grads[2])
    # torchvision has the gradient of the weight too, for which mmcv asks in a call of its own: it waits on the work
    # space that both calls get, together with the grad_output that it belongs to.
    columns.grad_weight = grad_output, grads[1]


def deform_conv_backward_parameters(
    input: Tensor,
    offset: Tensor,
    grad_output: Tensor,
    grad_weight: Tensor,
    columns: Tensor,
    ones: Tensor,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    scale: float,
    im2col_step: int,
) -> None:
    """Add ``scale`` times the gradient of the weight to ``grad_weight``."""
    known_for, grad = vars(columns).pop('grad_weight', (None, None))
    if known_for is not grad_output:
        geometry = Geometry(dH, dW, padH, padW, dilationH, dilationW)
        # The gradient of the weight does not depend on the weight: only its shape is read.
        grad = _backward(grad_output, input, grad_weight, offset, None, None, geometry, group, deformable_group)[1]
    grad_weight.add_(grad.to(grad_weight), alpha=scale)


def modulated_deform_conv_forward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    ones: Tensor,
    offset: Tensor,
    mask: Tensor,
    output: Tensor,
    columns: Tensor,
    kernel_h: int,
    kernel_w: int,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    group: int,
    deformable_group: int,
    with_bias: bool,
) -> None:
    """Fill ``output``. ``columns`` and ``ones`` are the work space of the compiled operator."""
    geometry = Geometry(stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w)
    offset, mask = (_leading(tensor, output.shape[2:]) for tensor in (offset, mask))
    output.copy_(_forward(input, weight, offset, mask, bias if with_bias else None, geometry, group, deformable_group))


def modulated_deform_conv_backward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    ones: Tensor,
    offset: Tensor,
    mask: Tensor,
    columns: Tensor,
    grad_input: Tensor,
    grad_weight: Tensor,
    grad_bias: Tensor,
    grad_offset: Tensor,
    grad_mask: Tensor,
    grad_output: Tensor,
    kernel_h: int,
    kernel_w: int,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    group: int,
    deformable_group: int,
    with_bias: bool,
) -> None:
    """Fill the five gradients, ``grad_bias`` only with a bias."""
    geometry = Geometry(stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w)
    offset, mask = (_leading(tensor, grad_output.shape[2:]) for tensor in (offset, mask))
    grads = _backward(
        grad_output, input, weight, offset, mask, bias if with_bias else None, geometry, group, deformable_group
    )
    buffers = (grad_input, grad_weight, grad_offset, grad_mask, *([grad_bias] if with_bias else []))
    for buffer, grad in zip(buffers, grads, strict=False):
        buffer.copy_(grad if grad.shape == buffer.shape else _followed_by_zeros(grad, buffer.shape))


def _leading(tensor: Tensor, size: torch.Size) -> Tensor:
    """As many numbers of each sample, in a row, as a tensor (N, C, *size) has, where there are more than those.

    mmcv reads offset and mask so, whatever their height and width, and DyHead (hence GLIP) is made that way: it hands
    those of one level of the pyramid to the next smaller one.
    """
    samples, channels, *given = tensor.shape
    if math.prod(given) <= size.numel():
        return tensor
    return tensor.flatten(1)[:, : channels * size.numel()].view(samples, channels, *size)


def _followed_by_zeros(grad: Tensor, shape: torch.Size) -> Tensor:
    """The gradient of :func:`_leading`."""
    grad = grad.flatten(1)
    return functional.pad(grad, (0, shape[1:].numel() - grad.shape[1])).view(shape)


def _forward(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    geometry: Geometry,
    groups: int,
    offset_groups: int,
) -> Tensor:
    tensors = _complete(input, weight, offset, mask, bias)
    return torch.ops.torchvision.deform_conv2d(*tensors, *geometry, groups, offset_groups, mask is not None)


def _backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    geometry: Geometry,
    groups: int,
    offset_groups: int,
) -> tuple[Tensor, ...]:
    """Gradients of input, weight, offset, mask, bias."""
    input, weight, offset, filled_mask, filled_bias = _complete(input, weight, offset, mask, bias)
    grads = list(
        torch.ops.torchvision._deform_conv2d_backward(
            grad_output.to(input).contiguous(),
            input.contiguous(),
            weight.contiguous(),
            offset.contiguous(),
            filled_mask.contiguous(),
            filled_bias,
            *geometry,
            groups,
            offset_groups,
            mask is not None,
        )
    )
    grads[2] = grads[2].masked_fill(_just_outside(offset, weight.shape[2:], geometry), 0)
    return tuple(grads)


def _complete(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor | None, bias: Tensor | None) -> list[Tensor]:
    """The tensors in one dtype, with the fillers that torchvision wants in the place of a missing mask or bias."""
    mask = input.new_zeros(len(input), 1) if mask is None else mask
    bias = input.new_zeros(len(weight)) if bias is None else bias
    input, weight, offset, mask, bias = at_least_float32(input, weight, offset, mask, bias)
    # what is far outside the input counts 0; given nan, torchvision reads memory that is not its own
    offset = offset.nan_to_num(nan=-1e6, posinf=1e6, neginf=-1e6)
    return [input, weight, offset, mask, bias]


def _just_outside(offset: Tensor, kernel: tuple[int, int], geometry: Geometry) -> Tensor:
    """Which offsets, both coordinates of a sample alike, belong to a sample at exactly -1 in y or x.

    torchvision takes the slope on the inner side there, mmcv none. It matters: with offsets of zero, as in every new
    layer, the whole first row and column of the padding lie at -1.
    """
    batch, channels, height, width = offset.shape
    groups = channels // (2 * kernel[0] * kernel[1])
    offset = offset.view(batch, groups, *kernel, 2, height, width)
    walk_y = torch.arange(height, device=offset.device) * geometry.stride_h - geometry.pad_h
    walk_x = torch.arange(width, device=offset.device) * geometry.stride_w - geometry.pad_w
    tap_y, tap_x = (torch.arange(size, device=offset.device) for size in kernel)
    y = offset[..., 0, :, :] + (tap_y[:, None, None, None] * geometry.dilation_h + walk_y[:, None])  # kh, 1, H', 1
    x = offset[..., 1, :, :] + (tap_x[:, None, None] * geometry.dilation_w + walk_x)  # kw, 1, W'
    outside = (y == -1) | (x == -1)  # N, G, kh, kw, H', W'
    return outside[:, :, :, :, None].expand_as(offset).reshape(batch, channels, height, width)
