import json

import pytest
import torch
from mmengine.registry import MODELS

from fan_dense.models import FAN, FANClassifier
from fan_dense.models.conversion import convert_fan_state_dict
from fan_dense.models.loading import CheckpointMismatch
from tests.models.published_files import old_names, save
from tests.models.small import HYBRID, VIT, image
from tests.reference import reference


@pytest.fixture
def classifier() -> FANClassifier:
    torch.manual_seed(0)
    return FANClassifier(HYBRID, num_classes=5)


@pytest.fixture
def checkpoint(classifier, tmp_path) -> str:
    return save(old_names(classifier.state_dict()), tmp_path / 'fan.pth.tar')


def test_published_names_become_ours(classifier):
    weights, dropped = convert_fan_state_dict(old_names(classifier.state_dict()), dense=False)
    assert not dropped
    torch.testing.assert_close(weights, dict(classifier.state_dict()), rtol=0, atol=0)


def test_what_only_a_classifier_has_is_dropped_and_reported(classifier):
    weights, dropped = convert_fan_state_dict(dict(model=classifier.state_dict()))
    assert sorted(weights) == sorted(FAN(HYBRID).state_dict())
    assert sorted(dropped) == sorted(classifier.state_dict().keys() - weights.keys())
    assert {'cls_token', 'norm.weight', 'head.bias', 'cls_attn_blocks.1.gamma2'} <= set(dropped)


@pytest.mark.parametrize(
    'name', ['cls_fan_tiny_8_p4_hybrid', 'cls_fan_small_12_p16_224_se_attn', 'cls_fan_Xlarge_16_p4_hybrid']
)
def test_every_published_key_is_accounted_for(name):
    keys = json.loads(reference('fan', 'manifest', f'{name}.json').read_text())['keys']
    weights, dropped = convert_fan_state_dict({key: torch.empty(0) for key in keys})
    assert sorted([*weights, *dropped]) == sorted(keys)


def test_pretrained_in_a_config(classifier, checkpoint):
    net = MODELS.build(
        dict(
            type='FAN',
            arch=HYBRID,
            last_map='downsample',
            pos_floor=True,
            init_cfg=dict(type='Pretrained', checkpoint=checkpoint),
        )
    )
    initial = net.learnable_downsample.weight.clone()
    net.init_weights()
    for key, value in net.state_dict().items():
        if not key.startswith('learnable_downsample.'):
            assert torch.equal(value, classifier.state_dict()[key]), key
    assert torch.equal(net.learnable_downsample.weight, initial)


def test_pretrained_classifier(classifier, checkpoint):
    net = FANClassifier(HYBRID, num_classes=5, init_cfg=dict(type='Pretrained', checkpoint=checkpoint))
    net.init_weights()
    assert torch.equal(net.eval()(image(64, 96)), classifier.eval()(image(64, 96)))


def test_report(checkpoint):
    report = FAN(HYBRID, out_indices=(0, 1, 2), taps=(1,)).load_published(checkpoint)
    assert report.share == 1
    assert not report.missing
    assert not report.wrong
    assert {'head.weight', 'blocks.2.gamma1', 'cls_attn_blocks.0.norm1.weight'} <= {
        key.removeprefix('module.') for key in report.dropped
    }
    report = FAN(HYBRID, last_map='downsample').load_published(checkpoint)
    assert report.missing == ['learnable_downsample.weight', 'learnable_downsample.bias']
    assert 'loaded ' in str(report)
    assert 'dropped (' in str(report)


def test_backbone_of_a_detector(tmp_path):
    net = FAN(HYBRID, last_map='downsample')
    state = {f'backbone.{key}': value for key, value in net.state_dict().items()} | {'neck.conv.bias': torch.ones(3)}
    torch.save(dict(state_dict=state, meta={}), tmp_path / 'detector.pth')
    report = FAN(HYBRID).load_published(str(tmp_path / 'detector.pth'))
    assert report.share == 1
    assert set(report.dropped) == {'neck.conv.bias', 'learnable_downsample.weight', 'learnable_downsample.bias'}


@pytest.mark.parametrize(
    ('arch', 'message'),
    [
        (
            dict(HYBRID, embed_dims=32),
            r'wrong keys, the first patch_embed.proj.weight \(24, 16, 2, 2\) instead of \(32',
        ),
        (VIT, r'first patch_embed\.backbone.* which the network lacks'),
        (dict(HYBRID, depth=2), 'first blocks.2.gamma1 .* which the network lacks'),
        (dict(HYBRID, depth=5), r'it has \d+\.\d% of the values; is it of another arch'),
    ],
)
def test_another_arch_is_an_error_that_names_the_file(checkpoint, arch, message):
    net = FAN(arch, init_cfg=dict(type='Pretrained', checkpoint=checkpoint))
    before = {key: value.clone() for key, value in net.state_dict().items()}
    with pytest.raises(CheckpointMismatch, match=message) as error:
        net.init_weights()
    assert str(error.value).startswith(checkpoint)
    assert '\n' not in str(error.value)
    torch.testing.assert_close(dict(net.state_dict()), before, rtol=0, atol=0)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match='nowhere.pth'):
        FAN(HYBRID).load_published(str(tmp_path / 'nowhere.pth'))
