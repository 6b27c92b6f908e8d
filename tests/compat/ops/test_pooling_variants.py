"""Relatives of RoIAlign: rotated, between Bezier curves, deformable, on borders, at the boxes of all pixels."""

import math
from itertools import product

import pytest
import torch
from mmcv.ops import bezier_align, border_align, deform_roi_pool, roi_align_rotated, rotated_feature_align

from tests.compat.ops.formulas import clamped_bilinear, grid, mean, pooled, spread

SIZE = (2, 3)
SHAPE = (2, 2, 6, 8)
DOUBLE = torch.float64


def gradcheck(function, *inputs):
    return torch.autograd.gradcheck(
        function, [tensor.detach().requires_grad_() for tensor in inputs], atol=1e-6, fast_mode=True
    )


ROTATED = torch.tensor(
    [[1, 7.1, 5.3, 6.0, 4.0, 0.3], [0, 1.0, 2.0, 9.0, 5.0, -1.2], [0, 60, 60, 4, 4, 0.5], [1, 8, 6, 0.5, 0.25, 2.0]],
    dtype=DOUBLE,
)


@pytest.mark.parametrize('aligned', [True, False])
@pytest.mark.parametrize('clockwise', [True, False])
@pytest.mark.parametrize('sampling_ratio', [0, 2])
def test_roi_align_rotated(aligned, clockwise, sampling_ratio):
    input = torch.randn(SHAPE, dtype=DOUBLE)

    def points(roi, row, column):
        _, cx, cy, width, height, angle = ROTATED[roi].tolist()
        cx, cy = cx / 2 - (0.5 if aligned else 0), cy / 2 - (0.5 if aligned else 0)
        width, height = (width / 2, height / 2) if aligned else (max(width / 2, 1), max(height / 2, 1))
        angle = -angle if clockwise else angle
        bin_h, bin_w = height / SIZE[0], width / SIZE[1]
        ys = spread(-height / 2 + row * bin_h, bin_h, grid(height, SIZE[0], sampling_ratio))
        xs = spread(-width / 2 + column * bin_w, bin_w, grid(width, SIZE[1], sampling_ratio))
        cos, sin = math.cos(angle), math.sin(angle)
        return [(y * cos - x * sin + cy, y * sin + x * cos + cx) for y, x in product(ys, xs)]

    def operator(input):
        return roi_align_rotated(input, ROTATED, SIZE, 0.5, sampling_ratio, aligned, clockwise)

    torch.testing.assert_close(operator(input), pooled(input, ROTATED[:, 0], points, SIZE, mean), rtol=0, atol=1e-12)
    assert gradcheck(operator, input)


BEZIERS = torch.tensor(
    [
        [0, 1, 1, 4, 0, 8, 2, 12, 1, 12, 8, 9, 9, 5, 7, 1, 9],
        [1, -3, -2, 2, -4, 6, 3, 9, 0, 9, 14, 6, 12, 3, 13, -1, 11],
    ],
    dtype=DOUBLE,
)


@pytest.mark.parametrize('aligned', [True, False])
@pytest.mark.parametrize('sampling_ratio', [0, 2])
def test_bezier_align(aligned, sampling_ratio):
    input = torch.randn(SHAPE, dtype=DOUBLE)

    def curve(control, u):
        weights = [math.comb(3, k) * u**k * (1 - u) ** (3 - k) for k in range(4)]
        return [sum(w * p[axis] for w, p in zip(weights, control)) for axis in (0, 1)]

    def points(roi, row, column):
        control = (BEZIERS[roi, 1:] / 2).view(8, 2).tolist()
        upper, lower = control[:4], control[:3:-1]
        width, height = (max(abs(c[0][axis] - c[3][axis]) for c in (upper, lower)) for axis in (0, 1))
        if not aligned:
            width, height = max(width, 1), max(height, 1)
        bin_h, bin_w = height / SIZE[0], width / SIZE[1]
        over, under, v = curve(upper, column / SIZE[1]), curve(lower, column / SIZE[1]), row / SIZE[0]
        cx, cy = (under[axis] * v + over[axis] * (1 - v) - (0.5 if aligned else 0) for axis in (0, 1))
        ys = spread(cy - bin_h / 2, bin_h, grid(height, SIZE[0], sampling_ratio))
        xs = spread(cx - bin_w / 2, bin_w, grid(width, SIZE[1], sampling_ratio))
        return list(product(ys, xs))

    def operator(input):
        return bezier_align(input, BEZIERS, SIZE, 0.5, sampling_ratio, aligned)

    torch.testing.assert_close(operator(input), pooled(input, BEZIERS[:, 0], points, SIZE, mean), rtol=0, atol=1e-12)
    assert gradcheck(operator, input)


BOXES = torch.tensor([[1, 1.3, 2.6, 11.2, 9.4], [0, -6.4, -3.2, 5.1, 4.4], [0, 60.0, 60.0, 70.0, 70.0]], dtype=DOUBLE)


@pytest.mark.parametrize('with_offset', [True, False])
@pytest.mark.parametrize('sampling_ratio', [0, 2])
def test_deform_roi_pool(with_offset, sampling_ratio):
    input, gamma = torch.randn(SHAPE, dtype=DOUBLE), 0.25
    offset = torch.randn(len(BOXES), 2, *SIZE, dtype=DOUBLE)

    def points(roi, row, column):
        x1, y1, x2, y2 = (BOXES[roi, 1:] / 2 - 0.5).tolist()
        height, width = y2 - y1, x2 - x1
        bin_h, bin_w = height / SIZE[0], width / SIZE[1]
        dx, dy = offset[roi, :, row, column].tolist() if with_offset else (0, 0)
        ys = spread(y1 + gamma * height * dy + row * bin_h, bin_h, grid(height, SIZE[0], sampling_ratio))
        xs = spread(x1 + gamma * width * dx + column * bin_w, bin_w, grid(width, SIZE[1], sampling_ratio))
        return list(product(ys, xs))

    def operator(input, offset=None):
        return deform_roi_pool(input, BOXES, offset, SIZE, 0.5, sampling_ratio, gamma)

    inputs = (input, offset) if with_offset else (input,)
    torch.testing.assert_close(operator(*inputs), pooled(input, BOXES[:, 0], points, SIZE, mean), rtol=0, atol=1e-12)
    assert gradcheck(operator, *inputs)


