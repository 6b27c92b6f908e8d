"""The operators of StyleGAN's layers of which mmcv asks the extension for CUDA tensors only."""

import torch
from torch import Tensor
from torch.nn import functional

LEAKY_RELU = 3


def upfirdn2d(
    input: Tensor,
    filter: Tensor,
    upx: int,
    upy: int,
    downx: int,
    downy: int,
    padx0: int,
    padx1: int,
    pady0: int,
    pady1: int,
    flip: bool,
    gain: float,
) -> Tensor:
    """Zeros between the pixels (``up``), padding or cropping, an FIR filter (h, w), every ``down``-th pixel.

    ``input`` is (N, C, H, W). The filter is convolved, or correlated if ``flip``.
    """
    batch, channels, height, width = input.shape
    x = input.view(batch * channels, 1, height, 1, width, 1)
    x = functional.pad(x, (0, upx - 1, 0, 0, 0, upy - 1)).reshape(batch * channels, 1, height * upy, width * upx)
    x = functional.pad(x, (padx0, padx1, pady0, pady1))
    kernel = (filter if flip else filter.flip(0, 1)) * gain
    with torch.autocast(x.device.type, enabled=False):
        x = functional.conv2d(x, kernel.to(x)[None, None], stride=(downy, downx))
    return x.view(batch, channels, *x.shape[2:])


def fused_bias_leakyrelu(
    input: Tensor, bias: Tensor, refer: Tensor, act: int, grad: int, alpha: float, scale: float
) -> Tensor:
    """``scale`` x leaky ReLU of ``input`` + ``bias``; with ``grad`` 1 its derivative at output ``refer`` times that.

    ``input`` is (N, C, ...), ``bias`` (C,) or empty, ``refer`` has the shape of ``input``.

    Raises:
        ValueError: an activation other than the leaky ReLU, or a second derivative.
    """
    if act != LEAKY_RELU or grad not in (0, 1):
        raise ValueError(f'act={act}, grad={grad}: only act={LEAKY_RELU} (leaky ReLU) with grad 0 or 1')
    x = input + bias.view(1, -1, *[1] * (input.dim() - 2)) if bias.numel() else input
    positive = refer > 0 if grad else x > 0
    return x.where(positive, x * alpha) * scale
