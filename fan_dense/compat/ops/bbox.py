"""Overlaps of upright boxes."""

import torch
from torch import Tensor

from fan_dense.compat.ops.common import at_least_float32

IOU, IOF = 0, 1


def bbox_overlaps(bboxes1: Tensor, bboxes2: Tensor, ious: Tensor, mode: int, aligned: bool, offset: int) -> None:
    """Fill ``ious`` with intersection over union, or over the first box (``mode`` 1), without an epsilon: 0 / 0 is nan.

    ``bboxes1`` (M, 4) and ``bboxes2`` (N, 4) hold x1, y1, x2, y2; ``ious`` is (M, N), or (M,) if ``aligned`` (M = N);
    ``offset`` 1 counts whole pixels (width x2 - x1 + 1).
    """
    boxes, others = at_least_float32(bboxes1, bboxes2)
    if not aligned:
        boxes = boxes[:, None]
    inter = 1
    for low, high in ((0, 2), (1, 3)):
        side = torch.minimum(boxes[..., high], others[..., high]) - torch.maximum(boxes[..., low], others[..., low])
        inter = (side + offset).clamp(min=0) * inter
    area, areas = ((b[..., 2] - b[..., 0] + offset) * (b[..., 3] - b[..., 1] + offset) for b in (boxes, others))
    ious.copy_(inter / (area + areas - inter if mode == IOU else area))
