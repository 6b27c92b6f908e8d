"""Sums over the neighbourhoods of every pixel, without a copy of the neighbourhoods (Zhao, Jia, Koltun, CVPR 2020).

The window of an output pixel p holds J = kernel_size^2 neighbours N(p, j), row-major. Maps are padded beforehand (see
:func:`reflect_pad`), so that output pixel (0, 0) sees the window whose first corner is the first pixel of the padded
map. Unfolding 7x7 windows would take 49 times the memory of the map; views that are shifted by one neighbour at a time
take none, and read memory in its order.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable


def window_padding(kernel_size: int, dilation: int = 1) -> int:
    """Padding on each side that puts the windows' centres on the pixels of the map.

    Raises:
        ValueError: for an even kernel size, whose windows have no centre.
    """
    if kernel_size < 1 or kernel_size % 2 == 0:
        raise ValueError(f'kernel size of a neighbourhood must be odd, not {kernel_size}')
    return dilation * (kernel_size // 2)


def reflect_pad(x: Tensor, padding: int) -> Tensor:
    """Reflect (B, C, H, W) at its border pixels: (B, C, H + 2 padding, W + 2 padding).

    Maps that are not larger than the padding, for which the published networks are not defined, are reflected to and
    fro as often as it takes, as ``numpy.pad`` does.
    """
    if padding < min(x.shape[2:]):
        return F.pad(x, (padding,) * 4, mode='reflect')
    rows, columns = (_reflected(length, padding, x.device) for length in x.shape[2:])
    return x.index_select(2, rows).index_select(3, columns)


def _reflected(length: int, padding: int, device: torch.device) -> Tensor:
    position = torch.arange(-padding, length + padding, device=device) % max(2 * (length - 1), 1)
    return torch.minimum(position, (2 * (length - 1) - position).abs())  # there and back: a triangle wave


def centres(x: Tensor, kernel_size: int, stride: int = 1, dilation: int = 1) -> Tensor:
    """Padded maps (B, C, H', W') at the centre of each window: (B, C, H, W)."""
    padding = window_padding(kernel_size, dilation)
    middle = x[:, :, padding : x.shape[2] - padding : stride, padding : x.shape[3] - padding : stride]
    return middle.contiguous()  # what is computed with it takes over its layout


def neighbourhoods(x: Tensor, kernel_size: int, stride: int = 1, dilation: int = 1) -> Tensor:
    """View of padded maps (B, C, H', W') as (B, C, k, k, H, W): x at neighbour (row, column) of each output pixel."""
    extent = dilation * (kernel_size - 1) + 1
    x = x.unfold(2, extent, stride)[..., ::dilation].unfold(3, extent, stride)[..., ::dilation]  # (B, C, H, W, k, k)
    return x.permute(0, 1, 4, 5, 2, 3)


def aggregate(weights: Tensor, x: Tensor, kernel_size: int, stride: int = 1, dilation: int = 1) -> Tensor:
    """Weighted sum of the neighbours of each pixel: out[c, p] = sum_j weights[c mod G, j, p] x[c, N(p, j)].

    Args:
        weights: (B, G, J, H, W), for G interleaved groups of channels.
        x: Padded maps (B, C, H', W').
        kernel_size: Side of the windows.
        stride: Pixels from one window to the next.
        dilation: Pixels from one neighbour to the next.

    Returns:
        (B, C, H, W) of the type of ``x``; sums are in float32 at least.
    """
    grouped = x.unflatten(1, (-1, weights.shape[1]))  # (B, M, G, H', W')
    return _Aggregate.apply(*_summable(weights, grouped), (kernel_size, stride, dilation)).flatten(1, 2).to(x.dtype)


def correlate(middle: Tensor, x: Tensor, kernel_size: int, stride: int = 1, dilation: int = 1) -> Tensor:
    """Dot products of each pixel with its neighbours: out[j, p] = sum_c middle[c, p] x[c, N(p, j)].

    Args:
        middle: (B, C, H, W).
        x: Padded maps (B, C, H', W').
        kernel_size: Side of the windows.
        stride: Pixels from one window to the next.
        dilation: Pixels from one neighbour to the next.

    Returns:
        (B, J, H, W) of the type of ``x``; sums are in float32 at least.
    """
    middle, grouped = _summable(middle[:, :, None], x[:, :, None])  # one group
    return _Correlate.apply(middle, grouped, (kernel_size, stride, dilation))[:, 0].to(x.dtype)


def _summable(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    dtype = torch.promote_types(torch.promote_types(a.dtype, b.dtype), torch.float32)
    return a.to(dtype), b.to(dtype)


# The two functions and the gradient with respect to maps are one trilinear form,
# sum over b, m, g, j, p of weights[b, g, j, p] middle[b, m, g, p] x[b, m, g, N(p, j)], free in one factor each.


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weights, x, window):
        ctx.save_for_backward(weights, x)
        ctx.window = window
        return _free_middle(weights, x, window)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        weights, x = ctx.saved_tensors
        for_weights, for_x = ctx.needs_input_grad[:2]
        return (
            _free_weights(grad, x, ctx.window) if for_weights else None,
            _free_maps(weights, grad, x.shape, ctx.window) if for_x else None,
            None,
        )


class _Correlate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, middle, x, window):
        ctx.save_for_backward(middle, x)
        ctx.window = window
        return _free_weights(middle, x, window)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        middle, x = ctx.saved_tensors
        for_middle, for_x = ctx.needs_input_grad[:2]
        return (
            _free_middle(grad, x, ctx.window) if for_middle else None,
            _free_maps(grad, middle, x.shape, ctx.window) if for_x else None,
            None,
        )


def _free_middle(weights: Tensor, x: Tensor, window: tuple[int, int, int]) -> Tensor:
    """(B, G, J, H, W), (B, M, G, H', W') to (B, M, G, H, W)."""
    out = x.new_zeros(*x.shape[:3], *weights.shape[3:])
    for weight, neighbour in zip(weights.unbind(2), _shifted(x, window)):
        out.addcmul_(weight[:, None], neighbour)
    return out


def _free_weights(middle: Tensor, x: Tensor, window: tuple[int, int, int]) -> Tensor:
    """(B, M, G, H, W), (B, M, G, H', W') to (B, G, J, H, W)."""
    out = x.new_empty(len(x), x.shape[2], window[0] ** 2, *middle.shape[3:])
    for weight, neighbour in zip(out.unbind(2), _shifted(x, window)):
        weight.copy_((middle * neighbour).sum(1))
    return out


def _free_maps(weights: Tensor, middle: Tensor, shape: torch.Size, window: tuple[int, int, int]) -> Tensor:
    """(B, G, J, H, W), (B, M, G, H, W) to (B, M, G, H', W')."""
    out = middle.new_zeros(shape)
    for weight, neighbour in zip(weights.unbind(2), _shifted(out, window)):
        neighbour.addcmul_(weight[:, None], middle)
    return out


def _shifted(x: Tensor, window: tuple[int, int, int]) -> Iterator[Tensor]:
    """Views of (..., H', W') as (..., H, W): each output pixel's neighbour 0, 1, ..., J - 1."""
    kernel_size, stride, dilation = window
    height, width = ((length - dilation * (kernel_size - 1) - 1) // stride * stride + 1 for length in x.shape[-2:])
    for row in range(0, kernel_size * dilation, dilation):
        for column in range(0, kernel_size * dilation, dilation):
            yield x[..., row : row + height : stride, column : column + width : stride]
