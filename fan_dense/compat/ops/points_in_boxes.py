"""Which points (x, y, z) lie in which boxes (bottom centre x, y, z, size x, y, z, rotation about z in radians)."""

import torch
from torch import Tensor


def points_in_boxes_cpu_forward(boxes: Tensor, points: Tensor, point_indices: Tensor) -> None:
    """Fill ``point_indices`` (T, M) with 1 where the box (T, 7) holds the point (M, 3), else 0."""
    point_indices.copy_(_inside(points, boxes).T)


def points_in_boxes_all_forward(boxes: Tensor, points: Tensor, box_idxs_of_pts: Tensor) -> None:
    """Fill ``box_idxs_of_pts`` (B, M, T) with 1 where the box (B, T, 7) holds the point (B, M, 3), else 0."""
    box_idxs_of_pts.copy_(_inside(points, boxes))


def points_in_boxes_part_forward(boxes: Tensor, points: Tensor, box_idxs_of_pts: Tensor) -> None:
    """Fill ``box_idxs_of_pts`` (B, M) with the first box (B, T, 7) that holds the point (B, M, 3), or -1."""
    inside = _inside(points, boxes)
    missed = torch.full_like(inside[..., :1], True)
    first = torch.cat([inside, missed], -1).int().argmax(-1)
    box_idxs_of_pts.copy_(first.where(first < inside.shape[-1], -1))


def _inside(points: Tensor, boxes: Tensor) -> Tensor:
    """(..., M, T) for points (..., M, 3) and boxes (..., T, 7)."""
    centre, size, angle = boxes[..., None, :, :3], boxes[..., None, :, 3:6], boxes[..., None, :, 6]
    x, y, z = (points[..., :, None, :] - centre).unbind(-1)  # ..., M, T
    cos, sin = angle.cos(), angle.sin()
    along, across = x * cos + y * sin, y * cos - x * sin
    half = size / 2
    upright = (z - half[..., 2]).abs() <= half[..., 2]
    return upright & (along.abs() < half[..., 0]) & (across.abs() < half[..., 1])
