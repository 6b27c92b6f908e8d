from itertools import product

import pytest
import torch
from mmcv.ops import DeformConv2dPack, deform_conv2d, modulated_deform_conv2d

from fan_dense.compat.ops import deform_conv as operators
from tests.compat.ops.formulas import padded_bilinear

DOUBLE = torch.float64
# stride, padding, dilation, groups, deformable groups, kernel
GEOMETRIES = [
    (1, 1, 1, 1, 1, (3, 3)),
    (2, 1, 1, 1, 2, (3, 3)),
    ((1, 2), (2, 1), (2, 1), 2, 1, (3, 3)),
    (1, 0, 1, 2, 2, (2, 1)),
]


def pair(value):
    return value if isinstance(value, tuple) else (value, value)


def out_size(size, geometry):
    stride, padding, dilation, _, _, kernel = geometry
    axes = zip(size, pair(stride), pair(padding), pair(dilation), kernel)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, s, p, d, k in axes)


def formula(input, offset, weight, mask, bias, geometry):
    """The sum over kernel positions and channels, one output at a time."""
    stride, padding, dilation, groups, deform_groups, kernel = geometry
    (sy, sx), (py, px), (dy, dx) = pair(stride), pair(padding), pair(dilation)
    planes, positions = input.tolist(), kernel[0] * kernel[1]
    out_height, out_width = offset.shape[2:]
    output = torch.zeros(len(input), len(weight), out_height, out_width, dtype=DOUBLE)
    per_group, out_per_group, per_deform = (
        input.shape[1] // groups,
        len(weight) // groups,
        input.shape[1] // deform_groups,
    )
    for n, o, y, x in product(*map(range, output.shape)):
        total = float(bias[o]) if bias is not None else 0
        for c, (i, j) in product(range(per_group), product(range(kernel[0]), range(kernel[1]))):
            channel = o // out_per_group * per_group + c
            place = channel // per_deform * positions + i * kernel[1] + j
            sample_y = y * sy - py + i * dy + float(offset[n, 2 * place, y, x])
            sample_x = x * sx - px + j * dx + float(offset[n, 2 * place + 1, y, x])
            value = padded_bilinear(planes[n][channel], sample_y, sample_x)
            total += float(weight[o, c, i, j]) * value * (float(mask[n, place, y, x]) if mask is not None else 1)
        output[n, o, y, x] = total
    return output


