"""Sigmoid and softmax focal loss (Lin et al., 2017), value and gradient for each logit.

Logarithms come from log-sigmoid, so a large logit loses no digits, and stop at that of the smallest normal float32,
where mmcv's kernels stop.
"""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from fan_dense.compat.ops.common import float32

SMALLEST = torch.finfo(torch.float32).tiny


def sigmoid_focal_loss_forward(
    input: Tensor, target: Tensor, weight: Tensor, output: Tensor, gamma: float, alpha: float
) -> None:
    """Fill ``output`` (N, C) with -a (1 - q)^gamma log q, q the probability of the right answer.

    ``input`` holds logits (N, C), ``target`` a class (N,) in 0 .. C - 1 (any other value: all C answers are no),
    ``weight`` (C,) the factor of a row by its target, or nothing; a is ``alpha`` for yes and 1 - ``alpha`` for no.
    """
    sign, factor, gamma = _answers(input, target, weight, gamma, alpha)
    right = sign * input
    output.copy_(-factor * torch.sigmoid(-right) ** gamma * _log_sigmoid(right))


def sigmoid_focal_loss_backward(
    input: Tensor, target: Tensor, weight: Tensor, grad_input: Tensor, gamma: float, alpha: float
) -> None:
    """Fill ``grad_input`` (N, C) with the derivative of each loss by its logit."""
    sign, factor, gamma = _answers(input, target, weight, gamma, alpha)
    right = sign * input
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
    q, factor = _target_probability(input, target, weight, alpha)
    output.copy_(-factor * (1 - q) ** float32(gamma) * q.clamp(min=SMALLEST).log())


def softmax_focal_loss_backward(
    input: Tensor, target: Tensor, weight: Tensor, buff: Tensor, grad_input: Tensor, gamma: float, alpha: float
) -> None:
    """Fill ``buff`` (N,) with q times the derivative by q, and ``grad_input`` (N, C) with that by each logit."""
    q, factor = _target_probability(input, target, weight, alpha)
    gamma = float32(gamma)
    log_q = q.clamp(min=SMALLEST).log()
    buff.copy_(factor * (gamma * (1 - q) ** (gamma - 1) * q * log_q - (1 - q) ** gamma))
    hit = torch.arange(input.shape[1], device=input.device) == target[:, None]  # N, C
    grad_input.copy_(buff[:, None] * (hit.to(input) - input))


def _log_sigmoid(x: Tensor) -> Tensor:
    return logsigmoid(x).clamp(min=torch.tensor(SMALLEST).log().item())


def _answers(input: Tensor, target: Tensor, weight: Tensor, gamma: float, alpha: float) -> tuple[Tensor, Tensor, float]:
    """+1 for yes and -1 for no (N, C), the factor of each loss (N, C), gamma."""
    yes = (torch.arange(input.shape[1], device=input.device) == target[:, None]).to(input)  # N, C
    alpha = float32(alpha)
    factor = yes * alpha + (1 - yes) * (1 - alpha)
    return 2 * yes - 1, factor * _row_weight(target, weight), float32(gamma)


def _target_probability(input: Tensor, target: Tensor, weight: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """Probability of the target (N,) and the factor of the loss (N,), 0 where the target is negative."""
    counts = target >= 0
    q = input.gather(1, target.clamp(min=0)[:, None])[:, 0]
    return q, counts.to(input) * float32(alpha) * _row_weight(target, weight)[:, 0]


def _row_weight(target: Tensor, weight: Tensor) -> Tensor:
    """Class weight (N, 1) of each row; 1 without class weights, or where the target is no class."""
    known = (target >= 0) & (target < len(weight))
    padded = torch.cat([weight, weight.new_ones(1)])
    return padded[target.where(known, len(weight))][:, None]
