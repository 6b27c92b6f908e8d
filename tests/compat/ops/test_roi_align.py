from itertools import product

import pytest
import torch
from mmcv.ops import roi_align

from tests.compat.ops.formulas import grid, mean, pooled, spread

SIZE = (2, 3)
# Image 1 before image 0; inside, across every border, outside altogether, on the border, a point, inverted.
ROIS = torch.tensor(
    [
        [1, 2.3, 3.1, 11.7, 9.9],
        [0, -5.2, -3.3, 6.1, 4.7],
        [0, 8.8, 7.3, 40.0, 31.0],
        [1, -40.0, -40.0, -30.0, -30.0],
        [1, 0.0, 0.0, 16.0, 12.0],
        [0, 5.5, 5.5, 5.5, 5.5],
    ],
    dtype=torch.float64,
)
INVERTED = torch.tensor([[0, 9.0, 8.0, 3.0, 2.0]], dtype=torch.float64)


def formula(input, rois, scale, sampling_ratio, aligned, reduce):
    def points(roi, row, column):
        x1, y1, x2, y2 = (float(v) * scale - (0.5 if aligned else 0) for v in rois[roi, 1:])
        height, width = (y2 - y1, x2 - x1) if aligned else (max(y2 - y1, 1), max(x2 - x1, 1))
        bin_h, bin_w = height / SIZE[0], width / SIZE[1]
        ys = spread(y1 + row * bin_h, bin_h, grid(height, SIZE[0], sampling_ratio))
        xs = spread(x1 + column * bin_w, bin_w, grid(width, SIZE[1], sampling_ratio))
        return list(product(ys, xs))

    return pooled(input, rois[:, 0], points, SIZE, reduce)


@pytest.mark.parametrize('mode', ['avg', 'max'])
@pytest.mark.parametrize('aligned', [True, False])
@pytest.mark.parametrize('sampling_ratio', [-1, 0, 1, 2])
@pytest.mark.parametrize('scale', [0.5, 1.0])
def test_values(mode, aligned, sampling_ratio, scale):
    input = torch.randn(2, 2, 6, 8, dtype=torch.float64)
    reduce = mean if mode == 'avg' else lambda values: max(values, default=0)
    # Legacy boxes have a size of at least 1; for others an inverted box has no point if the grid adapts.
    rois = torch.cat([ROIS, INVERTED]) if sampling_ratio <= 0 or not aligned else ROIS
    expected = formula(input, rois, scale, sampling_ratio, aligned, reduce)
    output = roi_align(input, rois, SIZE, scale, sampling_ratio, mode, aligned)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize('mode', ['avg', 'max'])
@pytest.mark.parametrize('aligned', [True, False])
@pytest.mark.parametrize('sampling_ratio', [0, 2])
def test_gradient(mode, aligned, sampling_ratio):
    input = torch.randn(2, 2, 6, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda input: roi_align(input, ROIS, SIZE, 0.5, sampling_ratio, mode, aligned), input, fast_mode=True
    )


@pytest.mark.parametrize('mode', ['avg', 'max'])
def test_no_boxes(mode):
    input = torch.randn(2, 3, 6, 8, requires_grad=True)
    output = roi_align(input, torch.zeros(0, 5), SIZE, 1.0, 0, mode, True)
    assert output.shape == (0, 3, *SIZE)
    output.sum().backward()
    assert torch.equal(input.grad, torch.zeros_like(input))


@pytest.mark.parametrize('mode', ['avg', 'max'])
def test_strides_do_not_matter(mode):
    input, rois = torch.randn(2, 3, 6, 8), ROIS.float()
    expected = roi_align(input, rois, SIZE, 0.5, 2, mode, True)
    strided = torch.empty(5, len(rois)).T.copy_(rois)
    assert not strided.is_contiguous()
    output = roi_align(input.contiguous(memory_format=torch.channels_last), strided, SIZE, 0.5, 2, mode, True)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize('dtype', [torch.float16, torch.bfloat16])
