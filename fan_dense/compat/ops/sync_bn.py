"""The local part of mmcv's synchronised batch normalisation; mmcv itself reduces over the processes in between.

Shapes: input (N, C, L), statistics and parameters (C,).
"""

from torch import Tensor


def sync_bn_forward_mean(input: Tensor, mean: Tensor) -> None:
    """Fill ``mean`` with that of this process."""
    mean.copy_(input.float().mean((0, 2)))


def sync_bn_forward_var(input: Tensor, mean: Tensor, var: Tensor) -> None:
    """Fill ``var`` with the mean square distance from ``mean``."""
    var.copy_((input.float() - mean[:, None]).square().mean((0, 2)))


def sync_bn_forward_output(
    input: Tensor,
    mean: Tensor,
    var: Tensor,
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    norm: Tensor,
    std: Tensor,
    output: Tensor,
    eps: float,
    momentum: float | Tensor,
    group_size: int,
) -> None:
    """Fill ``std``, ``norm`` (the normalised input) and ``output``, and move the running statistics by ``momentum``.

    The running variance is the unbiased one over all ``group_size`` processes.
    """
    std.copy_((var + eps).sqrt())
    norm.copy_((input.float() - mean[:, None]) / std[:, None])
    output.copy_(norm * weight[:, None] + bias[:, None])
    count = input.shape[0] * input.shape[2] * group_size
    unbiased = var * count / (count - 1) if count > 1 else var
    for running, current in ((running_mean, mean), (running_var, unbiased)):
        running.add_(momentum * (current - running))


def sync_bn_backward_param(grad_output: Tensor, norm: Tensor, grad_weight: Tensor, grad_bias: Tensor) -> None:
    """Fill ``grad_weight`` and ``grad_bias`` with those of this process."""
    grad_weight.copy_((grad_output * norm).sum((0, 2)))
    grad_bias.copy_(grad_output.sum((0, 2)))


def sync_bn_backward_data(
    grad_output: Tensor,
    weight: Tensor,
    grad_weight: Tensor,
    grad_bias: Tensor,
    norm: Tensor,
    std: Tensor,
    grad_input: Tensor,
) -> None:
    """Fill ``grad_input``; ``grad_weight`` and ``grad_bias`` are means over the processes."""
    count = grad_output.shape[0] * grad_output.shape[2]
    through_statistics = (grad_weight[:, None] * norm + grad_bias[:, None]) / count
    grad_input.copy_((weight / std)[:, None] * (grad_output - through_statistics))
