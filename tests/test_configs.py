"""Every config loads, is what its name says, and gives a model whose parts fit each other and the published recipe.

`benchmarks/step_configs.py` makes a training step and a prediction with every one of them, which takes some minutes;
here that is done with one of each kind.
"""

import copy
import functools
import importlib
import subprocess
import sys
from pathlib import Path

import cv2
import mmengine.config.utils
import numpy as np
import pytest
import torch
from mmcv.transforms import Compose
from mmengine.registry import MODELS, DefaultScope

import fan_dense  # noqa: F401
from fan_dense import configuration
from tests.reference import ROOT

sys.path.insert(0, str(ROOT / 'benchmarks'))
config_names = importlib.import_module('config_names')
model_table = importlib.import_module('model_table')
step_configs = importlib.import_module('step_configs')

pytestmark = pytest.mark.filterwarnings('ignore::UserWarning')  # of mmseg, about its own code
CONFIGS = ROOT / 'configs'
NAMES = sorted(path.stem for path in CONFIGS.glob('*.py'))
FAMILY, Member = config_names.FAMILY, config_names.Member
SMALL = [name for name in NAMES if name.endswith(('_scenes', '_camvid'))]
CORRUPTED = [name for name in NAMES if name.endswith('_c')]
# mmengine reads the list of all models of mmdet or mmseg again for each of their configs
mmengine.config.utils.load = functools.cache(mmengine.config.utils.load)


@functools.cache
def load(name):
    """The config, to be read only."""
    return configuration.load(CONFIGS / f'{name}.py')


def flat(node):
    return configuration.flatten(node.to_dict())


def test_names_follow_the_scheme():
    members = {member.name for member in FAMILY}
    assert members <= set(NAMES)
    assert {name.removesuffix('_c') for name in CORRUPTED} <= members | config_names.SHORT.keys()
    assert set(NAMES) == members | set(CORRUPTED) | set(SMALL) | config_names.SHORT.keys()


@pytest.mark.parametrize('member', FAMILY, ids=lambda member: member.name)
def test_a_config_is_what_its_name_says(member):
    text = (CONFIGS / f'{member.name}.py').read_text()
    assert f"['_base_/backbones/{member.backbone}.py', '_base_/recipes/{member.recipe}.py']" in text
    config = load(member.name)
    model = flat(config.model)
    part = member.head if member.head in ('segformer', 'upernet') else 'detector'
    stated = {key: value for key, value in flat(config[part]).items() if not key.endswith('_delete_')}
    assert stated.items() <= model.items()
    assert config.default_scope == ('mmdet' if member.data == 'coco' else 'mmseg')
    assert config.test_dataloader.dataset.type.lower().startswith(member.data)
    # padding to the largest image of a batch would change what FAN sees
    assert config.val_dataloader.batch_size == config.test_dataloader.batch_size == 1
    # the model is that of other recipes with this head, so that those which are built below stand for all
    other = next(other for other in FAMILY if (other.backbone, other.head) == (member.backbone, member.head))
    changed = configuration.differences(model, flat(load(other.name).model))
    assert all(
        key.startswith(('data_preprocessor.size', 'test_cfg')) or key.endswith('.num_classes') for key in changed
    )


@pytest.mark.parametrize('short', config_names.SHORT)
def test_short_names(short):
    assert load(short).to_dict() == load(config_names.SHORT[short]).to_dict()


def _first(members, *keys):
    """The first of the family for each combination of these attributes."""
    found = {}
    for member in members:
        found.setdefault(tuple(getattr(member, key) for key in keys), member)
    return list(found.values())


# The smallest of each backbone with a segmenter; of those that are not mmdet's or mmseg's with a detector too; and what
# this leaves out: Cascade, UPerNet on a pyramid, ADE20K.
STEPPED = [
    *_first([member for member in FAMILY if member.head == 'segformer'], 'family'),
    *_first([member for member in FAMILY if member.head == 'maskrcnn' and 'fan' in member.family], 'family'),
    *_first([member for member in FAMILY if member.family == 'san'], 'head'),
    Member('convnext_tiny', 'maskrcnn_coco_3x'),
    Member('fan_hybrid_tiny', 'cascade_coco_3x'),
    Member('fan_vit_tiny', 'upernet_ade20k'),
]
# every backbone with each of the three models that its base states, but for those; Cascade takes Mask R-CNN's maps
BUILT = [
    member
    for member in _first(FAMILY, 'backbone', 'head')
    if member.head != 'cascade' and (member.backbone, member.head) not in {(one.backbone, one.head) for one in STEPPED}
]


