"""Published files, made of the reference manifests: recognised, converted, and computing what the networks did."""

import re

import numpy as np
import pytest
import torch

from benchmarks.parity_rule import difference, gaussian, weight
from fan_dense.models import FAN, SAN, FANClassifier, FANSwin, FANSwinClassifier, SANClassifier
from fan_dense.models.loading import CheckpointMismatch
from fan_dense.models.released import convert_file, recognise
from tests.models.published_files import manifest, old_names, ruled, save, shaped
from tests.models.small import HYBRID
from tests.reference import reference

PUBLISHED = {
    'cls_fan_Xlarge_16_p4_hybrid': 'hybrid-xlarge',
    'cls_fan_base_16_p4_hybrid': 'hybrid-base',
    'cls_fan_base_18_p16_224': 'vit-base',
    'cls_fan_large_16_p4_hybrid': 'hybrid-large',
    'cls_fan_large_24_p16_224': 'vit-large',
    'cls_fan_small_12_p16_224': 'vit-small',
    'cls_fan_small_12_p16_224_se_attn': 'vit-small-se',
    'cls_fan_small_12_p4_hybrid': 'hybrid-small',
    'cls_fan_swin_base_patch4_window7_224': 'swin-base',
    'cls_fan_swin_large_patch4_window7_224': 'swin-large',
    'cls_fan_swin_small_patch4_window7_224': 'swin-small',
    'cls_fan_swin_tiny_patch4_window7_224': 'swin-tiny',
    'cls_fan_tiny_12_p16_224': 'vit-tiny',
    'cls_fan_tiny_8_p4_hybrid': 'hybrid-tiny',
    'det_fan_base_12_p4_hybrid': 'hybrid-base',
    'det_fan_large_12_p4_hybrid': 'hybrid-large',
    'det_fan_small_12_p4_hybrid': 'hybrid-small',
    'det_fan_tiny_8_p4_hybrid': 'hybrid-tiny',
    'seg_FANSwinTransformer_tiny': 'swin-tiny-seg',
    'seg_fan_base_16_p4_hybrid': 'hybrid-base',
    'seg_fan_large_16_p4_hybrid': 'hybrid-large',
    'seg_fan_small_12_p16_224': 'vit-small',
    'seg_fan_small_12_p4_hybrid': 'hybrid-small',
    'seg_fan_tiny_8_p4_hybrid': 'hybrid-tiny',
    'san10_pairwise': 'san10-pairwise',
    'san10_patchwise': 'san10-patchwise',
    'san15_pairwise': 'san15-pairwise',
    'san15_patchwise': 'san15-patchwise',
    'san19_pairwise': 'san19-pairwise',
    'san19_patchwise': 'san19-patchwise',
}
TABLES = re.compile(r'.*\.(attn_mask|relative_position_index)$')
UNUSED = re.compile(r'cls_token$|cls_attn_blocks\.\d\.(attn\.|mlp\.|gamma2)')
FAN_HEAD = {'head.weight', 'head.bias', 'norm.weight', 'norm.bias'}
TINY = 'cls_fan_tiny_8_p4_hybrid'


def test_all_manifests_are_here():
    names = {path.stem for folder in ('fan', 'san') for path in reference(folder, 'manifest').glob('*.json')}
    assert names == PUBLISHED.keys()


@pytest.mark.parametrize(('name', 'arch'), PUBLISHED.items())
def test_every_published_network_is_recognised_and_complete(name, arch, tmp_path):
    weights = shaped(name)
    fan = 'cls_attn_blocks.0.gamma1' in weights
    source = save(old_names(weights) if fan else weights, tmp_path / 'x.pth.tar')
    content, report, _ = convert_file(source)
    classifier = name.startswith(('cls', 'san'))
    assert content['meta']['arch'] == arch
    assert content['meta']['kind'] == ('classifier' if classifier else 'backbone')
    assert report.share == 1
    assert not report.missing
    assert not report.lacking
    # nothing is lost but what can be computed, and what no map of a dense network depends on
    left_out = {key for key in weights if TABLES.match(key) or (not classifier and UNUSED.match(key))}
    assert content['state_dict'].keys() == weights.keys() - left_out
    assert all(value.shape == weights[key].shape for key, value in content['state_dict'].items())
    fused = 2 * 2 * 2  # in either block, weight and bias are one key instead of three
    assert len(report.dropped) == len(left_out) - (fused if fan and not classifier else 0)


