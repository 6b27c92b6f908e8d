"""Operators that are layers of a network: attention, upsampling, masks, normalisation, filters."""

from itertools import product

import mmcv._ext as extension
import pytest
import torch
from mmcv.ops import PSAMask, active_rotated_filter, carafe, carafe_naive, masked_conv2d
from mmcv.ops.fused_bias_leakyrelu import FusedBiasLeakyReLUFunction
from mmcv.ops.multi_scale_deform_attn import MultiScaleDeformableAttnFunction
from mmcv.ops.sync_bn import SyncBatchNormFunction
from torch.nn import functional

from tests.compat.ops.formulas import padded_bilinear

DOUBLE = torch.float64


def gradcheck(function, *inputs):
    return torch.autograd.gradcheck(function, [tensor.detach().requires_grad_() for tensor in inputs], fast_mode=True)


@pytest.mark.parametrize(('kernel', 'groups', 'scale'), [(3, 1, 2), (3, 2, 1), (5, 2, 2), (1, 4, 3)])
def test_carafe(kernel, groups, scale):
    features = torch.randn(2, 4, 3, 4, dtype=DOUBLE)
    masks = torch.randn(2, groups * kernel**2, 3 * scale, 4 * scale, dtype=DOUBLE)
    expected = torch.zeros(2, 4, 3 * scale, 4 * scale, dtype=DOUBLE)
    for n, c, y, x in product(*map(range, expected.shape)):
        group = c // (4 // groups)
        for i, j in product(range(kernel), range(kernel)):
            source_y, source_x = y // scale + i - kernel // 2, x // scale + j - kernel // 2
            if 0 <= source_y < 3 and 0 <= source_x < 4:
                weight = masks[n, (group * kernel + i) * kernel + j, y, x]
                expected[n, c, y, x] += weight * features[n, c, source_y, source_x]

    def operator(features, masks):
        return carafe(features, masks, kernel, groups, scale)

    torch.testing.assert_close(operator(features, masks), expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(carafe_naive(features, masks, kernel, groups, scale), expected, rtol=0, atol=1e-12)
    strided = [tensor.contiguous(memory_format=torch.channels_last) for tensor in (features, masks)]
    torch.testing.assert_close(operator(*strided), expected, rtol=0, atol=1e-12)
    assert gradcheck(operator, features, masks)


@pytest.mark.parametrize('kind', ['collect', 'distribute'])
@pytest.mark.parametrize('mask_size', [(3, 3), (2, 4), (5, 7)])
def test_psa_mask(kind, mask_size):
    height, width = 3, 4
    half = [(size - 1) // 2 for size in mask_size]
    input = torch.randn(2, mask_size[0] * mask_size[1], height, width, dtype=DOUBLE)
    expected = torch.zeros(2, height * width, height, width, dtype=DOUBLE)
    for n, h, w, i, j in product(range(2), range(height), range(width), range(mask_size[0]), range(mask_size[1])):
        y, x = h + i - half[0], w + j - half[1]
        if 0 <= y < height and 0 <= x < width:
            value = input[n, i * mask_size[1] + j, h, w]
            if kind == 'collect':
                expected[n, y * width + x, h, w] = value
            else:
                expected[n, h * width + w, y, x] = value
    layer = PSAMask(kind, mask_size)
    assert torch.equal(layer(input), expected)
    assert torch.equal(layer(input.contiguous(memory_format=torch.channels_last)), expected)
    assert gradcheck(layer, input)


@pytest.mark.parametrize(('kernel', 'padding'), [(3, 1), (1, 0), (3, 0), (5, 1)])
def test_masked_conv(kernel, padding):
    """A convolution at the positions of the mask, zero elsewhere, also where the output is smaller than the mask."""
    input = torch.randn(1, 3, 6, 7, dtype=DOUBLE)
    weight, bias = torch.randn(4, 3, kernel, kernel, dtype=DOUBLE), torch.randn(4, dtype=DOUBLE)
    mask = (torch.rand(1, 6, 7) > 0.5).to(DOUBLE)
    expected = functional.conv2d(input, weight, bias, padding=padding)
    expected = expected * mask[:, None, : expected.shape[2], : expected.shape[3]]
    torch.testing.assert_close(masked_conv2d(input, mask, weight, bias, padding), expected, rtol=0, atol=1e-12)
    nowhere = masked_conv2d(input, torch.zeros_like(mask), weight, bias, padding)
    assert torch.equal(nowhere, torch.zeros_like(expected))


SHAPES = torch.tensor([[3, 4], [2, 2]])


def attention_inputs():
    value = torch.randn(2, 16, 2, 3, dtype=DOUBLE)
    locations = torch.rand(2, 5, 2, 2, 3, 2, dtype=DOUBLE) * 1.6 - 0.3
    weights = torch.rand(2, 5, 2, 2, 3, dtype=DOUBLE)
    return value, locations, weights


def attention(value, locations, weights):
    starts = torch.tensor([0, 12])
    return MultiScaleDeformableAttnFunction.apply(value, SHAPES, starts, locations, weights, 64)


def test_multi_scale_deformable_attention():
    value, locations, weights = attention_inputs()
    expected = torch.zeros(2, 5, 6, dtype=DOUBLE)
    for n, q, head, channel in product(range(2), range(5), range(2), range(3)):
        start = 0
        for level, (height, width) in enumerate(SHAPES.tolist()):
            plane = value[n, start : start + height * width, head, channel].view(height, width).tolist()
            start += height * width
            for point in range(3):
                x, y = locations[n, q, head, level, point].tolist()
                sample = padded_bilinear(plane, y * height - 0.5, x * width - 0.5)
                expected[n, q, head * 3 + channel] += weights[n, q, head, level, point] * sample
    torch.testing.assert_close(attention(value, locations, weights), expected, rtol=0, atol=1e-12)
    assert gradcheck(attention, value, locations, weights)


def test_multi_scale_deformable_attention_in_half_precision():
    value, locations, weights = (tensor.half() for tensor in attention_inputs())
    exact = attention(value.double(), locations.double(), weights.double())
    inputs = [tensor.requires_grad_() for tensor in (value, locations, weights)]
    output = attention(*inputs)
    assert output.dtype == torch.float16
    torch.testing.assert_close(output.double(), exact, rtol=1e-3, atol=1e-3)
    assert all(grad.dtype == torch.float16 for grad in torch.autograd.grad(output.sum(), inputs))


def test_active_rotated_filter():
    input = torch.randn(2, 3, 4, 2, 2, dtype=DOUBLE)
    entries, rotations = 16, 5
    indices = torch.stack([torch.randperm(entries) + 1 for _ in range(rotations)], 1).view(4, 2, 2, rotations).int()
    expected = torch.zeros(2 * rotations, 12, 2, 2, dtype=DOUBLE)
    for o, i, r, orientation, y, x in product(range(2), range(3), range(rotations), range(4), range(2), range(2)):
        place = int(indices[orientation, y, x, r]) - 1
        expected[o * rotations + r].view(3, entries)[i, place] = input[o, i, orientation, y, x]
    assert torch.equal(active_rotated_filter(input, indices), expected)
    assert gradcheck(lambda input: active_rotated_filter(input, indices), input)


@pytest.mark.parametrize('stats_mode', ['default', 'N'])
def test_sync_bn_of_one_process_is_batch_normalisation(stats_mode):
    input = torch.randn(3, 4, 5, 2, requires_grad=True)
    weight, bias = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
    ours, theirs = ([torch.zeros(4), torch.ones(4)] for _ in range(2))
    output = SyncBatchNormFunction.apply(input, *ours, weight, bias, 0.1, 1e-5, None, 1, stats_mode)
    expected = functional.batch_norm(input, *theirs, weight, bias, True, 0.1, 1e-5)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(ours, theirs)
    upstream = torch.randn_like(output)
    grads = [torch.autograd.grad(y, (input, weight, bias), upstream) for y in (output, expected)]
    torch.testing.assert_close(*grads, rtol=0, atol=1e-5)


@pytest.mark.parametrize('flip', [True, False])
@pytest.mark.parametrize(('up', 'down', 'padding'), [((1, 1), (1, 1), (0, 0, 0, 0)), ((2, 3), (1, 2), (2, -1, 1, 3))])
def test_upfirdn2d(flip, up, down, padding):
    input, filter, gain = torch.randn(2, 3, 5, 6, dtype=DOUBLE), torch.randn(3, 2, dtype=DOUBLE), 1.5
    (up_x, up_y), (down_x, down_y), (left, right, top, bottom) = up, down, padding
    height, width = 5 * up_y + top + bottom, 6 * up_x + left + right
    filled = torch.zeros(2, 3, height, width, dtype=DOUBLE)
    for y, x in product(range(5), range(6)):
        row, column = y * up_y + top, x * up_x + left
        if 0 <= row < height and 0 <= column < width:
            filled[:, :, row, column] = input[:, :, y, x]
    expected = torch.zeros(2, 3, (height - 3) // down_y + 1, (width - 2) // down_x + 1, dtype=DOUBLE)
    for y, x, i, j in product(*map(range, (*expected.shape[2:], 3, 2))):
        tap = filter[i, j] if flip else filter[2 - i, 1 - j]
        expected[:, :, y, x] += gain * tap * filled[:, :, y * down_y + i, x * down_x + j]
    output = extension.upfirdn2d(input, filter, *up, *down, *padding, flip, gain)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)


def test_fused_bias_leakyrelu():
    input, bias = torch.randn(3, 4, 5, dtype=DOUBLE), torch.randn(4, dtype=DOUBLE)

    def operator(input, bias):
        return FusedBiasLeakyReLUFunction.apply(input, bias, 0.2, 1.5)

    expected = input.clone()
    for index in product(*map(range, input.shape)):
        x = float(input[index] + bias[index[1]])
        expected[index] = 1.5 * (x if x > 0 else 0.2 * x)
    torch.testing.assert_close(operator(input, bias), expected, rtol=0, atol=1e-12)
    assert gradcheck(operator, input, bias)
    with pytest.raises(ValueError, match='act=1, grad=0: only act=3'):
        extension.fused_bias_leakyrelu(input, bias, input, act=1, grad=0, alpha=0.2, scale=1.0)
