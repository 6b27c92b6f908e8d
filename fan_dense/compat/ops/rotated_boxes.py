"""Overlap and suppression of rotated boxes and of convex quadrilaterals.

The intersection is the convex hull of the corners of each that lie in the other and of the crossings of their edges.
All of it in float64, and only for pairs whose extents overlap.
"""

import torch
from torch import Tensor

from fan_dense.compat.ops.common import float32

IOU, IOF = 0, 1
ROUNDING = 1e-9  # of the size of the polygons: points this close to an edge lie on it
EMPTY = 1e-14
PAIRS_AT_ONCE = 1 << 15


def box_iou_rotated(bboxes1: Tensor, bboxes2: Tensor, ious: Tensor, mode_flag: int, aligned: bool) -> None:
    """Fill ``ious`` (M N,), or (M,) if ``aligned``, for boxes (M, 5) and (N, 5): x, y, width, height, angle in radians.

    x, y is the centre. ``mode_flag`` 0 is intersection over union, 1 over the first box; a box without area overlaps
    nothing.
    """
    ious.copy_(_overlaps(_corners(bboxes1), _corners(bboxes2), mode_flag, aligned))


def box_iou_quadri(bboxes1: Tensor, bboxes2: Tensor, ious: Tensor, mode_flag: int, aligned: bool) -> None:
    """The same for convex quadrilaterals (M, 8) and (N, 8): x1, y1 .. x4, y4 round the outline."""
    ious.copy_(_overlaps(_quads(bboxes1), _quads(bboxes2), mode_flag, aligned))


def nms_rotated(
    dets: Tensor,
    scores: Tensor,
    order: Tensor,
    dets_sorted: Tensor,
    labels: Tensor,
    iou_threshold: float,
    multi_label: int,
) -> Tensor:
    """Indices (K,) of the kept boxes, best first; an IoU >= ``iou_threshold`` with a better box suppresses.

    ``dets_sorted`` holds the boxes (N, 5) by falling score, and, with ``multi_label``, a label each (N, 6): boxes of
    different labels do not suppress each other.
    """
    return order[_suppress(_corners(dets_sorted[:, :5]), dets_sorted[:, 5:], iou_threshold)]


def nms_quadri(
    dets: Tensor, scores: Tensor, order: Tensor, dets_sorted: Tensor, iou_threshold: float, multi_label: int
) -> Tensor:
    """The same for convex quadrilaterals (N, 8), or (N, 9) with a label."""
    return order[_suppress(_quads(dets_sorted[:, :8]), dets_sorted[:, 8:], iou_threshold)]


def _corners(boxes: Tensor) -> Tensor:
    """Corners (N, 4, 2) of rotated boxes (N, 5)."""
    boxes = boxes.double()
    cos, sin = boxes[:, 4].cos(), boxes[:, 4].sin()
    half_width = torch.stack([cos, sin], 1) * boxes[:, 2:3] / 2
    half_height = torch.stack([-sin, cos], 1) * boxes[:, 3:4] / 2
    signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    return torch.stack([boxes[:, :2] + i * half_width + j * half_height for i, j in signs], 1)


def _quads(boxes: Tensor) -> Tensor:
    return boxes.double().view(-1, 4, 2)


def _suppress(polygons: Tensor, labels: Tensor, iou_threshold: float) -> Tensor:
    """Places (K,) that stay of polygons (N, 4, 2) by falling score; different ``labels`` (N, 0 or 1) never meet."""
    left, kept = torch.arange(len(polygons), device=polygons.device), []
    while len(left):
        best, left = left[0], left[1:]
        kept.append(best)
        iou = _overlaps(polygons[best][None], polygons[left], IOU, aligned=False).float()
        same = (labels[left] == labels[best]).all(1)
        left = left[~(same & (iou >= float32(iou_threshold)))]
    return torch.stack(kept)


