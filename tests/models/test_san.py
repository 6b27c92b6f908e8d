import copy
import itertools

import pytest
import torch
from mmengine.registry import MODELS
from torch import nn

from benchmarks.parity_rule import filled
from fan_dense.models import SAN, SANClassifier
from fan_dense.models.loading import CheckpointMismatch
from fan_dense.models.san import ARCHS, RELATIONS
from tests.models.small import SIZES, image

SMALL = dict(depths=(1, 2, 1, 1, 1), kernel_sizes=(3, 5, 7, 3, 3), dims=(32, 32, 32, 32, 64))
KINDS = [(attention, relation) for attention, relations in RELATIONS.items() for relation in relations]


@pytest.mark.parametrize('attention', RELATIONS)
@pytest.mark.parametrize('arch', ARCHS)
def test_shapes_of_every_arch(arch, attention):
    with torch.device('meta'):
        net = SAN(arch, attention).eval()
        for size in SIZES:
            maps = net(torch.empty(2, 3, *size))
            assert [x.shape[1] for x in maps] == list(net.out_channels) == [64, 256, 512, 1024, 2048]
            for x, stride in zip(maps, net.out_strides):
                assert x.shape[2:] == tuple(length // stride for length in size)


@pytest.mark.parametrize(('attention', 'relation'), KINDS)
def test_every_parameter_gets_a_finite_gradient(attention, relation):
    net = SAN(SMALL, attention, relation)
    maps = net(image(65, 97, batch=1))
    sum(x.square().mean() for x in maps).backward()
    assert all(x.isfinite().all() for x in maps)
    assert not [name for name, value in net.named_parameters() if value.grad is None or not value.grad.isfinite().all()]


@pytest.mark.parametrize(('attention', 'relation'), KINDS)
def test_images_of_a_batch_do_not_meet(attention, relation):
    net, x = SAN(SMALL, attention, relation).double(), image(32, 48).double()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1  # statistics of these images, without which some relations overflow
    net(x)
    net.eval()
    grads = []
    for batch in (x, x[:1], x[1:]):
        net.zero_grad()
        sum(out.square().mean() for out in net(batch)).backward()
        grads.append([value.grad.clone() for value in net.parameters()])
    largest = max(grad.abs().max().item() for grad in grads[0])  # beside which some are zero but for rounding
    for both, first, second in zip(*grads):
        torch.testing.assert_close(both, (first + second) / 2, rtol=1e-7, atol=1e-12 * largest)


@pytest.mark.parametrize('attention', RELATIONS)
@pytest.mark.parametrize('size', [*SIZES, (32, 32), (33, 200)])
@torch.no_grad()
def test_any_size_and_no_state(attention, size):
    net, x = SAN(SMALL, attention).eval(), image(*size)
    first = net(x)
    net(image(48, 40))
    assert all(torch.equal(one, other) for one, other in zip(net(x), first))
    assert all(out.isfinite().all() for out in first)


@torch.no_grad()
def test_smallest_images_of_the_published_archs():
    net = SAN('san10').eval()  # the last two stages have 2x2 and 1x1 pixels, and 7x7 neighbourhoods
    maps = net(image(32, 32, batch=1))
    assert [tuple(x.shape[2:]) for x in maps] == [(16, 16), (8, 8), (4, 4), (2, 2), (1, 1)]
    assert all(x.isfinite().all() for x in maps)


@pytest.mark.parametrize(('indices', 'least'), [((0, 1, 2, 3, 4), 32), ((0, 1), 4)])
def test_images_that_are_too_small(indices, least):
    with torch.device('meta'):
        net = SAN('san10', out_indices=indices).eval()
        net(torch.empty(1, 3, least, least))
        with pytest.raises(ValueError, match=f'at least {least}x{least} pixels'):
            net(torch.empty(1, 3, least, least - 1))


@pytest.mark.parametrize('indices', [(0,), (2, 1), (4,)])
def test_only_what_the_maps_need(indices):
    net = SAN(SMALL, out_indices=indices)
    maps = net(image(64, 72))
    sum(x.sum() for x in maps).backward()
    assert all(value.grad is not None for value in net.parameters())
    assert tuple(x.shape[1] for x in maps) == net.out_channels
    full = SAN(SMALL)
    full.load_state_dict(net.state_dict(), strict=False)
    for x, y in zip(net.eval()(image(64, 72)), [full.eval()(image(64, 72))[index] for index in indices]):
        torch.testing.assert_close(x, y)


@pytest.mark.parametrize('training', [True, False])
def test_checkpointing_changes_nothing(training):
    results = []
    net = SAN(SMALL).train(training)
    for with_cp in (False, True):
        other = copy.deepcopy(net)
        other.with_cp = with_cp
        sum(x.square().mean() for x in other(image(33, 40))).backward()
        results.append([*other.buffers(), *(value.grad for value in other.parameters())])
    for plain, recomputed in zip(*results):
        torch.testing.assert_close(plain, recomputed)


@pytest.mark.parametrize(('stages', 'free'), [(-1, 'conv_in'), (0, 'conv0'), (1, 'conv1'), (5, None)])
def test_frozen_stages(stages, free):
    net = SAN(SMALL, frozen_stages=stages).train()
    names = [name for name, _ in net.named_parameters()]
    frozen = [name for name, value in net.named_parameters() if not value.requires_grad]
    end = len(names) if free is None else names.index(f'{free}.weight')
    assert frozen == names[:end]
    before = {name: value.clone() for name, value in net.named_buffers()}
    net(image(64, 64))
    moved = {name.split('.')[0] for name, value in net.named_buffers() if not torch.equal(value, before[name])}
    assert moved == {name.split('.')[0] for name in before} - {name.split('.')[0] for name in frozen}


def test_norms_in_evaluation_mode():
    net = SAN(SMALL, norm_eval=True).train()
    assert net.training
    assert not any(module.training for module in net.modules() if isinstance(module, nn.BatchNorm2d))


def test_other_norms():
    net = SAN(SMALL, norm_cfg=dict(type='SyncBN'))
    norms = [module for module in net.modules() if 'BatchNorm' in type(module).__name__]
    assert norms
    assert all(isinstance(norm, nn.SyncBatchNorm) for norm in norms)


@pytest.mark.parametrize(('stride', 'dilation'), [(1, 1), (1, 2), (3, 1)])
@torch.no_grad()
def test_strides_and_dilations_of_stages(stride, dilation):
    net = SAN(dict(SMALL, strides=[2, stride, 2, 2, 1], dilations=[1, dilation, 1, 1, 2])).eval()
    assert net.out_strides == (2, 2 * stride, 4 * stride, 8 * stride, 8 * stride)
    maps = net(image(48, 60))
    assert [tuple(x.shape[2:]) for x in maps] == [(48 // s, 60 // s) for s in net.out_strides]


@torch.no_grad()
def test_dilated_neighbourhoods_equal_those_of_every_other_pixel():
    plain = SAN(SMALL).eval().layer1
    dilated = SAN(dict(SMALL, dilations=(1, 2, 1, 1, 1))).eval().layer1
    dilated.load_state_dict(plain.state_dict())
    for block in (*plain, *dilated):
        nn.init.zeros_(block.sam.conv_p.weight)  # positions are relative to the size of the map
    x = torch.randn(1, 32, 20, 20)
    for i, j in itertools.product(range(2), repeat=2):
        inner = slice(4, -4)  # what is reflected at the border are other pixels
        expected = plain(x[:, :, i::2, j::2])[:, :, inner, inner]
        got = dilated(x)[:, :, i::2, j::2][:, :, inner, inner]
        assert got.numel() > 0
        torch.testing.assert_close(got, expected)


@torch.no_grad()
def test_bfloat16():
    net, x = SAN(SMALL).eval(), image(64, 64)
    with torch.autocast('cpu', torch.bfloat16):
        maps = net(x)
    for half, exact in zip(maps, net(x)):
        assert (half.float() - exact).abs().max() < 0.05 * exact.abs().max()


@pytest.mark.parametrize('kind', [SAN, SANClassifier])
def test_registered_once_for_all(kind):
    net = MODELS.build(dict(type=kind.__name__, arch=SMALL))
    assert type(net) is kind
    net.init_weights()


def test_classifier():
    net, x = SANClassifier(SMALL, num_classes=7).eval(), image(64, 64)
    dense = SAN(SMALL).eval()
    dense.load_state_dict({key: value for key, value in net.state_dict().items() if not key.startswith('fc.')})
    torch.testing.assert_close(net(x), net.fc(dense(x)[-1].flatten(2).mean(2)))
    net(x).sum().backward()
    assert all(value.grad is not None for value in net.parameters())


@pytest.fixture
def published(tmp_path) -> str:
    """A classifier as the authors' training saves it, from a data-parallel model."""
    weights = {f'module.{key}': value for key, value in filled(SANClassifier(SMALL)).state_dict().items()}
    torch.save(dict(epoch=100, state_dict=weights, top1_val=77.1), tmp_path / 'san.pth')
    return str(tmp_path / 'san.pth')


@torch.no_grad()
def test_published_classifier_in_a_backbone(published):
    net = SAN(SMALL, init_cfg=dict(type='Pretrained', checkpoint=published)).eval()
    net.init_weights()
    x = image(64, 64)
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(net(x), filled(SAN(SMALL))(x)))
    report = SAN(SMALL, out_indices=(1, 2)).load_published(published)
    assert report.share == 1
    assert not report.missing
    assert {'fc.weight', 'conv3.weight', 'layer4.0.sam.conv_p.bias', 'bn3.running_mean'} <= set(report.dropped)
    assert not SANClassifier(SMALL).load_published(published).dropped


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (
            dict(arch=dict(SMALL, depths=(1, 1, 1, 1, 1))),
            r'the first layer1\.1\.bn1\.weight .* which the network lacks',
        ),
        (dict(arch=dict(SMALL, depths=(1, 2, 9, 1, 1))), r'it has \d\d\.\d% of the values'),
        (dict(arch=SMALL, attention='patchwise'), 'wrong keys, the first layer0.0.sam.conv_w.0.weight'),
    ],
)
def test_another_arch_is_refused(published, options, message):
    with pytest.raises(CheckpointMismatch, match=message) as error:
        SAN(**options).load_published(published)
    assert str(error.value).startswith(published)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (dict(arch='san11'), "unknown SAN arch 'san11'; known: san1"),
        (dict(arch=dict(SMALL, depth=3)), "unknown key 'depth' in SAN arch; known: depths"),
        (dict(arch=dict(kernel_sizes=(3, 3))), 'SAN arch lacks depths'),
        (dict(arch=dict(depths=(1, 1))), 'one entry a stage'),
        (dict(arch=dict(SMALL, dims=(32, 48, 64, 64, 64))), 'divisible by 32, not 48'),
        (dict(arch=dict(SMALL, kernel_sizes=(3, 4, 3, 3, 3))), 'must be odd, not 4'),
        (dict(attention='patch'), "'pairwise' or 'patchwise', not 'patch'"),
        (dict(relation='substraction'), "unknown relation 'substraction' for pairwise attention; known: subtraction"),
        (dict(attention='patchwise', relation='hadamard'), "unknown relation 'hadamard' for patchwise attention"),
        (dict(out_indices=(5,)), r'some of 0, 1, 2, 3, 4, not \(5,\)'),
        (dict(out_indices=()), 'out_indices'),
        (dict(frozen_stages=6), 'between -1 and 5, not 6'),
    ],
)
def test_errors_say_what_is_known(options, message):
    with pytest.raises(ValueError, match=message) as error:
        SAN(**options)
    assert '\n' not in str(error.value)
