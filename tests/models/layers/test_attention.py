import torch
from torch import nn

from fan_dense.models.layers.attention import ClassAttention, TokenMixing, attention_matrix


def multihead(q, k, v, out, num_heads) -> nn.MultiheadAttention:
    """torch's own attention with the weights of the given layers."""
    dim = q.weight.shape[0]
    module = nn.MultiheadAttention(dim, num_heads, batch_first=True)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([q.weight, k[0], v[0]]))
        module.in_proj_bias.copy_(torch.cat([q.bias, k[1], v[1]]))
        module.out_proj.load_state_dict(out.state_dict())
    return module


def halves(kv: nn.Linear):
    return zip(kv.weight.chunk(2), kv.bias.chunk(2))


def test_token_mixing_is_multihead_attention():
    mixing, x = TokenMixing(24, 4), torch.randn(2, 3, 5, 24)
    tokens = x.flatten(1, 2)
    out, weights = multihead(mixing.q, *halves(mixing.kv), mixing.proj, 4)(
        tokens, tokens, tokens, average_attn_weights=False
    )
    torch.testing.assert_close(mixing(x).flatten(1, 2), out)
    torch.testing.assert_close(mixing.attention_map(x), weights)


def test_class_attention_is_multihead_attention_of_the_first_token():
    attention, x = ClassAttention(24, 3), torch.randn(2, 7, 24)
    layers = [(layer.weight, layer.bias) for layer in (attention.k, attention.v)]
    out, weights = multihead(attention.q, *layers, attention.proj, 3)(x[:, :1], x, x, average_attn_weights=False)
    torch.testing.assert_close(attention(x), out)
    torch.testing.assert_close(attention.attention_map(x), weights)


def test_attention_matrix_of_equal_keys_is_uniform():
    matrix = attention_matrix(torch.randn(2, 5, 8), torch.ones(2, 4, 8))
    torch.testing.assert_close(matrix, torch.full((2, 5, 4), 0.25))


def test_attention_dropout_acts_in_training_only():
    mixing, x = TokenMixing(24, 4, attn_drop=0.5), torch.randn(1, 4, 4, 24)
    assert not torch.equal(mixing(x), mixing(x))
    mixing.eval()
    assert torch.equal(mixing(x), mixing(x))
