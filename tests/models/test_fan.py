import copy

import pytest
import torch
from mmengine.registry import MODELS
from torch import nn

from fan_dense.models import FAN, FANClassifier
from fan_dense.models.arch import ARCHS
from fan_dense.models.layers.channel import CHANNEL_PROCESSING
from tests.models.small import HYBRID, SIZES, VIT, image


@pytest.mark.parametrize('arch', ARCHS)
def test_shapes_of_every_arch_for_detection(arch):
    with torch.device('meta'):
        net = FAN(arch, last_map='tokens' if arch == 'hybrid-xlarge' else 'downsample').eval()
        for size in SIZES:
            maps = net(torch.empty(2, 3, *size))
            assert [x.shape[1] for x in maps] == list(net.out_channels)
            for x, stride in zip(maps, net.out_strides):
                assert all(abs(side - length / stride) < 1 for side, length in zip(x.shape[2:], size))


@pytest.mark.parametrize('arch', [HYBRID, VIT])
@pytest.mark.parametrize('size', SIZES)
def test_any_size_and_no_state(arch, size):
    net, x = FAN(arch).eval(), image(*size)
    with torch.no_grad():
        first = net(x)
        net(image(48, 48))
        for again, both, alone in zip(net(x), first, net(x[1:])):
            assert torch.equal(both, again)
            torch.testing.assert_close(both[1:], alone, rtol=1e-4, atol=1e-5)
            assert both.is_contiguous()


