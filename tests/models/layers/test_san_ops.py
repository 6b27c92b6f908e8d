"""Sums over neighbourhoods: against the published operators' outputs and gradients, and against plain loops."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from benchmarks.parity_rule import gaussian
from fan_dense.models.layers import san_ops
from fan_dense.models.layers.san import subtraction
from tests.reference import reference

CASES = [
    f'{window}_{pad}pad'
    for window in ('k3_s1_d1_p1', 'k3_s1_d2_p2', 'k3_s2_d1_p1', 'k5_s2_d1_p2', 'k7_s1_d1_p3')
    for pad in ('zero', 'ref')
]


@pytest.mark.parametrize('case', CASES)
def test_published_operators(case):
    with np.load(reference('san', 'ops', f'{case}.npz'), allow_pickle=False) as arrays:
        stored = {name: arrays[name] for name in arrays.files}
    kernel_size, stride, dilation, padding = (
        int(stored[f'meta__{name}']) for name in ('kernel', 'stride', 'dilation', 'padding')
    )
    assert san_ops.window_padding(kernel_size, dilation) == padding
    window = kernel_size, stride, dilation
    x1, x2, w = (torch.from_numpy(stored[name]).double().requires_grad_() for name in ('x1', 'x2', 'w'))
    height, width = stored['meta__out_hw']

    def pad(x):
        return F.pad(x, (padding,) * 4) if case.endswith('zeropad') else san_ops.reflect_pad(x, padding)

    weights = w.unflatten(3, (height, width))
    outputs = {
        'subtraction': (subtraction(pad(x1), pad(x1), window).flatten(3), (x1,)),
        'subtraction2': (subtraction(pad(x1), pad(x2), window).flatten(3), (x1, x2)),
        'aggregation': (san_ops.aggregate(weights, pad(x1), *window), (x1, w)),
    }
    names = {id(x1): 'x1', id(x2): 'x2', id(w): 'w'}
    for name, (out, inputs) in outputs.items():
        assert close(out, stored[name])
        cotangent = np.float32(gaussian(f'san_op/{case}/g_{name}', out.shape))
        grads = torch.autograd.grad(out, inputs, torch.from_numpy(cotangent).double())
        for x, grad in zip(inputs, grads):
            assert close(grad, stored[f'grad_{name}_{names[id(x)]}'])


def close(got, expected):
    expected = torch.from_numpy(expected).double()
    return (got - expected).abs().max() <= 1e-6 * expected.abs().max()


def loop(x, window):
    """(output row, output column, neighbour, value (B, C)) of each neighbour in padded maps, one at a time."""
    kernel_size, stride, dilation = window
    span = dilation * (kernel_size - 1)
    rows, columns = range(0, x.shape[2] - span, stride), range(0, x.shape[3] - span, stride)
    for (i, row), (j, column) in itertools.product(enumerate(rows), enumerate(columns)):
        for neighbour in range(kernel_size**2):
            y, z = divmod(neighbour, kernel_size)
            yield i, j, neighbour, x[:, :, row + y * dilation, column + z * dilation]


@pytest.mark.parametrize('window', [(3, 1, 1), (3, 2, 1), (3, 1, 2), (5, 3, 2), (1, 1, 1), (1, 2, 3)], ids=str)
def test_against_loops(window):
    generator = torch.Generator().manual_seed(0)
    kernel_size, stride, dilation = window
    x = torch.randn(2, 6, 5, 7, generator=generator, dtype=torch.float64)
    padded = san_ops.reflect_pad(x, san_ops.window_padding(kernel_size, dilation))
    middle = x[:, :, ::stride, ::stride]
    assert torch.equal(san_ops.centres(padded, *window), middle)
    weights = torch.randn(2, 3, kernel_size**2, *middle.shape[2:], generator=generator, dtype=torch.float64)

    sums, dots = torch.zeros_like(middle), torch.zeros_like(weights[:, 0])
    for i, j, neighbour, value in loop(padded, window):
        for channel in range(6):
            sums[:, channel, i, j] += weights[:, channel % 3, neighbour, i, j] * value[:, channel]
        dots[:, neighbour, i, j] = (middle[:, :, i, j] * value).sum(1)
        assert torch.equal(san_ops.neighbourhoods(padded, *window).flatten(2, 3)[:, :, neighbour, i, j], value)
    torch.testing.assert_close(san_ops.aggregate(weights, padded, *window), sums)
    torch.testing.assert_close(san_ops.correlate(middle, padded, *window), dots)


@pytest.mark.parametrize('window', [(3, 1, 1), (3, 2, 2)], ids=str)
def test_gradients(window):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 4, 7, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    middle = torch.randn(san_ops.centres(x, *window).shape, generator=generator, dtype=torch.float64)
    weights = torch.randn(1, 2, 9, *middle.shape[2:], generator=generator, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda w, x: san_ops.aggregate(w, x, *window), (weights.requires_grad_(), x))
    assert torch.autograd.gradcheck(lambda c, x: san_ops.correlate(c, x, *window), (middle.requires_grad_(), x))


def test_nothing_as_large_as_the_neighbourhoods_is_kept():
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    x = torch.randn(1, 64, 38, 38, requires_grad=True)
    weights = torch.randn(1, 8, 49, 32, 32, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        san_ops.aggregate(weights, x, 7)
        san_ops.correlate(san_ops.centres(x, 7), x, 7)
    inputs = 2 * x.nbytes + weights.nbytes  # the centres are part of x
    assert 0 < sum(kept.values()) <= inputs < 64 * 49 * 32 * 32 * x.element_size() / 4


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_rounds_once(dtype):
    x, weights = torch.rand(1, 8, 10, 10).to(dtype), torch.rand(1, 1, 49, 4, 4).to(dtype)
    for out, exact in (
        (san_ops.aggregate(weights, x, 7), san_ops.aggregate(weights.double(), x.double(), 7)),
        (san_ops.correlate(x[:, :, :4, :4], x, 7), san_ops.correlate(x[:, :, :4, :4].double(), x.double(), 7)),
    ):
        assert out.dtype == dtype
        torch.testing.assert_close(out.double(), exact, rtol=torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize(('height', 'width'), itertools.product((1, 2, 3, 4, 9), repeat=2))
def test_padding_is_numpys_reflection(height, width):
    x = torch.randn(2, 3, height, width)
    expected = np.pad(x.numpy(), ((0, 0), (0, 0), (3, 3), (3, 3)), mode='reflect')
    assert np.array_equal(san_ops.reflect_pad(x, 3).numpy(), expected)


@pytest.mark.parametrize('kernel_size', [0, 2, 6])
def test_neighbourhoods_without_a_centre_are_refused(kernel_size):
    with pytest.raises(ValueError, match=f'must be odd, not {kernel_size}'):
        san_ops.window_padding(kernel_size)