def _overlaps(first: Tensor, second: Tensor, mode: int, aligned: bool) -> Tensor:
    """Overlaps (M N,), or (M,), of polygons (M, 4, 2) and (N, 4, 2)."""
    if aligned:
        i = j = torch.arange(len(first), device=first.device)
    else:
        i = torch.arange(len(first), device=first.device).repeat_interleave(len(second))
        j = torch.arange(len(second), device=first.device).repeat(len(first))
    apart = (first.amin(1)[i] > second.amax(1)[j]) | (second.amin(1)[j] > first.amax(1)[i])
    area, areas = _area(first)[i], _area(second)[j]
    near = (~apart.any(1) & (area >= EMPTY) & (areas >= EMPTY)).nonzero()[:, 0]
    inter = torch.zeros_like(area)
    for pairs in near.split(PAIRS_AT_ONCE):
        inter[pairs] = _intersection(first[i[pairs]], second[j[pairs]])
    return (inter / (area + areas - inter if mode == IOU else area)).nan_to_num(0)


def _intersection(first: Tensor, second: Tensor) -> Tensor:
    """Areas (P,) of the intersections of polygons (P, 4, 2) and (P, 4, 2)."""
    origin = first.mean(1, keepdim=True)
    first, second = first - origin, second - origin
    crossings, meet = _crossings(first, second)
    points = torch.cat([first, second, crossings], 1)  # P, 24, 2
    return _hull_area(points, torch.cat([_inside(first, second), _inside(second, first), meet], 1))


def _area(polygons: Tensor) -> Tensor:
    """Areas (P,) of polygons (P, K, 2)."""
    return _cross(polygons, polygons.roll(-1, 1)).sum(1).abs() / 2


def _cross(a: Tensor, b: Tensor) -> Tensor:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _inside(points: Tensor, polygons: Tensor) -> Tensor:
    """Which points (P, 4, 2) lie in the polygons (P, 4, 2) or on their outline (P, 4).

    NOTE: the test, by the projections on two sides, is that of a rectangle. mmcv applies it to all quadrilaterals.
    """
    sides = polygons[:, [1, 3]] - polygons[:, :1]  # P, 2, 2
    along = (points - polygons[:, :1]) @ sides.transpose(1, 2)  # P, point, side
    length = sides.square().sum(-1)[:, None]
    return ((along >= -ROUNDING * length) & (along <= (1 + ROUNDING) * length)).all(-1)


def _crossings(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Where each edge meets each other (P, 16, 2), and whether it does (P, 16)."""
    along = (first.roll(-1, 1) - first)[:, :, None]  # P, 4, 1, 2
    across = (second.roll(-1, 1) - second)[:, None]  # P, 1, 4, 2
    between = second[:, None] - first[:, :, None]  # P, 4, 4, 2
    determinant = _cross(along, across)
    t, u = _cross(between, across) / determinant, _cross(between, along) / determinant
    meet = (determinant.abs() > EMPTY) & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
    points = first[:, :, None] + t.where(meet, 0)[..., None] * along
    return points.flatten(1, 2), meet.flatten(1)


def _hull_area(points: Tensor, valid: Tensor) -> Tensor:
    """Areas (P,) of the convex hulls of the ``valid`` (P, K) ones of the points (P, K, 2), by walking round them."""
    lowest = points[..., 1].where(valid, torch.inf).argmin(1)
    start = _pick(points, lowest)
    points = torch.where(valid[..., None], points, start) - start  # the walk begins and ends at 0
    near = ROUNDING * points.abs().amax((1, 2))[:, None]  # P, 1
    place, heading = torch.zeros_like(start), torch.zeros_like(near)
    area, walking = torch.zeros_like(near), torch.ones_like(near, dtype=torch.bool)
    for _ in range(points.shape[1]):
        rays = points - place
        angle = torch.atan2(rays[..., 1], rays[..., 0])  # P, K
        turn = (angle - heading + ROUNDING) % (2 * torch.pi)
        following = turn.where(rays.norm(dim=2) > near, torch.inf).argmin(1)
        target, heading = _pick(points, following), angle.gather(1, following[:, None])
        area = area + _cross(place, target).where(walking, 0) / 2
        place, walking = target, walking & (target.norm(dim=2) > near)
        if not walking.any():
            break
    return area[:, 0]


def _pick(points: Tensor, index: Tensor) -> Tensor:
    """Point number ``index`` (P,) of (P, K, 2), as (P, 1, 2)."""
    return points.gather(1, index[:, None, None].expand(-1, 1, 2))
