import math
from itertools import product

import pytest
import torch
from mmcv.ops import roi_pool

SIZE = (2, 3)
# Fractional, across a border, outside, whole, and one whose far corner lies before its near one.
ROIS = torch.tensor(
    [
        [1, 1.3, 2.6, 9.2, 11.9],
        [0, -6.5, -3.25, 5.0, 4.0],
        [0, 60.0, 60.0, 70.0, 70.0],
        [1, 0.0, 0.0, 7.0, 5.0],
        [0, 9.0, 8.0, 3.0, 2.0],
    ],
    dtype=torch.float64,
)


def formula(input, rois, scale):
    height, width = input.shape[2:]
    output = torch.zeros(len(rois), input.shape[1], *SIZE, dtype=torch.float64)
    for roi, channel, row, column in product(*map(range, output.shape)):
        image, x1, y1, x2, y2 = rois[roi].tolist()
        x1, y1, x2, y2 = x1 * scale, y1 * scale, (x2 + 1) * scale, (y2 + 1) * scale
        if x2 <= x1 or y2 <= y1:
            continue
        bin_h, bin_w = (y2 - y1) / SIZE[0], (x2 - x1) / SIZE[1]
        top, bottom = math.floor(row * bin_h + y1), math.ceil((row + 1) * bin_h + y1)
        left, right = math.floor(column * bin_w + x1), math.ceil((column + 1) * bin_w + x1)
        values = [
            float(input[int(image), channel, y, x])
            for y in range(max(top, 0), min(bottom, height))
            for x in range(max(left, 0), min(right, width))
        ]
        output[roi, channel, row, column] = max(values, default=0)
    return output


@pytest.mark.parametrize('scale', [0.5, 1.0])
def test_values(scale):
    input = torch.randn(2, 3, 6, 8, dtype=torch.float64)
    output = roi_pool(input, ROIS, SIZE, scale)
    assert torch.equal(output, formula(input, ROIS, scale))
    strided = roi_pool(input.contiguous(memory_format=torch.channels_last), ROIS, SIZE, scale)
    assert torch.equal(strided, output)


def test_gradient():
    input = torch.randn(2, 3, 6, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda input: roi_pool(input, ROIS, SIZE, 0.5), input, fast_mode=True)


def test_malformed_box_passes_no_gradient():
    input = torch.ones(1, 1, 6, 8, requires_grad=True)
    roi_pool(input, ROIS[-1:].float(), SIZE, 1.0).sum().backward()
    assert torch.equal(input.grad, torch.zeros_like(input))


def test_no_boxes():
    input = torch.randn(2, 3, 6, 8, requires_grad=True)
    output = roi_pool(input, torch.zeros(0, 5), SIZE, 1.0)
    assert output.shape == (0, 3, *SIZE)
    output.sum().backward()
    assert torch.equal(input.grad, torch.zeros_like(input))
