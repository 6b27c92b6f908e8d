"""The table of architectures and the page on one: figures against the record, configs by building them."""

import json
import re
import subprocess
import sys

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from torch import nn

from fan_dense import cli
from fan_dense.models.__main__ import describe, parser
from fan_dense.models.card import card, detection_config, multiply_adds, segmentation_config, summarize, table
from fan_dense.models.catalogue import ARCHITECTURES, find
from fan_dense.models.layers.san import PairwiseAttention
from tests.reference import ROOT, reference

ONE_OF_EACH = ['hybrid-tiny', 'hybrid-xlarge', 'vit-tiny', 'swin-tiny', 'san10-patchwise']


def test_published_names_and_parameters_are_those_on_record():
    manifests = [*reference('fan', 'manifest').glob('cls_*.json'), *reference('san', 'manifest').glob('*.json')]
    recorded = {
        path.stem.removeprefix('cls_'): json.loads(path.read_text(encoding='utf-8'))['num_params'] for path in manifests
    }
    named = {row.published: row for row in ARCHITECTURES.values() if row.published}
    assert named.keys() == recorded.keys()
    with torch.device('meta'):
        for name, row in named.items():
            classifier = row.classifier(**row.options)
            assert sum(value.numel() for value in classifier.parameters()) == recorded[name], name


def test_multiply_adds_of_layers():
    # 8 outputs of 4x6 pixels from 5 channels in 3x3 windows
    assert multiply_adds(nn.Conv2d(5, 8, 3, padding=1), torch.empty(1, 5, 4, 6)) == 8 * 4 * 6 * 5 * 9
    assert multiply_adds(nn.Conv2d(6, 6, 3, padding=1, groups=6), torch.empty(1, 6, 4, 6)) == 6 * 4 * 6 * 9
    assert multiply_adds(nn.Linear(5, 7), torch.empty(2, 3, 5)) == 2 * 3 * 5 * 7


def test_multiply_adds_of_san_count_its_weighted_sums():
    attention = PairwiseAttention(8, 4, 16, kernel_size=3).eval()
    convolutions = 4 * 6 * (8 * 4 * 2 + 8 * 16)  # phi and psi, values
    mapping = 4 * 6 * 9 * (6 * 4 + 4 * 2)
    assert multiply_adds(attention, torch.empty(1, 8, 4, 6)) == convolutions + mapping + 4 * 6 * 9 * 16


def test_summary():
    summary = summarize('fan_small_12_p4_hybrid', image_size=64)
    assert (summary.name, summary.parameters, summary.image_size) == ('hybrid-small', 26117944, 64)
    assert (summary.channels, summary.strides) == ((128, 256, 384, 384), (4, 8, 16, 16))
    assert summary.imagenet == (83.5, 64.7)
    # attention to tokens apart, the cost is that of each pixel: a little less than 16/49 of twelve times as many
    larger = summarize('hybrid-small', image_size=112).multiply_adds
    assert 0.30 < summary.multiply_adds / larger < 16 / 49 * 1.05


def test_table():
    lines = [*table(summarize(name, 32) for name in ('hybrid-tiny', 'vit-tiny'))]
    assert len(lines) == 4
    assert len({line.count('|') for line in lines}) == 1
    assert lines[2].startswith('| `hybrid-tiny` | 7.47 M | ')
    assert lines[2].endswith(' | 128@4, 256@8, 192@16, 192@16 | 80.1 | 57.4 |')
    assert lines[3].endswith(' | 192@16, 192@16, 192@16, 192@16 |  |  |')


@pytest.mark.parametrize('name', ARCHITECTURES)
def test_configs_name_the_channels_of_the_network(name):
    for config in (detection_config(name), segmentation_config(name)):
        scope = {}
        exec(config, scope)
        backbone = dict(scope['model']['backbone'])
        assert backbone.pop('_delete_')
        architecture = find(name)
        assert backbone.pop('type') == architecture.backbone.__name__
        with torch.device('meta'):
            channels = [*architecture.backbone(**backbone).out_channels]
        head = scope['model'].get('decode_head') or scope['model']['neck']
        assert head['in_channels'] == (channels if isinstance(head['in_channels'], list) else channels[0])


@pytest.mark.parametrize('name', ONE_OF_EACH)
def test_configs_build_models_that_run(name, tmp_path):
    pytest.importorskip('mmdet')
    pytest.importorskip('mmseg')
    import mmdet.registry
    import mmseg.registry

    for config, scope in ((detection_config(name), mmdet.registry), (segmentation_config(name), mmseg.registry)):
        (tmp_path / 'config.py').write_text(config)
        init_default_scope(scope.MODELS.scope)
        model = Config.fromfile(tmp_path / 'config.py').model
        if 'decode_head' in model:
            model.decode_head.norm_cfg = dict(type='BN')
        with torch.device('meta'):
            model = scope.MODELS.build(model)
            maps = model.extract_feat(torch.empty(1, 3, 64, 64))
            if scope is mmseg.registry:
                assert model.decode_head(maps).shape == (1, 19, *maps[0].shape[2:])
            else:
                assert [x.shape for x in maps] == [(1, 256, side, side) for side in (16, 8, 4, 2, 1)]


def test_card():
    text = card('vit-tiny', image_size=32)
    assert [*table([summarize('vit-tiny', 32)])][-1] in text.splitlines()
    assert "timm.create_model('fan_tiny_12_p16_224')" in text
    blocks = re.findall(r'```python\n(.*?)\n```', text, re.DOTALL)
    assert blocks == [detection_config('vit-tiny'), segmentation_config('vit-tiny')]


def test_unknown_name():
    with pytest.raises(ValueError, match=r"unknown architecture 'hybrid-smal'; known: hybrid-small, ") as error:
        card('hybrid-smal')
    assert all(name in str(error.value) for name in ARCHITECTURES)


def test_command_prints_a_card():
    command = [sys.executable, '-m', 'fan_dense.models', 'fan_tiny_12_p16_224', '--image-size', '32']
    page = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert page.returncode == 0, page.stderr
    assert page.stdout.strip() == card('vit-tiny', 32)


def test_command_prints_figures_of_all(monkeypatch, capsys):
    monkeypatch.setattr('fan_dense.models.catalogue.ARCHITECTURES', {'vit-tiny': ARCHITECTURES['vit-tiny']})
    assert cli.run(describe, parser(), ['--json']) == 0
    (figures,) = json.loads(capsys.readouterr().out)
    assert figures['parameters'] == 7319920
    assert cli.run(describe, parser(), []) == 0
    assert capsys.readouterr().out.splitlines() == [*table([summarize('vit-tiny')])]


def test_command_refuses_in_one_line(capsys):
    assert cli.run(describe, parser(), ['hybrid-smal']) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