def test_inverted_boxes_have_no_points():
    boxes = torch.tensor([[0.0, 9, 9, 2, 3], [0, 9, 2, 3, 7]])
    offset = torch.zeros(2, 2, *SIZE)
    assert torch.equal(deform_roi_pool(torch.ones(SHAPE), boxes, offset, SIZE), torch.zeros(2, 2, *SIZE))


def test_border_align():
    input, pool_size = torch.randn(2, 8, 6, 8, dtype=DOUBLE), 3
    boxes = torch.rand(2, 5, 4, dtype=DOUBLE) * torch.tensor([6.0, 5, 6, 5]) - 1
    boxes[:, :, 2:] += 2
    planes, expected = input.tolist(), torch.zeros(2, 2, 5, 4, dtype=DOUBLE)
    for image, channel, box, side in product(*map(range, expected.shape)):
        x1, y1, x2, y2 = boxes[image, box].tolist()
        width, height = x2 - x1, y2 - y1
        x, y = ((x1, y1), (x2, y2))[side // 2]
        dx, dy = ((width, 0), (0, height), (-width, 0), (0, -height))[side]
        plane = planes[image][2 * side + channel]
        steps = [i / pool_size for i in range(pool_size + 1)]
        expected[image, channel, box, side] = max(clamped_bilinear(plane, y + s * dy, x + s * dx) for s in steps)
    torch.testing.assert_close(border_align(input, boxes, pool_size), expected, rtol=0, atol=1e-12)
    assert gradcheck(lambda input: border_align(input, boxes, pool_size), input)


@pytest.mark.parametrize('points', [1, 5])
def test_rotated_feature_align(points):
    input = torch.randn(2, 2, 3, 4, dtype=DOUBLE)
    boxes = torch.rand(2, 3, 4, 5, dtype=DOUBLE) * torch.tensor([30, 40, 24, 24, 3.0]) - torch.tensor([4, 4, 0, 0, 1.5])
    planes, expected = input.tolist(), input.clone()
    for image, channel, row, column in product(*map(range, input.shape)):
        y, x, width, height = (boxes[image, row, column, :4] / 8).tolist()
        angle = float(boxes[image, row, column, 4])
        corners = [(0, 0)] + [(i * width / 2, j * height / 2) for i, j in product((-1, 1), (-1, 1))]
        for along, across in corners[:points]:
            sample_y = y + along * math.sin(angle) + across * math.cos(angle)
            sample_x = x + along * math.cos(angle) - across * math.sin(angle)
            expected[image, channel, row, column] += clamped_bilinear(planes[image][channel], sample_y, sample_x)

    def operator(input):
        return rotated_feature_align(input, boxes, 1 / 8, points)

    # Cosine and sine are those of float32.
    torch.testing.assert_close(operator(input), expected, rtol=0, atol=1e-5)
    assert gradcheck(operator, input)


@pytest.mark.parametrize(
    'operator',
    [
        lambda input: roi_align_rotated(input, torch.zeros(0, 6), SIZE, 1.0),
        lambda input: bezier_align(input, torch.zeros(0, 17), SIZE, 1.0),
        lambda input: deform_roi_pool(input, torch.zeros(0, 5), torch.zeros(0, 2, *SIZE), SIZE),
        lambda input: border_align(input, torch.zeros(2, 0, 4), 3),
    ],
    ids=['rotated', 'bezier', 'deform', 'border'],
)
def test_no_boxes(operator):
    input = torch.randn(2, 4, 6, 8, requires_grad=True)
    output = operator(input)
    assert output.numel() == 0
    output.sum().backward()
    assert torch.equal(input.grad, torch.zeros_like(input))


@pytest.fixture(
    params=[
        lambda input: roi_align_rotated(input, ROTATED.half().to(input), SIZE, 0.5, 2),
        lambda input: bezier_align(input, BEZIERS.half().to(input), SIZE, 0.5, 2),
        lambda input: deform_roi_pool(input, BOXES.half().to(input), None, SIZE, 0.5, 2),
        lambda input: border_align(input, torch.tensor([[[0.5, 0.5, 4, 3]], [[1, 0, 7, 5.5]]]).to(input), 3),
        lambda input: rotated_feature_align(input, torch.ones(2, 6, 8, 5).to(input), 1.0, 5),
    ],
    ids=['rotated', 'bezier', 'deform', 'border', 'feature'],
)
def operator(request):
    """Operators whose boxes, in any dtype, are those of half precision."""
    return request.param


def test_channels_last(operator):
    input = torch.randn(2, 4, 6, 8)
    strided = input.contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(operator(strided), operator(input), rtol=0, atol=1e-6)


def test_half_precision_rounds_only_the_results(operator):
    def run(dtype):
        input = values.to(dtype).requires_grad_()
        output = operator(input)
        return output, torch.autograd.grad(output, input, torch.ones_like(output))[0]

    values = torch.randn(2, 4, 6, 8).half()
    for half, single in zip(run(torch.float16), run(torch.float32)):
        assert half.dtype == torch.float16
        torch.testing.assert_close(half.float(), single, rtol=1e-3, atol=1e-3)
