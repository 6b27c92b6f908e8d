"""Every config loads, and its numbers fit each other and the published recipe."""

import functools
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from mmengine.registry import MODELS

import fan_dense  # noqa: F401
from fan_dense import configuration
from fan_dense.models import FAN

CONFIGS = Path(__file__).parent.parent / 'configs'
NAMES = sorted(path.stem for path in CONFIGS.glob('*.py'))
PUBLISHED = [name for name in NAMES if 'coco' in name or 'cityscapes' in name]


@functools.cache
def load(name):
    return configuration.load(CONFIGS / f'{name}.py')


@pytest.mark.parametrize('name', NAMES)
def test_channels_of_backbone_and_head_agree(name):
    model = load(name).model
    backbone = {key: value for key, value in model.backbone.items() if key not in ('type', 'norm_cfg')}
    with torch.device('meta'):
        channels = FAN(**backbone).out_channels
    head = model.neck if 'neck' in model else model.decode_head
    assert tuple(head.in_channels) == channels
    if 'auxiliary_head' in model:
        assert model.auxiliary_head.in_channels == channels[model.auxiliary_head.in_index]


@pytest.mark.parametrize('name', PUBLISHED)
def test_evaluation_takes_one_image_at_a_time(name):
    """Padding to the largest image of a batch would change what FAN sees."""
    config = load(name)
    assert config.val_dataloader.batch_size == config.test_dataloader.batch_size == 1


@pytest.mark.parametrize('size', ['tiny', 'base', 'large'])
@pytest.mark.parametrize('parent', ['fan_maskrcnn_coco', 'fan_segformer_cityscapes', 'fan_upernet_cityscapes'])
def test_sizes_state_differences_only(parent, size):
    """Every child config equals its parent but for the architecture, its channels and its checkpoint."""
    one, other = (configuration.flatten(load(name).to_dict()) for name in (parent, f'{parent}_{size}'))
    changed = {key for key in configuration.differences(one, other) if 'in_channels' not in key}
    assert changed == {'model.backbone.arch', 'model.backbone.init_cfg.checkpoint', 'checkpoint'}
    assert other['model.backbone.arch'] == f'hybrid-{size}'
    assert f'fan_hybrid_{size}' in other['checkpoint']


def test_the_recipe_of_coco():
    config = load('fan_maskrcnn_coco')
    optimizer = config.optim_wrapper.optimizer
    assert (optimizer.type, optimizer.lr, optimizer.weight_decay) == ('AdamW', 1e-4, 0.05)
    assert config.train_cfg.max_epochs == 36
    assert config.model.backbone.drop_path_rate == 0.3
    assert config.model.backbone.get('drop_path_schedule', 'constant') == 'constant'
    assert config.model.backbone.with_cp
    whole, cropped = config.train_pipeline[3].transforms
    sides = [short for short, _ in whole[0].scales]
    assert (min(sides), max(sides), len(sides)) == (480, 800, 11)
    assert [step.type for step in cropped] == ['RandomChoiceResize', 'RandomCrop', 'RandomChoiceResize']


@pytest.mark.parametrize('name', ['fan_segformer_cityscapes', 'fan_upernet_cityscapes'])
def test_the_recipe_of_cityscapes(name):
    config = load(name)
    optimizer = config.optim_wrapper.optimizer
    assert (optimizer.type, optimizer.lr, optimizer.weight_decay) == ('AdamW', 6e-5, 0.01)
    assert config.train_cfg.max_iters == 160000
    assert config.train_dataloader.batch_size * 8 == 8  # 8 GPUs
    warm_up, decay = config.param_scheduler
    assert (warm_up.end, decay.power, decay.end) == (1500, 1.0, 160000)
    assert tuple(config.crop_size) == (1024, 1024)
    test = config.model.test_cfg
    assert (test.mode, tuple(test.crop_size), tuple(test.stride)) == ('slide', (1024, 1024), (768, 768))


@pytest.mark.filterwarnings('ignore::UserWarning')  # of mmseg, about its own code
def test_weight_decay_and_learning_rate_of_each_group():
    """The optimizer as mmengine builds it from the config, on the config's own heads."""
    from mmengine.optim import build_optim_wrapper
    from mmseg.utils import register_all_modules

    register_all_modules()
    config = load('fan_segformer_cityscapes')
    with torch.device('meta'):
        model = MODELS.build(config.model)
    optimizer = build_optim_wrapper(model, config.optim_wrapper).optimizer
    groups = {id(parameter): group for group in optimizer.param_groups for parameter in group['params']}
    found = {name: groups[id(parameter)] for name, parameter in model.named_parameters()}

    def of(name):
        return found[name]['lr'], found[name]['weight_decay']

    assert of('backbone.blocks.0.attn.proj.weight') == (6e-5, 0.01)
    assert of('backbone.blocks.0.norm1.weight') == (6e-5, 0)
    assert of('decode_head.conv_seg.weight') == (pytest.approx(6e-4), 0.01)
    positions = [name for name in found if name.startswith('backbone.pos_embed.')]
    assert positions
    assert {of(name) for name in positions} == {(6e-5, 0)}


@pytest.mark.parametrize('name', ['fan_maskrcnn_coco', 'fan_segformer_cityscapes'])
def test_corrupted_variants(name):
    clean, config = load(name), load(f'{name}_c')
    options = {'corruption': 'snow', 'severity': 5, 'corruption_seed': 2, 'image_order': 'rgb'}
    chosen = configuration.load(CONFIGS / f'{name}_c.py', options).test_dataloader.dataset
    load_step, corrupt, *rest = config.test_dataloader.dataset.pipeline
    assert [step.type for step in (load_step, *rest)] == [step.type for step in clean.test_dataloader.dataset.pipeline]
    assert (corrupt.type, corrupt.corruption, corrupt.severity, corrupt.seed) == ('Corrupt', 'fog', 3, 0)
    assert corrupt.image_order == 'bgr'  # the published order
    assert 'corruption' in rest[-1].meta_keys
    assert config.custom_hooks == [dict(type='PixelGuard')]
    step = chosen.pipeline[1]
    assert (step.corruption, step.severity, step.seed, step.image_order) == ('snow', 5, 2, 'rgb')
    prefix = chosen.data_prefix.get('img') or chosen.data_prefix.img_path
    assert Path(step.prefix) == Path(chosen.data_root, prefix)
    assert not list(configuration.steps(config.train_dataloader, 'Corrupt'))


def test_what_a_corrupted_config_names_is_registered_by_importing_the_package():
    """Without any of our commands: in a process of its own, as mmdet's tools run it."""
    code = (
        'import fan_dense, mmdet.utils; mmdet.utils.register_all_modules();'
        'from mmdet.registry import HOOKS, TRANSFORMS;'
        "print(HOOKS.get('PixelGuard').__module__, TRANSFORMS.get('Corrupt').__module__)"
    )
    shown = subprocess.run([sys.executable, '-W', 'ignore', '-c', code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ['fan_dense.evaluation.guard', 'fan_dense.datasets.transforms']


def test_the_data_folder_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv('COCO_ROOT', '/elsewhere/coco')
    config = configuration.load(CONFIGS / 'fan_maskrcnn_coco_c.py')
    assert config.test_dataloader.dataset.data_root == '/elsewhere/coco'
    assert config.test_evaluator.ann_file == '/elsewhere/coco/annotations/instances_val2017.json'
    assert config.test_dataloader.dataset.pipeline[1].prefix == '/elsewhere/coco/val2017'
