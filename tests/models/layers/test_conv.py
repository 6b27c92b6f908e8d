import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fan_dense.models.layers.conv import (
    DepthwiseConvs,
    Downsample,
    PointwiseConv,
    SampleVarianceNorm,
    build_norm2d,
    convolve,
)


def test_norm_with_the_variance_of_a_sample():
    norm, x = SampleVarianceNorm(6, eps=1e-3).double(), torch.randn(5, 6, dtype=torch.float64)
    norm.weight.data, norm.bias.data = torch.rand(6).double(), torch.rand(6).double()
    n = x.numpy()
    expected = (n - n.mean(1, keepdims=True)) / np.sqrt(n.var(1, ddof=1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(
        norm(x).detach(), expected * norm.weight.detach().numpy() + norm.bias.detach().numpy(), rtol=1e-12, atol=1e-12
    )


def test_pointwise_convolution():
    conv, x = PointwiseConv(3, 5), torch.randn(2, 4, 6, 3)
    expected = F.conv2d(x.permute(0, 3, 1, 2), conv.weight, conv.bias).permute(0, 2, 3, 1)
    torch.testing.assert_close(conv(x), expected)


def test_convolve_copies_nothing():
    x = torch.randn(2, 4, 6, 3)
    assert convolve(nn.Identity(), x).data_ptr() == x.data_ptr()


def test_depthwise_convolutions_are_those_in_sequence():
    convs, x, gamma = DepthwiseConvs(6), torch.randn(2, 5, 4, 6), torch.randn(6)
    sequence = nn.Sequential(convs.conv1, nn.GELU(), convs.bn, convs.conv2).eval()
    expected = sequence(x.permute(0, 3, 1, 2).contiguous()).permute(0, 2, 3, 1)
    torch.testing.assert_close(convs(x), expected)
    torch.testing.assert_close(convs(x, gamma), gamma * expected)


@pytest.mark.parametrize(('size', 'halved'), [((4, 6), (2, 3)), ((5, 7), (3, 4))])
def test_downsample_rounds_up(size, halved):
    assert Downsample(4, 8)(torch.randn(1, *size, 4)).shape == (1, *halved, 8)


def test_initial_depthwise_weights():
    convs = DepthwiseConvs(2000)
    assert convs.conv1.weight.std().item() == pytest.approx((2 / 9) ** 0.5, rel=0.02)
    assert not convs.conv2.bias.any()


def test_norm_layers_come_from_the_registry():
    assert isinstance(build_norm2d(dict(type='SyncBN'), 4), nn.SyncBatchNorm)
    frozen = build_norm2d(dict(type='BN', requires_grad=False, eps=1e-3), 4)
    assert frozen.eps == 1e-3
    assert not frozen.weight.requires_grad
