import importlib
import re
import sys

import pytest

from fan_dense import configuration
from tests.reference import ROOT

sys.path.insert(0, str(ROOT / 'benchmarks'))
config_names = importlib.import_module('config_names')
model_table = importlib.import_module('model_table')


@pytest.mark.parametrize(
    ('name', 'parameters', 'gflops', 'size'),
    [
        # "Swin Transformer", arXiv 2103.14030, table 2, and "A ConvNet for the 2020s", arXiv 2201.03545, table 3
        ('resnet50_maskrcnn_coco_1x', 44, 260, (800, 1280)),
        ('swin_tiny_maskrcnn_coco_1x', 48, 267, (800, 1280)),
        ('convnext_tiny_maskrcnn_coco_1x', 48, 262, (800, 1280)),
        # the same papers' 945 and 939 for UPerNet, counted at 2048x512
        ('swin_tiny_upernet_ade20k', 60, 945, (512, 2048)),
        ('convnext_tiny_upernet_ade20k', 60, 939, (512, 2048)),
        # "SegFormer", arXiv 2105.15203, table 1
        ('mit_b2_segformer_ade20k', 27.5, 62.4, (512, 512)),
    ],
)
def test_published_costs(name, parameters, gflops, size):
    model = model_table.build(configuration.load(ROOT / 'configs' / f'{name}.py'))
    assert sum(parameter.numel() for parameter in model.parameters()) / 1e6 == pytest.approx(parameters, rel=0.02)
    assert model_table.gflops(model, *size) == pytest.approx(gflops, rel=0.01)


def test_published_figures():
    found = {member.name: model_table.figures(member) for member in config_names.FAMILY}
    assert found['fan_hybrid_tiny_cascade_coco_3x'] == '50.2 / 33.1'
    assert found['fan_hybrid_large_segformer_cityscapes'] == '82.3 / 68.7'
    assert sum(bool(text) for text in found.values()) == 8  # four sizes, two pairings


def test_the_documentation_lists_every_config():
    text = (ROOT / 'docs' / 'configs.md').read_text()
    assert re.findall(r'^\| `([a-z]\w+)` \|', text, re.MULTILINE) == [member.name for member in config_names.FAMILY]
    for name in ('fan_hybrid_tiny_segformer_ade20k', 'deit_small_upernet_ade20k'):
        member = next(member for member in config_names.FAMILY if member.name == name)
        assert model_table.row(member) in text


def test_writing_keeps_what_is_around(tmp_path):
    page = tmp_path / 'page.md'
    page.write_text(f'before\n\n{model_table.BEGIN}\nold\n{model_table.END}\n\nafter\n')
    model_table.write(page, 'new')
    assert page.read_text() == f'before\n\n{model_table.BEGIN}\n\nnew\n\n{model_table.END}\n\nafter\n'
    page.write_text('no marks')
    with pytest.raises(SystemExit, match='to put the table between'):
        model_table.write(page, 'new')
    assert page.read_text() == 'no marks'
