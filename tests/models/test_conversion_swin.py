"""Weights of other networks in FAN-Swin, judged by what window attention, merging and embedding then compute."""

import re
from argparse import Namespace

import pytest
import timm
import torch
from torch import nn

from benchmarks.parity_rule import filled
from fan_dense.models import FANSwin, FANSwinClassifier
from fan_dense.models.conversion_swin import convert_swin_state_dict
from fan_dense.models.loading import CheckpointMismatch
from tests.models.small import image

ARCH = dict(embed_dims=12, depths=(2, 1, 2, 2), num_heads=(1, 2, 3, 4), window_size=4)


def saved(weights, folder) -> str:
    """A file as timm's training leaves it."""
    content = dict(state_dict={f'module.{key}': value for key, value in weights.items()}, args=Namespace(lr=1e-3))
    torch.save(content, folder / 'swin.pth.tar')
    return str(folder / 'swin.pth.tar')


@pytest.fixture
def published() -> dict:
    """A classifier's weights with the tables that the published files hold beside them."""
    weights = dict(filled(FANSwinClassifier(ARCH, num_classes=5)).state_dict())
    for key in list(weights):
        if key.endswith('.attn.qkv.weight'):
            weights[key.replace('qkv.weight', 'relative_position_index')] = torch.zeros(16, 16, dtype=torch.long)
    weights['layers.0.blocks.1.attn_mask'] = torch.zeros(4, 16, 16)
    return weights


def test_published_classifier_in_a_backbone(published, tmp_path):
    checkpoint = saved(published, tmp_path)
    net = FANSwin(ARCH, init_cfg=dict(type='Pretrained', checkpoint=checkpoint))
    net.init_weights()
    for key, value in net.state_dict().items():
        if not key.startswith('norm'):
            assert torch.equal(value, published[key]), key
    report = FANSwin(ARCH, out_indices=(0, 2)).load_published(checkpoint)
    assert report.share == 1
    assert report.missing == ['norm0.weight', 'norm0.bias', 'norm2.weight', 'norm2.bias']
    tables = [key for key in published if key.endswith(('attn_mask', 'relative_position_index'))]
    assert len(tables) == 8
    assert {*tables, 'norm.bias', 'head.weight', 'layers.2.downsample.norm.bias'} <= set(report.dropped)
    assert sorted([*report.loaded, *report.dropped]) == sorted(published)


def test_published_classifier_in_a_classifier(published, tmp_path):
    net = FANSwinClassifier(ARCH, num_classes=5)
    report = net.load_published(saved(published, tmp_path))
    assert not report.missing
    assert torch.equal(net.eval()(image(64, 64)), filled(FANSwinClassifier(ARCH, num_classes=5))(image(64, 64)))


def test_our_own_backbone_in_a_detector(tmp_path):
    net = filled(FANSwin(ARCH))
    state = {f'backbone.{key}': value for key, value in net.state_dict().items()} | {'neck.conv.bias': torch.ones(3)}
    torch.save(dict(state_dict=state, meta={}), tmp_path / 'detector.pth')
    report = FANSwin(ARCH).load_published(str(tmp_path / 'detector.pth'))
    assert report.dropped == ['neck.conv.bias']
    assert not report.missing


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (dict(embed_dims=24), r'wrong keys, the first patch_embed\.proj\.weight \(12, 3, 4, 4\) instead of \(24'),
        (dict(depths=(2, 1, 1, 2)), r'first layers\.2\.blocks\.1.* which the network lacks'),
        (dict(depths=(2, 1, 9, 2)), r'it has \d+\.\d% of the values'),
        (dict(channel_heads=4), r'temperature \(1, 1, 1\) instead of \(4, 1, 1\)'),
    ],
)
def test_another_arch_is_refused(published, tmp_path, change, message):
    checkpoint = saved(published, tmp_path)
    with pytest.raises(CheckpointMismatch, match=message) as error:
        FANSwin(dict(ARCH, **change)).load_published(checkpoint)
    assert str(error.value).startswith(checkpoint)


# an ordinary Swin


@pytest.fixture(scope='module')
def timm_swin() -> nn.Module:
    options = dict(embed_dim=12, depths=(2, 1, 2, 2), num_heads=(1, 2, 3, 4), window_size=4)
    return filled(timm.create_model('swin_tiny_patch4_window7_224', img_size=128, **options))


