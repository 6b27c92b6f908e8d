"""Point-wise spatial attention (Zhao et al., PSANet, 2018): masks relative to a pixel become maps over all pixels.

Shapes: mask (N, h_mask w_mask, H, W), maps (N, H W, H, W). At pixel p the mask says how much each neighbour q counts;
``collect`` puts that at maps[n, q, p], ``distribute`` at maps[n, p, q].
"""

import torch
from torch import Tensor

COLLECT, DISTRIBUTE = 0, 1


def psamask_forward(
    input: Tensor,
    output: Tensor,
    psa_type: int,
    num_: int,
    h_feature: int,
    w_feature: int,
    h_mask: int,
    w_mask: int,
    half_h_mask: int,
    half_w_mask: int,
) -> None:
    """Fill ``output`` (maps) from ``input`` (mask)."""
    index, inside = _neighbours(output, h_mask, w_mask, half_h_mask, half_w_mask)
    maps = input.flatten(2).gather(1, index.expand(num_, -1, -1)) * inside  # N, q, p
    output.copy_((maps if psa_type == COLLECT else maps.transpose(1, 2)).view(output.shape))


def psamask_backward(
    grad_output: Tensor,
    grad_input: Tensor,
    psa_type: int,
    num_: int,
    h_feature: int,
    w_feature: int,
    h_mask: int,
    w_mask: int,
    half_h_mask: int,
    half_w_mask: int,
) -> None:
    """Fill ``grad_input`` (mask), which comes as zeros."""
    index, inside = _neighbours(grad_output, h_mask, w_mask, half_h_mask, half_w_mask)
    maps = grad_output.flatten(2)
    grad = (maps if psa_type == COLLECT else maps.transpose(1, 2)) * inside  # N, q, p
    grad_input.view(*grad_input.shape[:2], -1).scatter_add_(1, index.expand(num_, -1, -1), grad)


def _neighbours(maps: Tensor, h_mask: int, w_mask: int, half_h: int, half_w: int) -> tuple[Tensor, Tensor]:
    """Element of the mask at pixel p that speaks of pixel q, and whether it reaches that far, both (q, p)."""
    height, width = maps.shape[2:]
    row = _distances(height, half_h, maps.device)[:, None, :, None]  # qy, 1, py, 1
    column = _distances(width, half_w, maps.device)[None, :, None, :]  # 1, qx, 1, px
    inside = (row >= 0) & (row < h_mask) & (column >= 0) & (column < w_mask)
    index = (row * w_mask + column).where(inside, 0)
    return index.reshape(height * width, -1), inside.reshape(height * width, -1)


def _distances(length: int, half: int, device: torch.device) -> Tensor:
    """q - p + half (q, p) along one axis."""
    place = torch.arange(length, device=device)
    return place[:, None] - place + half
