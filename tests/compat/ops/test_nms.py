import numpy as np
import pytest
import torch
from mmcv.ops import nms, nms_match, soft_nms


def iou(a, b, offset):
    """IoU of two boxes in float32, nan for 0 / 0."""
    a, b, offset = np.float32(a), np.float32(b), np.float32(offset)
    width = max(min(a[2], b[2]) - max(a[0], b[0]) + offset, np.float32(0))
    height = max(min(a[3], b[3]) - max(a[1], b[1]) + offset, np.float32(0))
    area_a, area_b = ((c[2] - c[0] + offset) * (c[3] - c[1] + offset) for c in (a, b))
    with np.errstate(invalid='ignore'):
        return width * height / (area_a + area_b - width * height)


def hard(boxes, scores, threshold, offset):
    """Kept indices, best first."""
    kept = []
    for i in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if not any(iou(boxes[k], boxes[i], offset) > np.float32(threshold) for k in kept):
            kept.append(i)
    return kept


def soft(boxes, scores, threshold, sigma, min_score, method, offset):
    """Picked (index, score), by exchange in a list, one box at a time."""
    rows, picked = [[i, boxes[i], np.float32(scores[i])] for i in range(len(boxes))], []
    while rows:
        best = max(range(len(rows)), key=lambda i: rows[i][2])
        rows[0], rows[best] = rows[best], rows[0]
        chosen, rows = rows[0], rows[1:]
        picked.append((chosen[0], float(chosen[2])))
        i = 0
        while i < len(rows):
            overlap = iou(chosen[1], rows[i][1], offset)
            factor = {
                'naive': 0 if overlap >= np.float32(threshold) else 1,
                'linear': 1 - overlap if overlap >= np.float32(threshold) else 1,
                'gaussian': np.exp(-overlap * overlap / np.float32(sigma)),
            }[method]
            rows[i][2] = np.float32(rows[i][2] * factor)
            if rows[i][2] < np.float32(min_score):
                rows[i] = rows[-1]
                rows.pop()
            else:
                i += 1
    return picked


def crowd(n, whole=False):
    """Overlapping boxes (n, 4) and distinct scores (n,)."""
    corner, size = torch.rand(n, 2) * 40, torch.rand(n, 2) * 30 + 2
    boxes = torch.cat([corner, corner + size], 1)
    return boxes.round() if whole else boxes, torch.randperm(n) / n


@pytest.mark.parametrize('offset', [0, 1])
@pytest.mark.parametrize('threshold', [0.0, 0.1, 0.3, 0.5, 0.6, 1.0])
@pytest.mark.parametrize('whole', [True, False])
def test_nms(offset, threshold, whole):
    boxes, scores = crowd(60, whole)
    dets, kept = nms(boxes, scores, threshold, offset)
    assert kept.tolist() == hard(boxes.numpy(), scores.numpy(), threshold, offset)
    assert torch.equal(dets, torch.cat([boxes[kept], scores[kept, None]], 1))


def test_nms_threshold_is_a_float32():
    # An IoU of 0.3 in float32 is above the double 0.3, but not above the float.
    boxes = torch.tensor([[0.0, 0, 13, 1], [7, 0, 20, 1]])
    assert float(iou(*boxes.numpy(), 0)) > 0.3
    assert nms(boxes, torch.tensor([0.9, 0.8]), 0.3)[1].tolist() == [0, 1]


def test_nms_touching_boxes_overlap_only_with_offset():
    boxes = torch.tensor([[0.0, 0, 9, 9], [9, 0, 18, 9]])
    scores = torch.tensor([0.5, 0.9])
    assert nms(boxes, scores, 0.05, offset=0)[1].tolist() == [1, 0]
    assert nms(boxes, scores, 0.05, offset=1)[1].tolist() == [1]


def test_nms_points_do_not_suppress_each_other():
    boxes = torch.ones(3, 4)
    assert nms(boxes, torch.tensor([0.2, 0.9, 0.5]), 0.1)[1].tolist() == [1, 2, 0]


