"""Sigmoid and softmax focal loss (Lin et al., 2017), value and gradient for each logit.

Logarithms come from log-sigmoid, so a large logit loses no digits, and stop at that of the smallest normal float32,
where mmcv's kernels stop.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from fan_dense.compat.ops.common import at_least_float32, float32

SMALLEST = torch.finfo(torch.float32).tiny


def sigmoid_focal_loss_forward(
    input: Tensor, target: Tensor, weight: Tensor, output: Tensor, gamma: float, alpha: float
) -> None:
    """Fill ``output`` (N, C) with -a (1 - q)^gamma log q, q the probability of the right answer.

    ``input`` holds logits (N, C), ``target`` a class (N,) in 0 .. C - 1 (any other value: all C answers are no),
    ``weight`` (C,) the factor of a row by its target, or nothing; a is ``alpha`` for yes and 1 - ``alpha`` for no.
    """
    right, _, factor, gamma = _answers(input, target, weight, gamma, alpha)
    output.copy_(-factor * torch.sigmoid(-right) ** gamma * _log_sigmoid(right))


def sigmoid_focal_loss_backward(
    input: Tensor, target: Tensor, weight: Tensor, grad_input: Tensor, gamma: float, alpha: float
) -> None:
    """Fill ``grad_input`` (N, C) with the derivative of each loss by its logit."""
    right, sign, factor, gamma = _answers(input, target, weight, gamma, alpha)
    wrong = torch.sigmoid(-right)
    slope = gamma * torch.sigmoid(right) * _log_sigmoid(right) - wrong
    grad_input.copy_(sign * factor * wrong**gamma * slope)


def softmax_focal_loss_forward(
    input: Tensor, target: Tensor, weight: Tensor, output: Tensor, gamma: float, alpha: float
) -> None:
    """Fill ``output`` (N,) with -alpha (1 - q)^gamma log q, q the probability of the target.

    ``input`` holds probabilities (N, C), ``target`` a class (N,) or a negative value (loss 0), ``weight`` (C,) the
    factor of a row by its target, or nothing.
    """
    _, q, factor = _target_probability(input, target, weight, alpha)
    output.copy_(-factor * (1 - q) ** float32(gamma) * q.clamp(min=SMALLEST).log())


def softmax_focal_loss_backward(
    input: Tensor, target: Tensor, weight: Tensor, buff: Tensor, grad_input: Tensor, gamma: float, alpha: float
) -> None:
    """Fill ``buff`` (N,) with q times the derivative by q, and ``grad_input`` (N, C) with that by each logit."""
    input, q, factor = _target_probability(input, target, weight, alpha)
    gamma, wrong = float32(gamma), 1 - q
    log_q = q.clamp(min=SMALLEST).log()
    slope = factor * (gamma * wrong.clamp(min=SMALLEST) ** (gamma - 1) * q * log_q - wrong**gamma)  # N
    buff.copy_(slope)
    grad_input.copy_(slope[:, None] * (_one_hot(input, target) - input))


def _log_sigmoid(x: Tensor) -> Tensor:
    return logsigmoid(x).clamp(min=math.log(SMALLEST))


def _one_hot(input: Tensor, target: Tensor) -> Tensor:
    """1 at the target, 0 elsewhere (N, C)."""
    return (torch.arange(input.shape[1], device=input.device) == target[:, None]).to(input)


def _answers(
    input: Tensor, target: Tensor, weight: Tensor, gamma: float, alpha: float
) -> tuple[Tensor, Tensor, Tensor, float]:
    """Logit of the right answer, +1 for yes and -1 for no, factor of the loss, all (N, C), and gamma."""
    input, weight = at_least_float32(input, weight)
    yes, alpha = _one_hot(input, target), float32(alpha)
    sign = 2 * yes - 1
    factor = (yes * alpha + (1 - yes) * (1 - alpha)) * _row_weight(target, weight)[:, None]
    return sign * input, sign, factor, float32(gamma)


def _target_probability(input: Tensor, target: Tensor, weight: Tensor, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    """Probabilities (N, C), that of the target (N,), factor of the loss (N,), 0 where the target is negative."""
    input, weight = at_least_float32(input, weight)
    q = input.gather(1, target.clamp(min=0)[:, None])[:, 0]
    return input, q, (target >= 0) * float32(alpha) * _row_weight(target, weight)


def _row_weight(target: Tensor, weight: Tensor) -> Tensor:
    """Class weight (N,) of each row; 1 without class weights, or where the target is no class."""
    known = (target >= 0) & (target < len(weight))
    return torch.cat([weight, weight.new_ones(1)])[target.where(known, len(weight))]