@pytest.mark.parametrize('arch', [HYBRID, VIT])
def test_gradients_of_a_batch_are_the_mean_of_those_of_its_images(arch):
    # a single image lies in memory as torch's BatchNorm has got wrong before
    net, x = FAN(arch).double().eval(), image(65, 97).double()
    grads = []
    for batch in (x, x[:1], x[1:]):
        net.zero_grad()
        sum(out.square().mean() for out in net(batch)).backward()
        grads.append([value.grad.clone() for value in net.parameters()])
    for both, first, second in zip(*grads):
        torch.testing.assert_close(both, (first + second) / 2, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(('arch', 'last_map'), [(HYBRID, 'downsample'), (VIT, 'tokens')])
@pytest.mark.parametrize('chosen', range(1, 16))
def test_only_what_the_chosen_maps_need_exists(arch, last_map, chosen):
    indices = [index for index in range(4) if chosen >> index & 1]
    net, x = FAN(arch, out_indices=indices, last_map=last_map), image(33, 49)
    maps = net(x)
    sum(out.square().mean() for out in maps).backward()
    assert [x.shape[1] for x in maps] == list(net.out_channels)
    assert not [name for name, value in net.named_parameters() if value.grad is None]

    whole = FAN(arch, last_map=last_map).eval()
    net.eval().load_state_dict({key: whole.state_dict()[key] for key in net.state_dict()})
    for out, index in zip(net(x), indices):
        assert torch.equal(out, whole(x)[index])


def test_maps_come_in_the_order_asked_for():
    net = FAN(HYBRID, out_indices=(3, 0), last_map='downsample', last_channels=40)
    assert (net.out_channels, net.out_strides) == ((40, 8), (32, 4))
    assert [tuple(x.shape[1:]) for x in net(image(64, 96))] == [(40, 2, 3), (8, 16, 24)]


def test_checkpointing_changes_nothing():
    plain, x = FAN(HYBRID, drop_path_rate=0.3, drop_rate=0.1), image(64, 96)
    saving = FAN(HYBRID, drop_path_rate=0.3, drop_rate=0.1, with_cp=True)
    saving.load_state_dict(plain.state_dict())
    for net in (plain, saving):
        torch.manual_seed(1)
        sum(out.square().mean() for out in net(x)).backward()
    for (name, value), other in zip(plain.named_parameters(), saving.parameters()):
        torch.testing.assert_close(other.grad, value.grad, rtol=0, atol=0, msg=name)
    torch.testing.assert_close(saving.state_dict(), plain.state_dict(), rtol=0, atol=0)  # running statistics, too


@pytest.mark.parametrize('arch', [HYBRID, VIT])
@pytest.mark.parametrize('frozen_stages', [-1, 0, 2, 3])
def test_frozen_stages(arch, frozen_stages):
    net = FAN(arch, frozen_stages=frozen_stages).train()
    before = copy.deepcopy(net.state_dict())
    sum(out.square().mean() for out in net(image(33, 49))).backward()
    frozen = ['patch_embed', 'pos_embed', *(f'blocks.{i}' for i in range(frozen_stages))] if frozen_stages >= 0 else []
    frozen = tuple(f'{name}.' for name in frozen)
    for name, value in net.named_parameters():
        assert (value.grad is None) == name.startswith(frozen), name
    for name, value in net.named_buffers():  # running statistics
        assert torch.equal(value, before[name]) == name.startswith(frozen), name


def test_norms_in_evaluation_mode():
    net = FAN(VIT, norm_eval=True).train()
    norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    assert len(norms) == 4 + 3
    assert not any(norm.training for norm in norms)
    assert net.blocks[0].training


def test_other_norms():
    net = FAN(VIT, norm_cfg=dict(type='SyncBN'))
    assert sum(isinstance(module, nn.SyncBatchNorm) for module in net.modules()) == 7
    net.load_state_dict(FAN(VIT).state_dict())
    net(image(32, 32))  # as BatchNorm where nothing is distributed
    grouped = FAN(VIT, norm_cfg=dict(type='GN', num_groups=1))
    assert not any(isinstance(module, nn.BatchNorm2d) for module in grouped.modules())
    grouped(image(32, 32))


def test_drop_path_schedules():
    def rates(**options) -> list[float]:
        return [block.drop_path.p for block in FAN(HYBRID, **options).blocks]

    assert rates() == [0, 0, 0]
    assert rates(drop_path_rate=0.3) == [0.3, 0.3, 0.3]
    assert rates(drop_path_rate=0.3, drop_path_schedule='linear') == pytest.approx([0, 0.15, 0.3])
    assert rates(drop_path_rate=0.3, drop_path_schedule='linear', out_indices=(2,), taps=(1,)) == pytest.approx(
        [0, 0.15]
    )


def test_autocast():
    net, x = FAN('hybrid-tiny').eval(), image(64, 96)
    exact = net(x)
    with torch.autocast('cpu', torch.bfloat16):
        maps = net(x)
    sum(out.float().square().mean() for out in maps).backward()
    for rough, out in zip(maps, exact):
        assert (rough.float() - out).abs().max() < 0.05 * out.abs().max()
    assert all(value.grad.isfinite().all() for value in net.parameters())


def test_attention_maps_are_those_of_the_forward_pass():
    net, x = FAN(HYBRID).eval(), image(64, 96)
    kept = {}
    for index, block in enumerate(net.blocks):
        block.attn.register_forward_hook(
            lambda attn, inputs, out, index=index: kept.__setitem__(index, (attn, inputs[0], out))
        )
    net(x)
    expected = dict(kept)
    maps = net.attention_maps(x, blocks=[0, 2])
    assert list(maps) == [0, 2]
    for index, matrix in maps.items():
        attn, inputs, out = expected[index]
        assert matrix.shape == (2, 2, 24, 24)
        torch.testing.assert_close(matrix.sum(-1), torch.ones(2, 2, 24))
        values = attn.queries_keys_values(inputs)[2]
        mixed = attn.proj((matrix @ values).transpose(1, 2).reshape(inputs.shape))
        torch.testing.assert_close(mixed, out, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize('channel', CHANNEL_PROCESSING)
def test_channel_processing_by_option(channel):
    by_option, by_dict = FAN(HYBRID, channel=channel), FAN(dict(HYBRID, channel=channel))
    assert all(isinstance(block.mlp, CHANNEL_PROCESSING[channel]) for block in by_option.blocks)
    assert by_option.arch == by_dict.arch
    classifier = FANClassifier(HYBRID, channel=channel, num_heads=4).eval()
    assert {block.attn.num_heads for block in classifier.blocks} == {4}
    both, x = classifier(image(65, 97)), image(65, 97)
    torch.testing.assert_close(both[1:], classifier(x[1:]), rtol=1e-4, atol=1e-5)


def test_changes_to_a_published_arch():
    with torch.device('meta'):
        net = FAN('hybrid-large', num_heads=6, channel_heads=5, depth=4, taps=[1])
    assert {(block.attn.num_heads, block.mlp.num_heads) for block in net.blocks} == {(6, 5)}
    assert (len(net.blocks), net.arch.tapped(), net.out_channels) == (4, (1,), (128, 256, 480, 480))


def test_last_maps_by_negative_indices():
    net = FAN(HYBRID, out_indices=(-1, 0))
    assert (net.out_indices, net.out_channels, net.out_strides) == ((3, 0), (24, 8), (16, 4))


def test_position_frequencies():
    x = image(64, 96)
    dense, floored = FAN(HYBRID).eval(), FAN(HYBRID, pos_floor=True).eval()
    floored.load_state_dict(dense.state_dict())
    assert torch.equal(dense(x)[1], floored(x)[1])
    assert not torch.allclose(dense(x)[2], floored(x)[2])


def test_initial_weights():
    net = FAN('hybrid-tiny', last_map='downsample')
    assert net.blocks[0].attn.kv.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert net.blocks[0].mlp.mlp_v.fc2.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert not net.blocks[0].attn.q.bias.any()
    for name, value in net.named_parameters():
        last = name.rpartition('.')[2]
        if last in ('gamma1', 'gamma2', 'temperature') or name.endswith('mlp_v.gamma'):
            assert (value == 1).all(), name
    # torch's default is uniform up to 1/sqrt(fan_in)
    for conv, fan_in in ((net.patch_embed.proj, 256 * 4), (net.pos_embed.token_projection, 64)):
        assert conv.weight.std().item() == pytest.approx((3 * fan_in) ** -0.5, rel=0.05)


def test_registered_for_all():
    pytest.importorskip('mmdet')
    pytest.importorskip('mmseg')
    import mmdet.registry
    import mmseg.registry

    for registry in (MODELS, mmdet.registry.MODELS, mmseg.registry.MODELS):
        assert registry.get('FAN') is FAN
        assert registry.build(dict(type='FAN', arch=HYBRID)).out_channels == (8, 16, 24, 24)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (dict(arch='hybrid-smal'), "unknown FAN arch 'hybrid-smal'"),
        (dict(out_indices=()), 'out_indices must be some of'),
        (dict(out_indices=(0, 4)), 'out_indices must be some of 0, 1, 2, 3, not'),
        (dict(out_indices=(-5,)), 'out_indices must be some of 0, 1, 2, 3, not'),
        (dict(chanel='ca'), "FAN has no option 'chanel'; its arch has channel, "),
        (dict(last_map='detection'), "last_map must be 'tokens' or 'downsample', not 'detection'"),
        (dict(arch='hybrid-xlarge', last_map='downsample'), "use last_map='tokens'"),
        (dict(frozen_stages=4), 'frozen_stages must be between -1 and 3, not 4'),
        (dict(drop_path_schedule='cosine'), "'constant' or 'linear', not 'cosine'"),
        (dict(taps=(3,)), 'taps must be 1 increasing block indices below 3'),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        FAN(**{'arch': HYBRID, **options})


def test_image_without_a_token():
    with pytest.raises(ValueError, match='at least 16x16 pixels'):
        FAN(HYBRID)(image(15, 40))
