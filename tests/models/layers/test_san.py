"""Attention among neighbours: every relation against the formulas of the paper, one pair of pixels at a time."""

import itertools

import numpy as np
import pytest
import torch

from benchmarks.parity_rule import filled
from fan_dense.models.layers.san import PAIRWISE, PATCHWISE, PairwiseAttention, PatchwiseAttention, SANBlock, positions

WINDOWS = [(3, 1, 1), (3, 2, 1), (3, 1, 2), (5, 1, 1)]
# formulas of Sections 3.1 and 3.2 for vectors phi(x_i), psi(x_j)
PAIR = {
    'summation': lambda phi, psi: phi + psi,
    'subtraction': lambda phi, psi: phi - psi,
    'concatenation': lambda phi, psi: torch.cat([phi, psi]),
    'hadamard': lambda phi, psi: phi * psi,
    'dot_product': lambda phi, psi: (phi @ psi)[None],
}


def star_product(phi, psi, i, neighbours):
    return torch.stack([phi[i] @ psi[j] for j in neighbours])


def clique_product(phi, psi, i, neighbours):
    return torch.stack([phi[j] @ psi[k] for j in neighbours for k in neighbours])


def concatenation(phi, psi, i, neighbours):
    return torch.cat([phi[i], torch.stack([psi[j] for j in neighbours], 1).flatten()])  # a channel's values adjacent


PATCH = {'star_product': star_product, 'clique_product': clique_product, 'concatenation': concatenation}


def pixels(features):
    """(1, C, H, W) to {(row, column): vector (C,)}."""
    return {(i, j): features[0, :, i, j] for i, j in itertools.product(*map(range, features.shape[2:]))}


def sites(height, width, window):
    """Each centre with its neighbours, as (row, column), reflected at the border."""
    kernel_size, stride, dilation = window
    margin = dilation * (kernel_size // 2)
    offsets = range(-margin, margin + 1, dilation)
    rows, columns = (np.pad(range(length), margin, mode='reflect') for length in (height, width))
    for i, j in itertools.product(range(0, height, stride), range(0, width, stride)):
        yield (i, j), [(int(rows[i + margin + y]), int(columns[j + margin + x])) for y in offsets for x in offsets]


def pairwise_by_formula(module, relation, x, window):
    height, width = x.shape[2:]
    phi, psi, values = (pixels(conv(x)) for conv in (module.conv1, module.conv2, module.conv3))
    grid = {
        (i, j): module.conv_p.weight.flatten(1)
        @ torch.tensor([2 * j / max(width - 1, 1) - 1, 2 * i / max(height - 1, 1) - 1], dtype=x.dtype)
        for i, j in phi
    }
    out = []
    for i, neighbours in sites(height, width, window):
        delta = [torch.cat([PAIR[relation](phi[i], psi[j]), grid[i] - grid[j]]) for j in neighbours]
        weights = module.conv_w(torch.stack(delta)[:, :, None, None]).squeeze().softmax(0)  # (J, G)
        out.append(gather(weights, values, neighbours))
    return torch.stack(out)


def patchwise_by_formula(module, relation, x, window):
    phi, psi, values = (pixels(conv(x)) for conv in (module.conv1, module.conv2, module.conv3))
    out = []
    for i, neighbours in sites(*x.shape[2:], window):
        delta = PATCH[relation](phi, psi, i, neighbours)
        weights = module.conv_w(delta[None, :, None, None]).view(-1, len(neighbours)).T  # (J, G)
        out.append(gather(weights, values, neighbours))
    return torch.stack(out)


def gather(weights, values, neighbours):
    """Weight g goes to channels g, g + G, g + 2G, ..."""
    return sum(weight.repeat(8) * values[j] for weight, j in zip(weights, neighbours, strict=True))


@pytest.mark.parametrize('window', WINDOWS, ids=str)
@pytest.mark.parametrize(
    ('kind', 'relation', 'formula'),
    [
        *((PairwiseAttention, relation, pairwise_by_formula) for relation in PAIR),
        *((PatchwiseAttention, relation, patchwise_by_formula) for relation in PATCH),
    ],
)
@torch.no_grad()
def test_relations_by_formula(kind, relation, formula, window):
    module = filled(kind(32, 6, 16, *window, relation=relation)).double()
    x = torch.randn(1, 32, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    out = module(x)
    expected = formula(module, relation, x, window)  # (pixels, C)
    # positions are rounded to float32 in the module, as published
    torch.testing.assert_close(out[0].flatten(1).T, expected, rtol=0, atol=1e-6 * expected.abs().max().item())


def test_relations_are_those_of_the_paper():
    assert set(PAIR) == set(PAIRWISE)
    assert set(PATCH) == set(PATCHWISE)


@pytest.mark.parametrize('relation', PAIRWISE)
@torch.no_grad()
def test_pairwise_weights_sum_to_one(relation):
    weights = PairwiseAttention(32, 4, 16, 3, relation=relation).weights(torch.randn(2, 32, 6, 5))
    assert weights.shape == (2, 2, 9, 6, 5)
    torch.testing.assert_close(weights.sum(2), torch.ones(2, 2, 6, 5))


def test_positions():
    grid = positions(3, 5)
    assert grid[0].tolist() == [[-1, -0.5, 0, 0.5, 1]] * 3
    assert grid[1].tolist() == [[-1] * 5, [0] * 5, [1] * 5]


@torch.no_grad()
def test_positions_keep_their_precision_under_autocast():
    module, seen = PairwiseAttention(32, 4, 16, 3), []
    module.conv_w.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0][:, -2:].float()))
    x = torch.randn(1, 32, 3, 512)  # columns are 0.004 apart, bfloat16 numbers near 1 by 0.008
    module.weights(x)
    with torch.autocast('cpu', torch.bfloat16):
        module.weights(x)
    exact, half = seen
    torch.testing.assert_close(half, exact, rtol=0.01, atol=1e-6)


@pytest.mark.parametrize(('attention', 'relation'), [('pairwise', 'dot_product'), ('patchwise', 'star_product')])
@torch.no_grad()
def test_block(attention, relation):
    block = filled(SANBlock(64, attention, relation, 3)).double()
    x = torch.randn(2, 64, 6, 5, dtype=torch.float64)
    kept = x.clone()
    mixed = block.sam(torch.relu(block.bn1(x)))
    expected = x + block.conv(torch.relu(block.bn2(mixed)))
    torch.testing.assert_close(block(x), expected)
    assert torch.equal(x, kept)  # activations in place do not reach the input
