"""Non-maximum suppression of upright boxes (x1, y1, x2, y2): hard, soft, and with the suppressed boxes listed.

Hard suppression is torchvision's compiled operator. The other two are sequential by nature and run on the CPU in
mmcv too; here a step compares one box with all others at once. Ties in the score keep the order of the boxes.
"""

import numpy as np
import torch
import torchvision  # noqa: F401 (registers torch.ops.torchvision)
from torch import Tensor

from fan_dense.compat.ops.common import at_least_float32, float32

NAIVE, LINEAR, GAUSSIAN = 0, 1, 2


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int) -> Tensor:
    """Indices (K,) of the kept boxes, best first: an IoU > ``iou_threshold`` with a better box suppresses.

    ``boxes`` (N, 4) in pixels, ``scores`` (N,); ``offset`` 1 counts whole pixels (width x2 - x1 + 1).
    """
    boxes, scores = at_least_float32(boxes, scores)
    far_edges = boxes.new_tensor([0, 0, offset, offset])
    return torch.ops.torchvision.nms(boxes + far_edges, scores, float32(iou_threshold))


def softnms(
    boxes: Tensor,
    scores: Tensor,
    dets: Tensor,
    iou_threshold: float,
    sigma: float,
    min_score: float,
    method: int,
    offset: int,
) -> Tensor:
    """Soft-NMS (Bodla et al., 2017): an overlap with a better box lowers the score instead of removing the box.

    The best box of those left is picked first, the others are rescored by their IoU with it: x 0 (naive) or
    x (1 - IoU) (linear) from ``iou_threshold`` on, or x exp(-IoU^2 / sigma) whatever the threshold (gaussian). A box
    is dropped as soon as its score falls below ``min_score``; the first pick always stays.

    ``boxes`` (N, 4) in pixels, ``scores`` (N,). Returns the indices (K,) in the order of selection and fills the first
    K rows of ``dets`` (N, 5) with these boxes and their scores.
    """
    iou_threshold, sigma, min_score = (np.float32(value) for value in (iou_threshold, sigma, min_score))
    corners = boxes.detach().float().cpu().numpy().copy()
    score = scores.detach().float().cpu().numpy().copy()
    index = np.arange(len(score))
    left, picked = len(score), 0
    while picked < left:
        best = picked + int(np.argmax(score[picked:left]))
        for column in (corners, score, index):
            column[[picked, best]] = column[[best, picked]]
        rest = slice(picked + 1, left)
        iou = _iou(corners[picked], corners[rest], offset)
        if method == GAUSSIAN:
            score[rest] *= np.exp(-iou * iou / sigma)
        else:
            score[rest] *= np.where(iou >= iou_threshold, 1 - iou if method == LINEAR else np.float32(0), np.float32(1))
        picked += 1
        left = picked + _fill_gaps(~(score[rest] < min_score), corners[rest], score[rest], index[rest])
    dets[:left] = torch.from_numpy(np.column_stack([corners[:left], score[:left]])).to(dets)
    return torch.from_numpy(index[:left].copy())


def nms_match(dets: Tensor, iou_threshold: float) -> list[list[int]]:
    """Groups of indices: a kept box, then those that it suppresses (IoU >= ``iou_threshold``) in order of their score.

    ``dets`` (N, 5) holds boxes in pixels and their scores.
    """
    boxes = dets[:, :4].detach().float().cpu().numpy()
    order = dets[:, 4].sort(descending=True, stable=True).indices.cpu().numpy()
    groups = []
    while len(order):
        iou = _iou(boxes[order[0]], boxes[order[1:]], offset=0)
        suppressed = iou >= np.float32(iou_threshold)
        groups.append([int(order[0]), *order[1:][suppressed].tolist()])
        order = order[1:][~suppressed]
    return groups


def _iou(box: np.ndarray, boxes: np.ndarray, offset: int) -> np.ndarray:
    """IoU (N,) of one box (4,) with others (N, 4); 0 / 0 is nan, which never suppresses."""
    size = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2]) + np.float32(offset)
    inter = np.maximum(size, 0).prod(1)
    area, areas = ((b[..., 2:] - b[..., :2] + np.float32(offset)).prod(-1) for b in (box, boxes))
    with np.errstate(invalid='ignore', divide='ignore'):
        return inter / (area + areas - inter)


def _fill_gaps(keep: np.ndarray, *columns: np.ndarray) -> int:
    """Move the kept rows to the front, in place, and return their number.

    A dropped row is replaced by the last one kept, as mmcv does: the order decides between equal scores later.
    """
    count = int(keep.sum())
    gaps = np.flatnonzero(~keep[:count])
    fillers = count + np.flatnonzero(keep[count:])[::-1]
    for column in columns:
        column[gaps] = column[fillers]
    return count