def test_nms_ties_keep_their_order():
    boxes = torch.tensor([[0.0, 0, 1, 1]]).repeat(40, 1) + torch.arange(40.0)[:, None] * 2
    assert nms(boxes, torch.ones(40), 0.5)[1].tolist() == list(range(40))


@pytest.mark.parametrize('offset', [0, 1])
def test_nms_nothing(offset):
    dets, kept = nms(torch.zeros(0, 4), torch.zeros(0), 0.5, offset)
    assert dets.shape == (0, 5)
    assert kept.dtype == torch.long
    assert kept.shape == (0,)


def test_nms_any_layout_and_dtype():
    boxes, scores = crowd(50)
    expected = nms(boxes, scores, 0.4)[1]
    strided = torch.empty(4, 50).T.copy_(boxes)
    assert torch.equal(nms(strided, torch.stack([scores, scores], 1)[:, 0], 0.4)[1], expected)
    assert torch.equal(nms(boxes.double(), scores.double(), 0.4)[1], expected)
    half = boxes.half()
    assert torch.equal(nms(half, scores, 0.4)[1], nms(half.float(), scores, 0.4)[1])


@pytest.mark.parametrize('method', ['naive', 'linear', 'gaussian'])
@pytest.mark.parametrize('offset', [0, 1])
@pytest.mark.parametrize('min_score', [0.0, 0.05, 0.4])
@pytest.mark.parametrize('ties', [True, False])
def test_soft_nms(method, offset, min_score, ties):
    boxes, scores = crowd(40)
    if ties:
        scores = (scores * 4).round() / 4
    dets, kept = soft_nms(boxes, scores, 0.3, 0.5, min_score, method, offset)
    expected = soft(boxes.numpy(), scores.numpy(), 0.3, 0.5, min_score, method, offset)
    assert kept.tolist() == [i for i, _ in expected]
    torch.testing.assert_close(dets[:, 4], torch.tensor([s for _, s in expected]), rtol=0, atol=1e-6)
    assert torch.equal(dets[:, :4], boxes[kept])


def test_soft_nms_keeps_the_first_whatever_its_score():
    dets, kept = soft_nms(torch.tensor([[0.0, 0, 4, 4], [20, 20, 24, 24]]), torch.tensor([0.1, 0.2]), min_score=0.9)
    assert kept.tolist() == [1]
    assert dets[0, 4].item() == pytest.approx(0.2)


@pytest.mark.parametrize(('method', 'score'), [('naive', 0.0), ('linear', 0.4)])
def test_soft_nms_counts_an_overlap_equal_to_the_threshold(method, score):
    boxes = torch.tensor([[0.0, 0, 4, 4], [0, 0, 4, 2]])  # IoU 1/2
    dets, _ = soft_nms(boxes, torch.tensor([0.9, 0.8]), 0.5, min_score=0.0, method=method)
    assert dets[1, 4].item() == pytest.approx(score)


def test_soft_nms_nothing():
    dets, kept = soft_nms(torch.zeros(0, 4), torch.zeros(0))
    assert dets.shape == (0, 5)
    assert kept.shape == (0,)


def test_soft_nms_leaves_its_input_alone():
    boxes, scores = crowd(30)
    before = boxes.clone(), scores.clone()
    soft_nms(boxes, scores, min_score=0.2)
    assert torch.equal(boxes, before[0])
    assert torch.equal(scores, before[1])


@pytest.mark.parametrize('threshold', [0.1, 0.3, 0.7])
def test_nms_match(threshold):
    boxes, scores = crowd(50, whole=True)
    order = sorted(range(50), key=lambda i: -scores[i])
    expected = []
    while order:
        group = [i for i in order[1:] if iou(boxes[order[0]], boxes[i], 0) >= np.float32(threshold)]
        expected.append([order[0], *group])
        order = [i for i in order[1:] if i not in group]
    groups = nms_match(torch.cat([boxes, scores[:, None]], 1), threshold)
    assert [group.tolist() for group in groups] == expected


def test_nms_match_nothing():
    assert nms_match(torch.zeros(0, 5), 0.5) == []
