import math

import pytest
import torch

from fan_dense.models.layers.position import PositionEncoding, fourier_features


@pytest.mark.parametrize('floor', [True, False])
@pytest.mark.parametrize('grid', [(1, 1), (3, 5)])
def test_features_follow_the_formula(grid, floor):
    features = fourier_features(*grid, hidden_dim=6, temperature=100.0, floor=floor)
    assert features.shape == (*grid, 12)
    assert features.dtype == torch.float32
    for row in range(grid[0]):
        for column in range(grid[1]):
            for half, (index, length) in enumerate([(row, grid[0]), (column, grid[1])]):
                for i in range(6):
                    frequency = 100 ** (-(2 * (i // 2) if floor else i) / 6)
                    angle = (index + 1) / (length + 1e-6) * 2 * math.pi * frequency
                    expected = math.cos(angle) if i % 2 else math.sin(angle)
                    assert features[row, column, 6 * half + i].item() == pytest.approx(expected, abs=2e-6)


def test_computed_once_a_grid():
    assert fourier_features(4, 9) is fourier_features(4, 9)
    assert fourier_features(4, 9) is not fourier_features(9, 4)


def test_training_after_a_first_call_in_inference_mode():
    encoding, x = PositionEncoding(8), torch.randn(1, 11, 13, 8)
    with torch.inference_mode():
        encoding(x)
    encoding(x).sum().backward()
    assert encoding.token_projection.weight.grad.any()


def test_encoding_follows_the_precision_of_the_module():
    assert PositionEncoding(8).double()(torch.randn(1, 2, 3, 8)).dtype == torch.float64