@pytest.mark.parametrize('mode', ['avg', 'max'])
def test_half_precision_rounds_only_the_result(dtype, mode):
    input = torch.randn(2, 3, 6, 8).to(dtype)
    rois = ROIS.to(dtype)
    exact = roi_align(input.double(), rois.double(), SIZE, 0.5, 2, mode, True)
    output = roi_align(input, rois, SIZE, 0.5, 2, mode, True)
    assert output.dtype == dtype
    torch.testing.assert_close(output.double(), exact, rtol=torch.finfo(dtype).eps, atol=1e-6)


def test_first_of_equal_maxima_gets_the_gradient():
    input = torch.ones(1, 1, 4, 4, dtype=torch.float64, requires_grad=True)
    rois = torch.tensor([[0, 0, 0, 4, 4]], dtype=torch.float64)
    roi_align(input, rois, 1, 1.0, 2, 'max', False).sum().backward()
    # The first of the four samples lies at (1, 1).
    expected = torch.zeros(1, 1, 4, 4, dtype=torch.float64)
    expected[0, 0, 1, 1] = 1
    assert torch.equal(input.grad, expected)


def test_maximum_has_no_floor():
    input = torch.full((1, 1, 4, 4), -5e4)
    output = roi_align(input, torch.tensor([[0.0, 0, 0, 3, 3]]), 2, 1.0, 2, 'max', True)
    assert torch.equal(output, torch.full((1, 1, 2, 2), -5e4))


def test_maximum_keeps_nan():
    input = torch.zeros(1, 1, 4, 4)
    input[0, 0, 1, 1] = torch.nan
    output = roi_align(input, torch.tensor([[0.0, 0, 0, 3, 3]]), 1, 1.0, 3, 'max', False)
    assert output.isnan().all()


def test_sample_on_the_outermost_line_has_a_gradient():
    # Boxes around y = -1: the sample lies exactly there, counts as the first row, and is the only one.
    input = torch.arange(16.0, dtype=torch.float64).view(1, 1, 4, 4).requires_grad_()
    rois = torch.tensor([[0, 1, -1.5, 2, -0.5]], dtype=torch.float64)
    output = roi_align(input, rois, 1, 1.0, 1, 'max', False)
    assert output.item() == pytest.approx(1.5)
    output.sum().backward()
    assert input.grad[0, 0, 0].tolist() == [0, 0.5, 0.5, 0]


def test_scale_is_a_float32():
    input = torch.randn(1, 1, 20, 20, dtype=torch.float64)
    rois = torch.tensor([[0, 10.0, 10.0, 150.0, 160.0]], dtype=torch.float64)
    rounded = float(torch.tensor(0.1, dtype=torch.float32))
    expected = formula(input, rois, rounded, 2, True, mean)
    torch.testing.assert_close(roi_align(input, rois, SIZE, 0.1, 2, 'avg', True), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize('mode', ['avg', 'max'])
@pytest.mark.parametrize('aligned', [True, False])
@pytest.mark.parametrize('sampling_ratio', [0, 2])
@pytest.mark.parametrize('value', [float('nan'), float('inf'), -float('inf')])
def test_boxes_that_are_none(mode, aligned, sampling_ratio, value):
    """As of a diverged training. They pool 0, nothing outside the map is read, and the others are as they were."""
    input = torch.randn(2, 3, 12, 16, dtype=torch.float64, requires_grad=True)
    rois = ROIS.repeat(5, 1)
    broken = torch.arange(1, 5)
    rois[broken, broken] = value
    output = roi_align(input, rois, SIZE, 0.5, sampling_ratio, mode, aligned)
    assert not output[broken].any()
    whole = rois.isfinite().all(1)
    expected = roi_align(input, rois[whole], SIZE, 0.5, sampling_ratio, mode, aligned)
    torch.testing.assert_close(output[whole], expected, rtol=0, atol=0)
    grads = [torch.autograd.grad(pooled.square().sum(), input)[0] for pooled in (output, expected)]
    torch.testing.assert_close(*grads, rtol=0, atol=1e-12)