@torch.no_grad()
def output_difference(net, name: str, size: str) -> float:
    """Largest relative difference of what ``net`` computes from what the published network did."""
    folder = 'san' if name.startswith('san') else 'fan'
    with np.load(reference(folder, 'outputs', f'{name}_{size}.npz')) as stored:
        image = torch.from_numpy(gaussian('input', tuple(stored['meta__input_shape'])).astype(np.float32))
        out = net.eval()(image)
        maps = {'logits': out} if isinstance(out, torch.Tensor) else {f'out{i}': x for i, x in enumerate(out)}
        return max(difference(maps[key], stored, key) for key in maps)


@pytest.mark.parametrize(
    ('name', 'size', 'build', 'arch'),
    [
        (TINY, '70x90', FANClassifier, 'hybrid-tiny'),
        ('cls_fan_tiny_12_p16_224', '70x90', FANClassifier, 'vit-tiny'),
        ('cls_fan_swin_tiny_patch4_window7_224', '224x224', FANSwinClassifier, 'tiny'),
        ('san10_pairwise', '128x128', SANClassifier, 'san10'),
    ],
)
def test_pretrained_classifiers_compute_what_was_published(name, size, build, arch, tmp_path):
    weights = ruled(name)
    checkpoint = save(old_names(weights) if build is FANClassifier else weights, tmp_path / 'x.pth.tar')
    net = build(arch, init_cfg=dict(type='Pretrained', checkpoint=checkpoint))
    net.init_weights()
    assert output_difference(net, name, size) < 1e-5


@pytest.fixture(scope='module')
def tiny(tmp_path_factory) -> str:
    """FAN-T-Hybrid as published, with other values as averages."""
    averages = {key: value + 1 for key, value in ruled(TINY).items()}
    path = tmp_path_factory.mktemp('published') / 'fan_hybrid_tiny.pth.tar'
    return save(old_names(ruled(TINY)), path, state_dict_ema=old_names(averages))


@pytest.mark.parametrize(('task', 'last_map'), [('seg', 'tokens'), ('det', 'downsample')])
def test_a_classifier_in_a_backbone_computes_the_published_maps(tiny, task, last_map):
    """The rule gives a backbone's weights by their names, which the published classifiers and backbones share."""
    net = FAN('hybrid-tiny', last_map=last_map, init_cfg=dict(type='Pretrained', checkpoint=tiny))
    net.init_weights()
    for key, value in net.learnable_downsample.state_dict().items():  # no classifier has it
        value.copy_(weight(f'learnable_downsample.{key}', value.shape))
    assert output_difference(net, f'{task}_fan_tiny_8_p4_hybrid', '64x96') < 1e-4


def test_the_report_says_what_is_expected(tiny):
    report = FAN('hybrid-tiny', last_map='downsample').load_published(tiny)
    assert report.missing == ['learnable_downsample.weight', 'learnable_downsample.bias']
    assert set(report.dropped) > {*FAN_HEAD, 'cls_token', 'cls_attn_blocks.1.attn.qkv.bias'}
    assert len(report.loaded) + len(report.dropped) == len(old_names(shaped(TINY)))
    assert str(report).startswith(
        f'loaded {len(report.loaded)} keys, 100.0% of the values, from state_dict (and not state_dict_ema)\n'
        'missing, as expected (2): learnable_downsample.weight, learnable_downsample.bias\n'
        'dropped ('
    )


def test_averaged_weights_are_an_option(tiny, tmp_path):
    net = FAN('hybrid-tiny', init_cfg=dict(type='Pretrained', checkpoint=tiny, ema=True))
    net.init_weights()
    expected = weight('blocks.7.mlp.mlp_v.fc2.bias', (192,)) + 1
    assert torch.equal(net.blocks[7].mlp.mlp_v.fc2.bias, expected)
    report = net.load_published(tiny, ema=True)
    assert report.entry == 'state_dict_ema (and not state_dict)'
    without = save(shaped(TINY), tmp_path / 'x.pth')
    with pytest.raises(CheckpointMismatch, match=r'x\.pth holds no averaged weights \(state_dict_ema'):
        net.load_published(without, ema=True)