def authors_name(key: str) -> str:
    """Name in the authors' files, whose stages end with the merging that timm's begin with."""
    stage = re.match(r'layers\.(\d)\.downsample', key)
    key = key.replace(f'layers.{stage[1]}', f'layers.{int(stage[1]) - 1}') if stage else key
    return key.replace('head.fc.', 'head.')


@pytest.fixture(scope='module')
def mmdet_swin() -> nn.Module:
    mmdet = pytest.importorskip('mmdet.models')
    net = mmdet.SwinTransformer(embed_dims=12, depths=(2, 1, 2, 2), num_heads=(1, 2, 3, 4), window_size=4)
    filled(net)
    return net


def check_shared(report):
    """Everything but channel processing and, from a classifier, the norms of the maps, is taken."""
    assert report.share == 1
    assert not report.wrong
    parts = {'mlp_v', 'q', 'norm_v', 'temperature'}
    missing = [key for key in report.missing if not key.startswith('norm')]
    assert missing
    assert all(parts & set(key.split('.')) for key in missing)
    for key in ('patch_embed.norm.bias', 'layers.1.downsample.reduction.weight', 'layers.3.blocks.1.mlp.fc2.bias'):
        assert key in report.loaded
    assert all(f'layers.{i}.blocks.0.mlp.fc1.weight' in report.dropped for i in range(3))


@pytest.mark.parametrize('name', [str, authors_name], ids=['timm', 'authors'])
@torch.no_grad()
def test_swin_of_timm(timm_swin, name, tmp_path):
    net = FANSwin(ARCH).eval()
    weights = {name(key): value for key, value in timm_swin.state_dict().items()}
    report = net.load_published(saved(weights, tmp_path))
    check_shared(report)
    assert {'norm0.weight', 'norm3.bias'} <= set(report.missing)
    assert {'norm.weight', 'head.bias'} <= set(report.dropped)
    x = image(128, 128)
    torch.testing.assert_close(net.patch_embed(x), timm_swin.patch_embed(x))
    x = torch.randn(1, 16, 16, 24)
    torch.testing.assert_close(net.layers[1].downsample(x), timm_swin.layers[2].downsample(x))
    x = torch.randn(1, 32, 32, 12)
    torch.testing.assert_close(net.layers[0].blocks[1].attn(x), timm_swin.layers[0].blocks[1]._attn(x))
    x = torch.randn(1, 4, 4, 96)
    for ours, theirs in zip(net.layers[3].blocks, timm_swin.layers[3].blocks):
        torch.testing.assert_close(ours(x), theirs(x))


@torch.no_grad()
def test_swin_of_mmdet(mmdet_swin, tmp_path):
    state = {f'backbone.{key}': value for key, value in mmdet_swin.state_dict().items()} | {'rpn_head.x': torch.ones(1)}
    torch.save(dict(state_dict=state), tmp_path / 'detector.pth')
    net = FANSwin(ARCH).eval()
    report = net.load_published(str(tmp_path / 'detector.pth'))
    check_shared(report)
    assert 'norm0.weight' in report.loaded
    assert 'rpn_head.x' in report.dropped
    x = image(60, 70)  # neither patches nor windows tile it
    ours, (theirs, size) = net.patch_embed(x), mmdet_swin.patch_embed(x)
    assert ours.shape[1:3] == size
    torch.testing.assert_close(ours.flatten(1, 2), theirs)
    x = torch.randn(2, 15, 18, 12)
    for ours, theirs in zip(net.layers[0].blocks, mmdet_swin.stages[0].blocks):
        torch.testing.assert_close(ours.attn(x).flatten(1, 2), theirs.attn(x.flatten(1, 2), (15, 18)))
    merged, size = mmdet_swin.stages[0].downsample(x.flatten(1, 2), (15, 18))
    torch.testing.assert_close(net.layers[0].downsample(x).flatten(1, 2), merged)
    x = torch.randn(1, 2, 2, 96)
    theirs = mmdet_swin.stages[3].blocks[0].ffn
    torch.testing.assert_close(net.layers[3].blocks[0].mlp(x), theirs(x, identity=torch.zeros_like(x)))


def test_ordinary_classifier_keeps_its_head(timm_swin):
    weights, dropped = convert_swin_state_dict(dict(timm_swin.state_dict()), dense=False)
    assert {'head.weight', 'norm.weight'} <= set(weights)
    assert all('.mlp.' in key or 'attn_mask' in key for key in dropped)
