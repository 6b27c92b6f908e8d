import math

import pytest
import torch
from mmcv.ops import batched_nms, box_iou_quadri, box_iou_rotated, nms_quadri, nms_rotated


def corners(box):
    x, y, width, height, angle = box
    cos, sin = math.cos(angle), math.sin(angle)
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return [
        (x + i * width / 2 * cos - j * height / 2 * sin, y + i * width / 2 * sin + j * height / 2 * cos)
        for i, j in signs
    ]


def area(polygon):
    return sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(polygon, polygon[1:] + polygon[:1])) / 2


def clip(polygon, other):
    """Sutherland-Hodgman: what of a polygon lies in a convex one, both counter-clockwise."""
    for a, b in zip(other, other[1:] + other[:1]):
        side = [(b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) for p in polygon]
        kept = []
        for i, p in enumerate(polygon):
            q, s, t = polygon[i - 1], side[i], side[i - 1]
            if s * t < 0:
                kept.append(tuple(q[k] + (p[k] - q[k]) * t / (t - s) for k in (0, 1)))
            if s >= 0:
                kept.append(p)
        polygon = kept
    return polygon


def overlap(first, second, mode='iou'):
    inter = abs(area(clip(first, second)))
    return inter / (area(first) + area(second) - inter if mode == 'iou' else area(first))


def boxes(n):
    return torch.rand(n, 5) * torch.tensor([20, 20, 12, 8, 6.0]) + torch.tensor([0, 0, 2, 2, -3.0])


def quadrilaterals(dets):
    return torch.tensor([corners(box) for box in dets.tolist()]).flatten(1)


@pytest.mark.parametrize('mode', ['iou', 'iof'])
@pytest.mark.parametrize('clockwise', [True, False])
def test_box_iou_rotated(mode, clockwise):
    first, second = boxes(12), boxes(15)
    turn = torch.tensor([1, 1, 1, 1, 1.0 if clockwise else -1.0])
    polygons = [[corners(box) for box in (side * turn).tolist()] for side in (first, second)]
    expected = torch.tensor([[overlap(a, b, mode) for b in polygons[1]] for a in polygons[0]])
    torch.testing.assert_close(box_iou_rotated(first, second, mode, False, clockwise), expected, rtol=0, atol=1e-5)
    aligned = box_iou_rotated(first, second[:12], mode, True, clockwise)
    torch.testing.assert_close(aligned, expected[:, :12].diag(), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ('second', 'expected'),
    [
        ([5, 5, 4, 2, 0.7], 1),  # the same box
        ([5, 5, 4, 2, 0.7 + math.pi], 1),  # turned to itself
        ([5, 5, 2, 4, 0.7 + math.pi / 2], 1),  # sides exchanged
        ([5, 5, 8, 4, 0.7], 0.25),  # around it
        ([5 + 4 * math.cos(0.7), 5 + 4 * math.sin(0.7), 4, 2, 0.7], 0),  # touching
        ([5 + 2 * math.cos(0.7), 5 + 2 * math.sin(0.7), 4, 2, 0.7], 1 / 3),  # shifted along a common side
        ([5, 5, 0, 2, 0.7], 0),  # without area
        ([500, 5, 4, 2, 0.7], 0),  # far away
    ],
)
def test_box_iou_rotated_special(second, expected):
    value = box_iou_rotated(torch.tensor([[5, 5, 4, 2, 0.7]]), torch.tensor([second], dtype=torch.float32))
    assert value.item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize('mode', ['iou', 'iof'])
def test_box_iou_quadri_of_rectangles_either_way_round(mode):
    first, second = boxes(10), boxes(10)
    quads = [quadrilaterals(side) for side in (first, second)]
    backwards = quads[1].view(-1, 4, 2).flip(1).reshape(-1, 8)
    expected = box_iou_rotated(first, second, mode)
    torch.testing.assert_close(box_iou_quadri(*quads, mode), expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(box_iou_quadri(quads[0], backwards, mode), expected, rtol=0, atol=1e-5)


def greedy(dets, scores, threshold, labels):
    polygons, kept = [corners(box) for box in dets.tolist()], []
    for i in scores.argsort(descending=True).tolist():
        if all(labels[k] != labels[i] or overlap(polygons[k], polygons[i]) < threshold for k in kept):
            kept.append(i)
    return kept


@pytest.mark.parametrize('with_labels', [True, False])
def test_nms(with_labels):
    dets, scores, labels = boxes(40), torch.randperm(40) / 40, torch.randint(0, 3, (40,))
    given = labels if with_labels else None
    expected = greedy(dets, scores, 0.2, labels if with_labels else torch.zeros(40))
    kept_dets, kept = nms_rotated(dets, scores, 0.2, given)
    assert kept.tolist() == expected
    assert torch.equal(kept_dets, torch.cat([dets[kept], scores[kept, None]], 1))
    assert nms_quadri(quadrilaterals(dets), scores, 0.2, given)[1].tolist() == expected


def test_batched_nms_of_rotated_boxes():
    dets, scores, labels = boxes(40), torch.randperm(40) / 40, torch.randint(0, 3, (40,))
    _, kept = batched_nms(dets, scores, labels, {'type': 'nms_rotated', 'iou_threshold': 0.2})
    assert kept.tolist() == greedy(dets, scores, 0.2, labels)


def test_nothing():
    assert box_iou_rotated(torch.zeros(0, 5), boxes(3)).shape == (0, 3)
    assert box_iou_rotated(boxes(3), torch.zeros(0, 5)).shape == (3, 0)
    assert box_iou_quadri(torch.zeros(0, 8), torch.zeros(0, 8), aligned=True).shape == (0,)
    assert nms_rotated(torch.zeros(0, 5), torch.zeros(0), 0.5)[1] is None
