"""Active rotating filters (Zhou et al., Oriented Response Networks, 2017)."""

import torch
from torch import Tensor


def active_rotated_filter_forward(input: Tensor, indices: Tensor, output: Tensor) -> None:
    """Fill ``output`` (O R, I orientations, h, w) with R rotations of the filters (O, I, orientations, h, w).

    ``indices`` (orientations, h, w, R), counted from 1, says where an element goes under each rotation.
    """
    out, into = input.shape[:2]
    places = _places(indices)  # R, E
    source = input.reshape(out, 1, into, -1).expand(-1, len(places), -1, -1)  # O, R, I, E
    rotated = torch.empty_like(source).scatter_(3, places[None, :, None].expand_as(source), source)
    output.copy_(rotated.reshape(output.shape))


def active_rotated_filter_backward(grad_output: Tensor, indices: Tensor, grad_input: Tensor) -> None:
    """Fill ``grad_input``: each element collects from all its rotations."""
    out, into = grad_input.shape[:2]
    places = _places(indices)
    grad = grad_output.reshape(out, len(places), into, -1)  # O, R, I, E
    grad_input.copy_(grad.gather(3, places[None, :, None].expand_as(grad)).sum(1).view(grad_input.shape))


def _places(indices: Tensor) -> Tensor:
    """(orientations, h, w, R) from 1 -> (R, E) from 0"""
    return indices.flatten(0, 2).T.long() - 1
