import pytest
import torch

from fan_dense.models.layers.stem import ConvNeXt, ConvStem, HybridStem


@pytest.mark.parametrize(('patch_size', 'grid'), [(4, (10, 13)), (8, (5, 7)), (16, (3, 4))])
def test_convolutions_round_up(patch_size, grid):
    assert ConvStem(patch_size, 16)(torch.randn(2, 3, 37, 50))[0].shape == (2, *grid, 16)


def test_hybrid_rounds_down():
    shapes = [tuple(x.shape) for x in HybridStem((1, 1), (8, 16), 24)(torch.randn(2, 3, 47, 63))]
    assert shapes == [(2, 11, 15, 8), (2, 5, 7, 16), (2, 2, 3, 24)]


def test_hybrid_without_tokens():
    stem = HybridStem((1,), (8,), None)
    assert [tuple(x.shape) for x in stem(torch.randn(1, 3, 32, 32))] == [(1, 8, 8, 8)]
    assert not [name for name, _ in stem.named_parameters() if name.startswith('proj')]


def test_initial_weights():
    net = ConvNeXt((1, 1), (64, 128))
    block = net.stages[0].blocks[0]
    assert block.conv_dw.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert block.mlp['fc1'].weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert (block.gamma == 1e-6).all()
    assert not block.mlp['fc2'].bias.any()