@pytest.mark.parametrize(
    ('wrap', 'entry'),
    [
        (lambda weights: weights, ''),
        (lambda weights: dict(model=weights, optimizer={}), 'model'),
        (lambda weights: dict(state_dict_ema=weights), 'state_dict_ema'),
        (
            lambda weights: dict(state_dict={f'_orig_mod.module.{key}': value for key, value in weights.items()}),
            'state_dict',
        ),
    ],
)
def test_containers(wrap, entry, tmp_path):
    torch.save(wrap(shaped(TINY)), tmp_path / 'x.pth')
    content, report, _ = convert_file(str(tmp_path / 'x.pth'))
    assert report.entry == content['meta']['entry'] == entry
    assert len(report.loaded) == len(manifest(TINY))


@pytest.mark.parametrize('content', [[1, 2], dict(state_dict={}), dict(epoch=3), dict(state_dict=dict(a=1))])
def test_files_without_weights(content, tmp_path):
    torch.save(content, tmp_path / 'x.pth')
    with pytest.raises(CheckpointMismatch, match=r'^\S+x\.pth holds no weights$'):
        FAN(HYBRID).load_published(str(tmp_path / 'x.pth'))


def test_a_head_of_other_classes(tmp_path):
    """As of ImageNet-22K: a backbone drops it, a classifier says what is wrong, a conversion keeps it."""
    weights = shaped(TINY) | {
        'head.weight': torch.ones(()).expand(21841, 192),
        'head.bias': torch.ones(()).expand(21841),
    }
    source = save(weights, tmp_path / 'fan_in22k.pth.tar')
    with torch.device('meta'):
        net = FANClassifier('hybrid-tiny')
    with pytest.raises(CheckpointMismatch, match=r'head\.weight \(21841, 192\) instead of \(1000, 192\)'):
        net.load_published(source)
    assert convert_file(source).config == ["model=dict(type='FANClassifier', arch='hybrid-tiny', num_classes=21841)"]
    content, report, config = convert_file(source, to='backbone', arch='fan_tiny_8_p4_hybrid')
    assert set(report.dropped) >= FAN_HEAD
    assert not FAN_HEAD & content['state_dict'].keys()
    assert config == ["backbone=dict(type='FAN', arch='hybrid-tiny')"]


def test_a_few_lacking_values_are_told_and_many_are_refused(tiny, tmp_path, caplog):
    weights = shaped(TINY)
    del weights['blocks.3.norm1.bias']
    few = save(weights, tmp_path / 'few.pth')
    report = convert_file(few).report
    assert report.lacking == ['blocks.3.norm1.bias']
    assert 0.95 < report.share < 1
    assert '\nLACKING (1): blocks.3.norm1.bias' in str(report)
    many = save(
        {key: value for key, value in weights.items() if not key.startswith('blocks.5.')}, tmp_path / 'many.pth'
    )
    with pytest.raises(CheckpointMismatch, match=r'many\.pth does not fit: it has \d\d\.\d% of the values; is it of'):
        convert_file(many, arch='hybrid-tiny')


def test_what_is_of_no_published_network(tmp_path):
    source = save(FANClassifier(HYBRID).state_dict(), tmp_path / 'x.pth')
    with pytest.raises(CheckpointMismatch, match=r'x\.pth is of no published arch: the nearest is '):
        convert_file(source)
    with pytest.raises(CheckpointMismatch, match=r'x\.pth does not fit: .*; is it of another arch\?'):
        convert_file(source, arch='hybrid-small')
    with pytest.raises(ValueError, match=r"unknown architecture 'hybrid-smal'; known: hybrid-small, "):
        convert_file(source, arch='hybrid-smal')
    with pytest.raises(ValueError, match=r"unknown kind 'segmenter'; known: classifier, backbone, segformer, "):
        convert_file(source, to='segmenter')
    with pytest.raises(CheckpointMismatch, match=r'x\.pth is of a classifier, not of a segformer'):
        convert_file(source, to='segformer')


def test_a_converted_file_is_taken_like_the_original(tiny, tmp_path):
    torch.save(convert_file(tiny).content, tmp_path / 'converted.pth')
    ours, theirs = (FANClassifier('hybrid-tiny') for _ in range(2))
    ours.load_published(str(tmp_path / 'converted.pth'))
    theirs.load_published(tiny)
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict(), rtol=0, atol=0)
    content = convert_file(str(tmp_path / 'converted.pth')).content
    torch.testing.assert_close(content['state_dict'], dict(ours.state_dict()), rtol=0, atol=0)


def test_recognition_needs_no_head():
    assert recognise(FANSwin('tiny').state_dict()) == 'swin-tiny'
    assert recognise(SAN('san10', attention='patchwise').state_dict()) == 'san10-patchwise'
