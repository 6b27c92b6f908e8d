import copy

import pytest
import torch
from mmengine.registry import MODELS
from torch import nn

from benchmarks.parity_rule import filled
from fan_dense.models import FANSwin, FANSwinClassifier
from fan_dense.models.fan_swin import ARCHS, FANSwinArch, FANSwinBlock
from fan_dense.models.layers.channel import ECAProcessing
from fan_dense.models.layers.window import WindowAttention
from tests.models.small import SIZES, image

SMALL = dict(embed_dims=8, depths=(2, 2, 1, 2), num_heads=(1, 2, 4, 4), window_size=4)


@pytest.mark.parametrize('arch', ARCHS)
def test_shapes_of_every_arch(arch):
    with torch.device('meta'):
        net = FANSwin(arch).eval()
        for size in [*SIZES, (1, 1), (37, 250)]:
            maps = net(torch.empty(2, 3, *size))
            assert [x.shape[1] for x in maps] == list(net.out_channels)
            for x, stride in zip(maps, net.out_strides):
                assert x.shape[2:] == tuple(-(-length // stride) for length in size)


@pytest.mark.parametrize('size', SIZES)
@torch.no_grad()
def test_any_size_and_no_state(size):
    net, x = filled(FANSwin(SMALL)), image(*size)
    first = net(x)
    net(image(48, 40))
    for again, both, alone in zip(net(x), first, net(x[1:])):
        assert torch.equal(both, again)
        torch.testing.assert_close(both[1:], alone, rtol=1e-4, atol=1e-5)
        assert both.is_contiguous()


def without_attention(window_size):
    """A block whose window attention gives zero, with weights that do not depend on the size of its windows."""
    attn = WindowAttention(12, 3, window_size, window_size // 2)
    block = filled(FANSwinBlock(12, attn, ECAProcessing(12, 3, 24, residual=False))).double()
    nn.init.zeros_(attn.proj.weight)
    nn.init.zeros_(attn.proj.bias)
    return block


@pytest.mark.parametrize('tiled', [2, 5, 10])
@torch.no_grad()
def test_padding_of_windows_does_not_reach_channel_attention(tiled):
    x = torch.randn(2, 10, 20, 12, dtype=torch.float64)
    unpadded, padded = without_attention(tiled), without_attention(7)  # 10x20 in windows of 7 is padded to 14x21
    assert torch.equal(padded(x), unpadded(x))
    y = padded.norm2(x)
    tokens = y.flatten(1, 2)
    weights = padded.mlp.q(tokens).softmax(1).unflatten(2, (3, 4))
    prototype = tokens.softmax(1).unflatten(2, (3, 4)).mean(3, keepdim=True)
    gate = (weights * prototype).sum(1).sigmoid() * padded.mlp.temperature[:, 0]  # of 200 tokens, (B, h, d)
    torch.testing.assert_close(padded.mlp.channel_weights(y), gate)


@torch.no_grad()
def test_maps_of_different_batches_share_the_shift_mask():
    net = filled(FANSwin(SMALL))
    x = image(50, 70, batch=3)
    for together, alone in zip(net(x), zip(*(net(x[i : i + 1]) for i in range(3)))):
        torch.testing.assert_close(together, torch.cat(alone), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize('training', [True, False])
def test_checkpointing_changes_nothing(training):
    net = filled(FANSwin(SMALL, drop_path_rate=0)).train(training)
    results = []
    for with_cp in (False, True):
        other = copy.deepcopy(net)
        for stage in other.layers:
            stage.with_cp = with_cp
        sum(x.square().mean() for x in other(image(33, 40))).backward()
        results.append([*other.buffers(), *(value.grad for value in other.parameters())])
    for plain, recomputed in zip(*results):
        torch.testing.assert_close(plain, recomputed)
    assert all(stage.with_cp for stage in FANSwin(SMALL, with_cp=True).layers)


@pytest.mark.parametrize('indices', [(0,), (2, 1), (3,)])
def test_only_what_the_maps_need(indices):
    net, full = filled(FANSwin(SMALL, out_indices=indices)), filled(FANSwin(SMALL))
    maps = net(image(40, 48))
    sum(x.square().sum() for x in maps).backward()
    assert all(value.grad is not None for value in net.parameters())
    assert tuple(x.shape[1] for x in maps) == net.out_channels
    for x, y in zip(maps, [full(image(40, 48))[index] for index in indices]):
        torch.testing.assert_close(x, y)


@pytest.mark.parametrize(('stages', 'parts'), [(-1, ()), (0, ('patch',)), (2, ('patch', 'layers.0', 'layers.1'))])
def test_frozen_stages(stages, parts):
    net = FANSwin(SMALL, frozen_stages=stages).train()
    frozen = {name for name, value in net.named_parameters() if not value.requires_grad}
    expected = (*parts, *(f'norm{i}.' for i in range(stages)))
    assert frozen == {name for name, _ in net.named_parameters() if expected and name.startswith(expected)}
    before = {name: value.clone() for name, value in net.named_buffers()}
    net(image(32, 32))
    assert all(torch.equal(value, before[name]) == name.startswith(parts) for name, value in net.named_buffers())


def test_norms_in_evaluation_mode():
    net = FANSwin(SMALL, norm_eval=True).train()
    assert net.training
    assert not any(module.training for module in net.modules() if isinstance(module, nn.BatchNorm2d))


def test_options_reach_the_layers():
    net = FANSwin(SMALL, drop_rate=0.1, attn_drop_rate=0.2, drop_path_rate=0.3, norm_cfg=dict(type='SyncBN'))
    blocks = [block for stage in net.layers for block in stage.blocks]
    assert [round(block.drop_path.p, 6) for block in blocks] == [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
    assert [block.attn.shift for block in blocks] == [0, 2, 0, 2, 0, 0, 2]
    assert {module.p for module in net.modules() if isinstance(module, nn.Dropout)} == {0.1, 0.2}
    assert {block.attn.attn_drop for block in blocks} == {0.2}
    norms = [module for module in net.modules() if 'BatchNorm' in type(module).__name__]
    assert len(norms) == 5  # none in the last stage
    assert all(isinstance(norm, nn.SyncBatchNorm) for norm in norms)
    eps = {module.eps for module in net.modules() if isinstance(module, nn.LayerNorm)}
    assert eps == {1e-5}


def test_the_published_segmentation_variant():
    row = FANSwinArch(**ARCHS['tiny-seg'])
    assert (row.channel_heads, row.mlp_residual, row.shift_single) == (8, True, True)
    net = FANSwin(dict(SMALL, channel_heads=8, mlp_residual=True, shift_single=True))
    assert {block.mlp.num_heads for stage in net.layers[:3] for block in stage.blocks} == {8}
    assert all(block.mlp.mlp_v.residual for stage in net.layers[:3] for block in stage.blocks)
    assert all(block.attn.shift_single for stage in net.layers for block in stage.blocks)


@torch.no_grad()
def test_bfloat16():
    net, x = filled(FANSwin(SMALL)), image(64, 72)
    with torch.autocast('cpu', torch.bfloat16):
        maps = net(x)
    for half, exact in zip(maps, net(x)):
        assert (half.float() - exact).abs().max() < 0.1 * exact.abs().max()


@pytest.mark.parametrize('kind', [FANSwin, FANSwinClassifier])
def test_registered_once_for_all(kind):
    net = MODELS.build(dict(type=kind.__name__, arch=SMALL))
    assert type(net) is kind
    net.init_weights()


def test_classifier():
    net, x = filled(FANSwinClassifier(SMALL, num_classes=7, frozen_stages=1)), image(64, 64)
    dense = FANSwin(SMALL, out_indices=(3,)).eval()
    state = {key.replace('norm.', 'norm3.', key.startswith('norm.')): value for key, value in net.state_dict().items()}
    dense.load_state_dict({key: value for key, value in state.items() if not key.startswith('head.')})
    torch.testing.assert_close(net(x), net.head(dense(x)[0].flatten(2).mean(2)))
    net(x).sum().backward()
    assert all(value.grad is not None for value in net.parameters() if value.requires_grad)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (dict(arch='tinny'), "unknown FAN-Swin arch 'tinny'; known: tiny"),
        (dict(arch=dict(SMALL, depth=3)), "unknown key 'depth' in FAN-Swin arch; known: depths"),
        (dict(arch=dict(embed_dims=8)), 'FAN-Swin arch lacks depths, num_heads'),
        (dict(arch=dict(SMALL, depths=(1, 1))), 'equally long'),
        (dict(arch=dict(SMALL, num_heads=(3, 3, 3, 3))), '3 heads do not divide 8 channels'),
        (dict(arch=dict(SMALL, channel_heads=16)), '16 heads do not divide 8 channels'),
        (dict(out_indices=(4,)), r'some of 0, 1, 2, 3, not \(4,\)'),
        (dict(frozen_stages=5), 'between -1 and 4, not 5'),
    ],
)
def test_errors_say_what_is_known(options, message):
    with pytest.raises(ValueError, match=message) as error:
        FANSwin(**options)
    assert '\n' not in str(error.value)