@pytest.mark.parametrize('member', BUILT, ids=lambda member: member.name)
def test_backbone_and_heads_fit(member):
    """Channels and strides, by shapes alone: a wrong number of channels is an error in the heads."""
    config = copy.deepcopy(load(member.name))
    height, width = 128, 192
    found = model_table.forward(model_table.build(config), height, width)
    maps = found.get('neck', found['backbone'])
    sizes = [tuple(one.shape[2:]) for one in maps]
    if member.data == 'coco':
        assert sizes == [(height // stride, width // stride) for stride in (4, 8, 16, 32, 64)]
        assert config.model.rpn_head.anchor_generator.strides == [4, 8, 16, 32, 64]
        assert found['bbox_head.0'][0].shape == (1000, 81)
        assert found['mask_head.0'].shape == (100, 80, 28, 28)
    else:
        strides = (4, 8, 16, 32)
        if member.family == 'fan_hybrid':
            strides = (4, 8, 16, 16)
        elif member.head == 'segformer' and member.family in ('fan_vit', 'deit_small'):
            strides = (16, 16, 16, 16)
        assert sizes == [(height // stride, width // stride) for stride in strides]
        classes = {'cityscapes': 19, 'ade20k': 150}[member.data]
        assert found['decode_head'].shape == (1, classes, *sizes[0])
        if 'auxiliary_head' in config.model:
            head = config.model.auxiliary_head
            assert head.in_channels == maps[head.in_index].shape[1]


@pytest.mark.parametrize('name', [*(member.name for member in STEPPED), *SMALL])
def test_trains_and_predicts(name):
    assert not step_configs.faults(step_configs.run(name))


def test_the_recipe_of_coco():
    for name in ('fan_hybrid_small_maskrcnn_coco_3x', 'fan_hybrid_small_cascade_coco_3x', 'swin_tiny_cascade_coco_3x'):
        config = load(name)
        optimizer = config.optim_wrapper.optimizer
        assert (optimizer.type, optimizer.lr, optimizer.weight_decay) == ('AdamW', 1e-4, 0.05)
        assert config.train_cfg.max_epochs == 36
        whole, cropped = config.train_pipeline[3].transforms
        sides = [short for short, _ in whole[0].scales]
        assert (min(sides), max(sides), len(sides)) == (480, 800, 11)
        assert [step.type for step in cropped] == ['RandomChoiceResize', 'RandomCrop', 'RandomChoiceResize']
        assert [scheduler.get('milestones') for scheduler in config.param_scheduler] == [None, [27, 33]]


@pytest.mark.parametrize('size', config_names.SIZES)
def test_the_published_detectors(size):
    backbone = load(f'fan_hybrid_{size}_cascade_coco_3x').model.backbone
    assert backbone.drop_path_rate == 0.3
    assert backbone.get('drop_path_schedule', 'constant') == 'constant'
    assert backbone.last_map == 'downsample'
    assert backbone.with_cp


def test_the_short_recipe_of_coco():
    """12 epochs of one scale; all else as in 36."""
    one, other = (flat(load(f'fan_hybrid_small_maskrcnn_coco_{recipe}')) for recipe in ('1x', '3x'))
    changed = {key.partition('.')[0] for key in configuration.differences(one, other)}
    assert changed == {'train_pipeline', 'train_dataloader', 'param_scheduler', 'train_cfg', 'scales'}
    config = load('fan_hybrid_small_maskrcnn_coco_1x')
    assert config.train_cfg.max_epochs == 12
    assert [step.get('scale') for step in config.train_pipeline if step.type == 'Resize'] == [(1333, 800)]
    assert config.param_scheduler[1].milestones == [8, 11]
    assert config.param_scheduler[1].end == 12


@pytest.mark.parametrize('data', ['cityscapes', 'ade20k'])
@pytest.mark.parametrize('head', ['segformer', 'upernet'])
def test_the_recipe_of_segmentation(head, data):
    config = load(f'fan_hybrid_small_{head}_{data}')
    optimizer = config.optim_wrapper.optimizer
    assert (optimizer.type, optimizer.lr, optimizer.weight_decay) == ('AdamW', 6e-5, 0.01)
    assert config.train_cfg.max_iters == 160000
    warm_up, decay = config.param_scheduler
    assert (warm_up.end, decay.power, decay.end) == (1500, 1.0, 160000)
    gpus, batch, side = 8, {'cityscapes': 8, 'ade20k': 16}[data], {'cityscapes': 1024, 'ade20k': 512}[data]
    assert config.train_dataloader.batch_size * gpus == batch == config.auto_scale_lr.base_batch_size
    assert tuple(config.crop_size) == tuple(config.model.data_preprocessor.size) == (side, side)
    test = config.model.test_cfg
    if data == 'cityscapes':
        assert (test.mode, tuple(test.crop_size), tuple(test.stride)) == ('slide', (1024, 1024), (768, 768))
    else:
        assert test.mode == 'whole'


def test_sizes_state_differences_only():
    """Other sizes equal FAN-S-Hybrid but for the architecture, its channels and its checkpoint."""
    for member in FAMILY:
        if member.family != 'fan_hybrid':
            continue
        one, other = (flat(load(name).model) for name in (f'fan_hybrid_small_{member.recipe}', member.name))
        changed = {key for key in configuration.differences(one, other) if 'in_channels' not in key}
        if member.backbone != 'fan_hybrid_small':
            assert changed == {'backbone.arch', 'backbone.init_cfg.checkpoint'}
        size = member.backbone.rpartition('_')[2]
        assert other['backbone.arch'] == f'hybrid-{size}'
        assert f'/fan_hybrid_{size}' in other['backbone.init_cfg.checkpoint']


@pytest.mark.parametrize(
    ('name', 'encodings'),
    [('fan_hybrid_small', r'pos_embed.'), ('swin_tiny', 'relative_position_bias_table'), ('deit_small', 'pos_embed')],
)
def test_weight_decay_and_learning_rate_of_each_group(name, encodings):
    """The optimizer as mmengine builds it from the config, on the config's own heads."""
    from mmengine.optim import build_optim_wrapper

    config = load(f'{name}_segformer_cityscapes')
    with DefaultScope.overwrite_default_scope('mmseg'):
        model = MODELS.build(copy.deepcopy(config.model))
        optimizer = build_optim_wrapper(model, config.optim_wrapper).optimizer
    groups = {id(parameter): group for group in optimizer.param_groups for parameter in group['params']}
    found = {key: groups[id(parameter)] for key, parameter in model.named_parameters()}
    modules = dict(model.named_modules())
    for key, group in found.items():
        norm = isinstance(modules[key.rpartition('.')[0]], (torch.nn.LayerNorm, torch.nn.modules.batchnorm._BatchNorm))
        head = key.startswith('decode_head')  # whose norms do decay: its own rule comes before that of norms
        assert group['weight_decay'] == (0 if not head and (norm or encodings in key) else 0.01), key
        assert group['lr'] == pytest.approx(6e-4 if head else 6e-5), key
    assert any(encodings in key for key in found)


@pytest.fixture
def image(tmp_path):
    """An image, its label map, and what the data sets of mmdet and mmseg say of them."""
    pixels = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    path, labels = str(tmp_path / 'image.png'), str(tmp_path / 'labels.png')
    cv2.imwrite(path, pixels)
    cv2.imwrite(labels, np.arange(48 * 64, dtype=np.uint8).reshape(48, 64) % 19)
    box = dict(bbox=[4, 8, 40, 30], bbox_label=1, mask=[[4, 8, 40, 8, 40, 30]], ignore_flag=0)
    return dict(
        img_path=path, img_id=0, seg_map_path=labels, height=48, width=64, instances=[box], seg_fields=[],
        label_map=None, reduce_zero_label=False,
    )  # fmt: skip


@pytest.mark.parametrize('recipe', config_names.RECIPES)
def test_pipelines(recipe, image):
    config = load(f'fan_hybrid_small_{recipe}')
    image['reduce_zero_label'] = 'ade20k' in recipe
    with DefaultScope.overwrite_default_scope(config.default_scope):
        trained = Compose(config.train_pipeline)(copy.deepcopy(image))
        tested = Compose(config.test_pipeline)(copy.deepcopy(image))
        first, corrupt, *rest = config.corrupted_pipeline
        corrupt = {**corrupt, 'prefix': str(Path(image['img_path']).parent)}
        corrupted = Compose([first, corrupt, *rest])(copy.deepcopy(image))
    if 'coco' in recipe:
        assert min(tested['inputs'].shape[1:]) == 800
        assert 400 <= max(trained['inputs'].shape[1:]) <= 1333
    else:
        side = 1024 if 'cityscapes' in recipe else 512
        assert max(trained['inputs'].shape[1:]) <= side
        assert min(tested['inputs'].shape[1:]) == side
        assert tested['data_samples'].gt_sem_seg.data.shape[1:] == (48, 64)  # of its own size
    assert 'corruption' not in tested['data_samples'].metainfo
    record = corrupted['data_samples'].metainfo['corruption']
    assert (record['key'], record['corruption'], record['severity']) == ('image.png', 'fog', 3)
    assert record['clean'] != record['seen']
    assert set(corrupted['data_samples'].metainfo) - set(tested['data_samples'].metainfo) == {'corruption'}


@pytest.mark.parametrize('name', CORRUPTED)
def test_corrupted_configs(name):
    """One step more in the test pipeline, and the guard."""
    config, clean = load(name), load(name.removesuffix('_c'))
    load_step, corrupt, *rest = config.test_dataloader.dataset.pipeline
    assert [load_step, *rest] == clean.test_dataloader.dataset.pipeline
    assert (corrupt.type, corrupt.corruption, corrupt.severity, corrupt.seed) == ('Corrupt', 'fog', 3, 0)
    assert corrupt.image_order == 'bgr'  # the published order
    dataset = config.test_dataloader.dataset
    assert Path(corrupt.prefix) == Path(
        dataset.data_root, dataset.data_prefix.get('img') or dataset.data_prefix.img_path
    )
    assert config.custom_hooks == [dict(type='PixelGuard')]
    changed = configuration.differences(flat(config), flat(clean))
    assert all(key.startswith(('test_dataloader.dataset.pipeline.', 'custom_hooks.')) for key in changed)


def test_another_condition_by_option():
    step = 'test_dataloader.dataset.pipeline.1'
    options = {f'{step}.corruption': 'snow', f'{step}.severity': 5}
    config = configuration.load(CONFIGS / 'fan_segformer_cityscapes_c.py', options)
    corrupt = config.test_dataloader.dataset.pipeline[1]
    assert (corrupt.corruption, corrupt.severity, corrupt.seed) == ('snow', 5, 0)


def test_what_a_corrupted_config_names_is_registered_by_importing_the_package():
    """Without any of our commands: in a process of its own, as mmdet's tools run it."""
    code = (
        'import fan_dense, mmdet.utils; mmdet.utils.register_all_modules();'
        'from mmdet.registry import HOOKS, TRANSFORMS;'
        "print(HOOKS.get('PixelGuard').__module__, TRANSFORMS.get('Corrupt').__module__)"
    )
    shown = subprocess.run([sys.executable, '-W', 'ignore', '-c', code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ['fan_dense.evaluation.guard', 'fan_dense.datasets.transforms']


@pytest.mark.parametrize(
    ('variable', 'name', 'images'),
    [
        ('COCO_ROOT', 'fan_maskrcnn_coco_c', 'val2017'),
        ('CITYSCAPES_ROOT', 'fan_segformer_cityscapes_c', 'leftImg8bit/val'),
        ('ADE20K_ROOT', 'fan_hybrid_small_upernet_ade20k_c', 'images/validation'),
    ],
)
def test_the_data_folder_comes_from_the_environment(monkeypatch, variable, name, images):
    monkeypatch.setenv(variable, '/elsewhere/data')
    config = configuration.load(CONFIGS / f'{name}.py')
    assert config.test_dataloader.dataset.data_root == '/elsewhere/data'
    assert config.test_dataloader.dataset.pipeline[1].prefix == f'/elsewhere/data/{images}'
    if 'coco' in name:
        assert config.test_evaluator.ann_file == '/elsewhere/data/annotations/instances_val2017.json'