def tensors(geometry, scale=2.0):
    """input, offset, weight, mask, bias"""
    _, _, _, groups, deform_groups, kernel = geometry
    size = out_size((4, 5), geometry)
    places = deform_groups * kernel[0] * kernel[1]
    return (
        torch.randn(2, 4, 4, 5, dtype=DOUBLE),
        scale * torch.randn(2, 2 * places, *size, dtype=DOUBLE),
        torch.randn(2, 4 // groups, *kernel, dtype=DOUBLE),
        torch.rand(2, places, *size, dtype=DOUBLE),
        torch.randn(2, dtype=DOUBLE),
    )


@pytest.mark.parametrize('geometry', GEOMETRIES)
def test_plain(geometry):
    input, offset, weight, _, _ = tensors(geometry)

    def operator(*inputs):
        return deform_conv2d(*inputs, *geometry[:5])

    expected = formula(input, offset, weight, None, None, geometry)
    torch.testing.assert_close(operator(input, offset, weight), expected, rtol=0, atol=1e-12)
    inputs = [tensor.requires_grad_() for tensor in (input, offset, weight)]
    assert torch.autograd.gradcheck(operator, inputs, fast_mode=True)


@pytest.mark.parametrize('geometry', GEOMETRIES)
@pytest.mark.parametrize('with_bias', [True, False])
def test_modulated(geometry, with_bias):
    input, offset, weight, mask, bias = tensors(geometry)
    inputs = (input, offset, mask, weight, *([bias] if with_bias else []))

    def operator(input, offset, mask, weight, bias=None):
        return modulated_deform_conv2d(input, offset, mask, weight, bias, *geometry[:5])

    expected = formula(input, offset, weight, mask, bias if with_bias else None, geometry)
    torch.testing.assert_close(operator(*inputs), expected, rtol=0, atol=1e-12)
    assert torch.autograd.gradcheck(operator, [tensor.requires_grad_() for tensor in inputs], fast_mode=True)


@pytest.mark.parametrize('modulated', [True, False])
@pytest.mark.parametrize('shift', [0.0, -1.0, 1.0])
def test_slope_at_whole_numbers(modulated, shift):
    """The slope to the right everywhere, but none at exactly -1, where every new layer has its padding."""
    geometry = GEOMETRIES[0]
    input, _, weight, mask, _ = tensors(geometry)
    offset = torch.full((2, 18, 4, 5), shift, dtype=DOUBLE, requires_grad=True)

    def operator(offset):
        if modulated:
            return modulated_deform_conv2d(input, offset, mask, weight, None, *geometry[:5])
        return deform_conv2d(input, offset, weight, *geometry[:5])

    upstream = torch.randn(2, 2, 4, 5, dtype=DOUBLE)
    (grad,) = torch.autograd.grad(operator(offset), offset, upstream)
    step = 1e-6
    grid_y, grid_x = torch.meshgrid(torch.arange(4), torch.arange(5), indexing='ij')
    for place, axis in product(range(9), range(2)):
        ahead = offset.detach().clone()
        ahead[:, 2 * place + axis] += step
        slope = ((operator(ahead) - operator(offset)) * upstream).sum(1).detach() / step
        y, x = grid_y - 1 + place // 3 + shift, grid_x - 1 + place % 3 + shift
        slope[:, (y == -1) | (x == -1)] = 0
        torch.testing.assert_close(grad[:, 2 * place + axis], slope, rtol=0, atol=1e-6)


def test_new_layer_is_a_convolution():
    layer = DeformConv2dPack(4, 2, 3, padding=1).double()
    input = torch.randn(2, 4, 5, 6, dtype=DOUBLE)
    expected = torch.nn.functional.conv2d(input, layer.weight, padding=1)
    torch.testing.assert_close(layer(input), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize('modulated', [True, False])
def test_strides_do_not_matter(modulated):
    input, offset, weight, mask, bias = tensors(GEOMETRIES[0])

    def run(lay):
        inputs = [lay(tensor).requires_grad_() for tensor in (input, offset, weight, mask)]
        x, o, w, m = inputs
        output = modulated_deform_conv2d(x, o, m, w, bias, 1, 1) if modulated else deform_conv2d(x, o, w, 1, 1)
        upstream = lay(torch.linspace(-1, 1, output.numel(), dtype=DOUBLE).view(output.shape))
        return [output, *torch.autograd.grad(output, inputs if modulated else inputs[:3], upstream)]

    plain = run(lambda tensor: tensor.clone())
    strided = run(lambda tensor: tensor.clone(memory_format=torch.channels_last))
    for a, b in zip(plain, strided):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_gradient_of_the_weight_alone():
    input, offset, weight, _, _ = tensors(GEOMETRIES[0])
    operator = lambda weight: deform_conv2d(input, offset, weight, 1, 1)  # noqa: E731
    assert torch.autograd.gradcheck(operator, weight.requires_grad_(), fast_mode=True)


def test_gradient_of_the_weight_belongs_to_its_own_pass():
    """mmcv asks for it in a call of its own, with the work space of the call before."""
    input, offset, weight, _, _ = tensors(GEOMETRIES[0])
    first, second = torch.randn(2, 2, 2, 4, 5, dtype=DOUBLE)
    walk = {f'{name}{axis}': 1 for name in ('d', 'pad', 'dilation') for axis in 'HW'}
    settings = {'kH': 3, 'kW': 3, **walk, 'group': 1, 'deformable_group': 1, 'im2col_step': 2}

    def of_weight(upstream, work):
        grad = torch.zeros_like(weight)
        operators.deform_conv_backward_parameters(input, offset, upstream, grad, work, work, scale=1, **settings)
        return grad

    work = torch.zeros(0)
    buffers = torch.zeros_like(input), torch.zeros_like(offset)
    operators.deform_conv_backward_input(input, offset, first, *buffers, weight, work, **settings)
    assert torch.equal(of_weight(first, work), of_weight(first, torch.zeros(0)))
    operators.deform_conv_backward_input(input, offset, first, *buffers, weight, work, **settings)
    assert torch.equal(of_weight(second, work), of_weight(second, torch.zeros(0)))


@pytest.mark.parametrize('dtype', [torch.float16, torch.bfloat16])
def test_half_precision_rounds_only_the_result(dtype):
    input, offset, weight, mask, bias = (tensor.to(dtype) for tensor in tensors(GEOMETRIES[0]))
    exact = modulated_deform_conv2d(*(t.double() for t in (input, offset, mask, weight, bias)), 1, 1)
    output = modulated_deform_conv2d(input, offset, mask, weight, bias, 1, 1)
    assert output.dtype == dtype
    torch.testing.assert_close(output.double(), exact, rtol=torch.finfo(dtype).eps, atol=1e-5)


def test_empty_batch():
    """mmcv's own code refuses one for a layer, not for the operator."""
    _, _, weight, _, bias = tensors(GEOMETRIES[0])
    input, offset, mask, output = (torch.zeros(0, channels, 4, 5, dtype=DOUBLE) for channels in (4, 18, 9, 2))
    work = torch.zeros(0)
    geometry = {f'{name}_{axis}': 1 for name in ('stride', 'pad', 'dilation') for axis in 'hw'}
    settings = {'kernel_h': 3, 'kernel_w': 3, **geometry, 'group': 1, 'deformable_group': 1, 'with_bias': True}
    operators.modulated_deform_conv_forward(input, weight, bias, work, offset, mask, output, work, **settings)
    grads = [torch.full_like(tensor, torch.nan) for tensor in (input, weight, bias, offset, mask)]
    operators.modulated_deform_conv_backward(
        input, weight, bias, work, offset, mask, work, *grads, torch.zeros_like(output), **settings
    )
    assert torch.equal(grads[1], torch.zeros_like(weight))
    assert torch.equal(grads[2], torch.zeros_like(bias))


def test_more_offsets_than_needed():
    """mmcv takes the leading numbers of each sample, as if they were laid out for the output; DyHead depends on it."""
    geometry = (1, 1, 1, 1, 2, (3, 3))
    input, offset, weight, mask, bias = tensors(geometry)
    size = out_size(input.shape[2:], geometry)
    larger = [
        torch.cat([t.flatten(1), torch.full((len(t), t.shape[1] * 16), 7.0, dtype=DOUBLE)], 1)
        .view(len(t), t.shape[1], 4, -1)
        .requires_grad_()
        for t in (offset, mask)
    ]
    assert all(t.shape[2:] != size for t in larger)
    output = modulated_deform_conv2d(input, larger[0], larger[1], weight, bias, *geometry[:5])
    expected = formula(input, offset, weight, mask, bias, geometry)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)

    upstream = torch.randn_like(expected)
    grads = torch.autograd.grad(output, larger, upstream)
    fitting = [t.detach().requires_grad_() for t in (offset, mask)]
    output = modulated_deform_conv2d(input, fitting[0], fitting[1], weight, bias, *geometry[:5])
    for grad, leading in zip(grads, torch.autograd.grad(output, fitting, upstream)):
        torch.testing.assert_close(grad.flatten(1)[:, : leading[0].numel()], leading.flatten(1), rtol=0, atol=0)
        assert not grad.flatten(1)[:, leading[0].numel() :].any()


@pytest.mark.parametrize('value', [float('nan'), float('inf'), -float('inf'), 1e30])
@pytest.mark.parametrize('modulated', [True, False])
def test_offsets_that_lead_nowhere(modulated, value):
    """As of a diverged training. The samples count 0, as in mmcv, and nothing outside the map is read."""
    input, offset, weight, mask, _ = tensors(GEOMETRIES[0])
    offset[0, 4], offset[1, 7] = value, value  # y of the third sample, x of the fourth
    far = torch.where(offset.abs() < 1e4, offset, 1e4).requires_grad_()
    offset.requires_grad_()

    def operator(offset):
        if modulated:
            return modulated_deform_conv2d(input, offset, mask, weight, None, 1, 1)
        return deform_conv2d(input, offset, weight, 1, 1)

    expected = formula(input, far.detach(), weight, mask if modulated else None, None, GEOMETRIES[0])
    torch.testing.assert_close(operator(offset), expected, rtol=0, atol=1e-12)
    [grad] = torch.autograd.grad(operator(offset).square().sum(), offset)
    torch.testing.assert_close(grad, torch.autograd.grad(operator(far).square().sum(), far)[0], rtol=0, atol=1e-9)
