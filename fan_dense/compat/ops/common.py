"""What the operators share: the precision they compute in, and gradients by automatic differentiation."""

import ctypes
from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def float32(value: float) -> float:
    """``value`` as the C++ ``float`` through which mmcv passes every scalar, whatever the dtype of the tensors."""
    return ctypes.c_float(value).value


def at_least_float32(*tensors: Tensor) -> list[Tensor]:
    """The floating tensors in their common dtype, half and bfloat16 in float32: box coordinates need the digits."""
    dtype = torch.float32
    for tensor in tensors:
        dtype = torch.promote_types(dtype, tensor.dtype)
    return [tensor.to(dtype) for tensor in tensors]


def gradients(function: Callable[..., Tensor], inputs: Sequence[Tensor], grad_output: Tensor) -> tuple[Tensor, ...]:
    """Gradients of ``function(*inputs)`` with respect to ``inputs`` for the upstream gradient ``grad_output``.

    The extension keeps no graph between the two passes, so the forward pass is run again.
    """
    with torch.enable_grad():
        inputs = [tensor.detach().requires_grad_() for tensor in inputs]
        output = function(*inputs)
    return torch.autograd.grad(output, inputs, grad_output.to(output.dtype))
