"""Operators on point clouds and on labelled regions."""

import math
from collections import deque
from itertools import product

import mmcv._ext as extension
import numpy as np
import pytest
import torch
from mmcv.ops import contour_expand, pixel_group, points_in_boxes_cpu, voxelization


def flood(labels, seeds, steps, may_join):
    """Breadth-first search, one pixel at a time."""
    queue = deque(seeds)
    while queue:
        y, x = queue.popleft()
        for dy, dx in steps:
            v, u = y + dy, x + dx
            inside = 0 <= v < labels.shape[0] and 0 <= u < labels.shape[1]
            if inside and labels[v, u] == 0 and may_join(v, u, labels[y, x]):
                labels[v, u] = labels[y, x]
                queue.append((v, u))


def scattered_labels(height, width, count):
    labels = np.zeros((height, width), np.int32)
    for label in range(1, count):
        y, x = np.random.default_rng(label).integers(0, (height - 2, width - 2))
        labels[y : y + 2, x : x + 2] = label
    return labels


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('min_area', [1, 3])
def test_contour_expand(seed, min_area):
    mask = (np.random.default_rng(seed).random((3, 14, 17)) > 0.3).astype(np.uint8)
    kernels = scattered_labels(14, 17, 6)
    expected = kernels.copy()
    for label in range(1, 6):
        if (kernels == label).sum() < min_area:
            expected[kernels == label] = 0
    seeds = list(zip(*np.nonzero(expected)))
    flood(expected, seeds, ((-1, 0), (1, 0), (0, -1), (0, 1)), lambda y, x, label: mask[0, y, x] > 0)
    assert contour_expand(mask, kernels, min_area, 3) == expected.tolist()


@pytest.mark.parametrize('seed', range(3))
def test_pixel_group(seed):
    rng = np.random.default_rng(seed)
    kernels, height, width = scattered_labels(12, 15, 5), 12, 15
    score, mask = rng.random((height, width), np.float32), rng.random((height, width)) > 0.2
    embedding = rng.normal(size=(height, width, 4)).astype(np.float32)
    contour = (kernels > 0).astype(np.uint8)
    means = {label: embedding[kernels == label].mean(0) for label in range(1, 5)}

    def near(y, x, label):
        return mask[y, x] and np.sum((means[label] - embedding[y, x]) ** 2) < 2.0**2

    labels = kernels.copy()
    flood(labels, list(zip(*np.nonzero(kernels))), ((0, -1), (0, 1), (-1, 0), (1, 0)), near)
    groups = pixel_group(score, mask, embedding, kernels, contour, 5, 2.0)
    assert groups[0] == [0, 0]
    for label in range(1, 5):
        y, x = np.nonzero(labels == label)
        assert groups[label][0] == pytest.approx(score[y, x].mean(), rel=1e-6)
        assert groups[label][1] == len(y)
        assert groups[label][2:] == np.column_stack([x, y]).ravel().tolist()


VOXEL, RANGE = (0.5, 1.0, 2.0), (0.0, -3.0, -2.0, 4.0, 3.0, 2.0)


def voxel_of(point):
    """z, y, x, or nothing outside the range."""
    place = [math.floor((point[k] - RANGE[k]) / VOXEL[k]) for k in range(3)]
    grid = [round((RANGE[3 + k] - RANGE[k]) / VOXEL[k]) for k in range(3)]
    return tuple(place[::-1]) if all(0 <= p < g for p, g in zip(place, grid)) else None


def cloud(n):
    return torch.rand(n, 4) * torch.tensor([5.0, 8, 6, 1]) - torch.tensor([0.5, 4, 3, 0])


def test_dynamic_voxels():
    points = cloud(100)
    expected = [list(voxel_of(point) or (-1, -1, -1)) for point in points.tolist()]
    assert voxelization(points, VOXEL, RANGE, -1, -1).tolist() == expected


@pytest.mark.parametrize(('max_points', 'max_voxels'), [(2, 1000), (5, 20), (1, 1)])
def test_hard_voxels(max_points, max_voxels):
    points = cloud(200)
    expected = {}
    for point in points.tolist():
        place = voxel_of(point)
        if place and (place in expected or len(expected) < max_voxels):
            expected.setdefault(place, []).append(point)
    voxels, places, counts = voxelization(points, VOXEL, RANGE, max_points, max_voxels)
    assert [tuple(place) for place in places.tolist()] == list(expected)
    assert counts.tolist() == [min(len(members), max_points) for members in expected.values()]
    for voxel, members in zip(voxels, expected.values()):
        filled = members[:max_points] + [[0.0] * 4] * (max_points - len(members))
        assert voxel.tolist() == filled


def test_no_point_in_range():
    voxels, places, counts = voxelization(cloud(5) + 100, VOXEL, RANGE, 3, 10)
    assert voxels.shape == (0, 3, 4)
    assert places.shape == (0, 3)
    assert counts.shape == (0,)


def inside(point, box):
    x, y, z = (point[k] - box[k] for k in range(3))
    cos, sin = math.cos(-box[6]), math.sin(-box[6])
    along, across = x * cos - y * sin, x * sin + y * cos
    return 0 <= z <= box[5] and abs(along) < box[3] / 2 and abs(across) < box[4] / 2


def test_points_in_boxes():
    points = torch.rand(2, 50, 3) * 6
    boxes = torch.rand(2, 4, 7) * torch.tensor([4, 4, 2, 3, 5, 4, 6.0]) + torch.tensor([1, 1, 0, 1, 1, 1, -3.0])
    expected = torch.zeros(2, 50, 4, dtype=torch.int32)
    for n, m, t in product(range(2), range(50), range(4)):
        expected[n, m, t] = inside(points[n, m].tolist(), boxes[n, t].tolist())
    assert 0 < expected.sum() < expected.numel()
    assert torch.equal(points_in_boxes_cpu(points, boxes), expected)
    every = torch.zeros_like(expected)
    extension.points_in_boxes_all_forward(boxes, points, every)
    assert torch.equal(every, expected)
    first = torch.full((2, 50), -1, dtype=torch.int32)
    extension.points_in_boxes_part_forward(boxes, points, first)
    for n, m in product(range(2), range(50)):
        hits = expected[n, m].nonzero().flatten().tolist()
        assert first[n, m] == (hits[0] if hits else -1)
