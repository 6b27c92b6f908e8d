from itertools import product

import pytest
import torch
from mmcv.ops import bbox_overlaps

DOUBLE = torch.float64


def overlap(a, b, mode, offset):
    width = max(min(a[2], b[2]) - max(a[0], b[0]) + offset, 0)
    height = max(min(a[3], b[3]) - max(a[1], b[1]) + offset, 0)
    area_a, area_b = ((c[2] - c[0] + offset) * (c[3] - c[1] + offset) for c in (a, b))
    return width * height / (area_a + area_b - width * height if mode == 'iou' else area_a)


def boxes(n):
    corner = torch.rand(n, 2, dtype=DOUBLE) * 20
    return torch.cat([corner, corner + torch.rand(n, 2, dtype=DOUBLE) * 15], 1)


@pytest.mark.parametrize('mode', ['iou', 'iof'])
@pytest.mark.parametrize('offset', [0, 1])
def test_values(mode, offset):
    first, second = boxes(6), boxes(8)
    expected = torch.zeros(6, 8, dtype=DOUBLE)
    for i, j in product(range(6), range(8)):
        expected[i, j] = overlap(first[i].tolist(), second[j].tolist(), mode, offset)
    torch.testing.assert_close(bbox_overlaps(first, second, mode, False, offset), expected)
    torch.testing.assert_close(bbox_overlaps(first, second[:6], mode, True, offset), expected[:, :6].diag())
    strided = torch.empty(4, 6, dtype=DOUBLE).T.copy_(first)
    assert torch.equal(bbox_overlaps(strided, second, mode), bbox_overlaps(first, second, mode))


def test_points():
    point = torch.tensor([[3.0, 3, 3, 3]])
    assert bbox_overlaps(point, point).isnan().all()
    assert bbox_overlaps(point, point, offset=1).item() == 1


def test_half_precision_rounds_only_the_result():
    first, second = boxes(6).half(), boxes(8).half()
    exact = bbox_overlaps(first.double(), second.double())
    torch.testing.assert_close(bbox_overlaps(first, second).double(), exact, rtol=1e-3, atol=1e-6)


def test_nothing():
    assert bbox_overlaps(torch.zeros(0, 4), torch.ones(3, 4)).shape == (0, 3)
    assert bbox_overlaps(torch.ones(3, 4), torch.zeros(0, 4)).shape == (3, 0)
