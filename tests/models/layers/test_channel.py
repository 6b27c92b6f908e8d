import numpy as np
import pytest
import torch

from fan_dense.models.layers.channel import ECAProcessing, FANMlp, SEProcessing, channel_gate


def softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum()


def test_gate_follows_the_equation():
    q, x = torch.randn(2, 6, 8, dtype=torch.float64), torch.randn(2, 6, 8, dtype=torch.float64)
    gate = channel_gate(q, x, num_heads=2)
    assert gate.shape == (2, 2, 4)
    for image, head, channel in np.ndindex(2, 2, 4):
        prototype = np.mean([softmax(x[image, :, head * 4 + i].numpy()) for i in range(4)], axis=0)
        similarity = softmax(q[image, :, head * 4 + channel].numpy()) @ prototype
        assert gate[image, head, channel].item() == pytest.approx(1 / (1 + np.exp(-similarity)), abs=1e-12)


def test_output_is_the_value_times_one_weight_a_channel():
    module, x = ECAProcessing(8, 2, 32).eval(), torch.randn(2, 3, 4, 8)
    module.temperature.data = torch.tensor([0.5, 2.0])[:, None, None]
    ratio = module(x) / module.norm_v(module.mlp_v(x))  # (2, 3, 4, 8)
    weights = module.channel_weights(x).flatten(1)
    torch.testing.assert_close(ratio, weights[:, None, None].expand_as(ratio), rtol=1e-4, atol=1e-5)
    assert (weights[:, :4] < 0.5).all()
    assert (weights[:, 4:] > 1.0).all()  # sigmoid of a positive number, times 2


def test_heads_need_not_be_those_of_the_tokens():
    assert ECAProcessing(8, 8, 16).channel_weights(torch.randn(1, 2, 2, 8)).shape == (1, 8, 1)


@pytest.mark.parametrize('residual', [True, False])
def test_mlp_without_its_convolutions(residual):
    mlp, x = FANMlp(8, 16, residual=residual).eval(), torch.randn(2, 3, 4, 8)
    mlp.gamma.data.zero_()
    torch.testing.assert_close(mlp(x), mlp.fc2(mlp.fc1(x) if residual else torch.zeros(2, 3, 4, 16)))


def test_mlp_dropout():
    mlp, x = FANMlp(8, 16, drop=1.0), torch.randn(2, 3, 4, 8)
    assert not mlp(x).any()
    assert mlp.eval()(x).any()


def test_squeeze_excite_scales_channels():
    module, x = SEProcessing(8, 1, 16).eval(), torch.randn(1, 3, 4, 8)
    plain = FANMlp.forward(module, x)
    gate = (module(x) / plain).flatten(0, 2)  # (12, 8)
    torch.testing.assert_close(gate, gate[:1].expand_as(gate), rtol=1e-3, atol=1e-4)
    assert ((gate > 0) & (gate < 1)).all()
