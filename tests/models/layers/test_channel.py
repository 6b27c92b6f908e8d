import numpy as np
import pytest
import torch
from timm.layers import Mlp
from timm.models.xcit import XCA
from torch import nn

from fan_dense.models.layers.channel import (
    CHANNEL_PROCESSING,
    CAProcessing,
    ECAProcessing,
    FANMlp,
    MlpProcessing,
    SEProcessing,
    channel_attention,
    channel_gate,
)


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


def test_channel_attention_follows_the_equation():
    q, k = torch.randn(2, 3, 6, 4, dtype=torch.float64), torch.randn(2, 3, 6, 4, dtype=torch.float64)
    temperature = torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64)[:, None, None]
    weights = channel_attention(q, k, temperature)
    assert weights.shape == (2, 3, 4, 4)
    for image, head, channel in np.ndindex(2, 3, 4):
        query, keys = q[image, head, :, channel].numpy(), k[image, head].numpy()
        cosines = [query @ key / np.linalg.norm(query) / np.linalg.norm(key) for key in keys.T]
        expected = softmax(temperature[head].item() * np.array(cosines))
        np.testing.assert_allclose(weights[image, head, channel], expected, rtol=1e-12)


@pytest.mark.parametrize('fused', [True, False])
@pytest.mark.parametrize('num_heads', [1, 2, 8])
def test_channel_self_attention_is_timms_on_the_mlps_output(num_heads, fused):
    module, theirs, x = CAProcessing(8, num_heads, 32).eval(), XCA(8, num_heads, qkv_bias=True), torch.randn(2, 3, 4, 8)
    theirs.fused_attn = fused
    theirs.temperature.data = module.temperature.data = torch.rand(num_heads, 1, 1) + 0.5
    values = nn.Linear(8, 8)
    module.mlp_v, module.norm_v = values, nn.Identity()
    for name in ('weight', 'bias'):
        parts = [getattr(layer, name).data for layer in (module.q, module.k, values)]
        getattr(theirs.qkv, name).data = torch.cat(parts)
    theirs.proj.weight.data, theirs.proj.bias.data = torch.eye(8), torch.zeros(8)
    torch.testing.assert_close(module(x), theirs(x.flatten(1, 2)).view_as(x), rtol=1e-5, atol=1e-6)


def test_channel_self_attention_sees_the_normalised_output_of_the_mlp():
    module, x = CAProcessing(8, 2, 32).eval(), torch.randn(2, 3, 4, 8)
    weights = module.channel_weights(x)  # (2, 2, 4, 4)
    v = module.norm_v(module.mlp_v(x)).unflatten(-1, (2, 4))
    torch.testing.assert_close(module(x), torch.einsum('bhij,byxhj->byxhi', weights, v).flatten(-2))


def test_plain_mlp_is_timms():
    module, theirs, x = MlpProcessing(8, 2, 32), Mlp(8, 32), torch.randn(2, 3, 4, 8)
    theirs.load_state_dict(module.state_dict())
    torch.testing.assert_close(module(x), theirs(x))


@pytest.mark.parametrize('channel', CHANNEL_PROCESSING)
def test_every_variant_drops_and_learns(channel):
    build, x = CHANNEL_PROCESSING[channel], torch.randn(2, 3, 4, 8)
    build(8, 4, 32, qkv_bias=False)(x).square().mean().backward()
    module = build(8, 4, 32)
    out = module(x)
    assert out.shape == x.shape
    out.square().mean().backward()
    assert not [name for name, value in module.named_parameters() if value.grad is None]
    dropping = build(8, 4, 32, attn_drop=0.5, drop=0.5)
    assert not torch.equal(dropping(x), dropping(x))
    assert torch.equal(dropping.eval()(x), dropping(x))


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
