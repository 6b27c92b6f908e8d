"""Segmentors and detectors of the published code, in mmseg 1.x and mmdet 3.x."""

import importlib

import pytest
import torch
import torch.nn.functional as F
from mmengine.config import Config
from mmengine.registry import DefaultScope
from torch import Tensor, nn

from fan_dense.models import FAN
from fan_dense.models.conversion_dense import convert_heads, kind, load_published_model
from fan_dense.models.loading import CheckpointMismatch
from fan_dense.models.released import convert_file
from tests.models.published_files import save, shaped
from tests.models.small import HYBRID, image

pytestmark = pytest.mark.filterwarnings('ignore::UserWarning')  # of mmseg, about its own code, and of torch, on meta
CHANNELS = (8, 16, 24, 24)  # of HYBRID
CLASSES, WIDTH = 5, 12


class PublishedHead(nn.Module):
    """SegFormer's head as its paper has it: linear layers, maps resized, joined from the last on, fused, classified."""

    def __init__(self, channels=CHANNELS, width=WIDTH, classes=CLASSES):
        super().__init__()
        for level, dim in enumerate(channels, 1):
            self.add_module(f'linear_c{level}', nn.ModuleDict(dict(proj=nn.Linear(dim, width))))
        conv = nn.Conv2d(width * len(channels), width, 1, bias=False)
        self.linear_fuse = nn.ModuleDict(dict(conv=conv, bn=nn.BatchNorm2d(width)))
        self.linear_pred = nn.Conv2d(width, classes, 1)
        self.conv_seg = nn.Conv2d(7, classes, 1)  # inherited and never used

    def forward(self, maps: list[Tensor]) -> Tensor:
        joined = []
        for level in range(len(maps), 0, -1):
            x = maps[level - 1]  # (B, C, H, W)
            x = self.get_submodule(f'linear_c{level}.proj')(x.flatten(2).mT).mT.unflatten(2, x.shape[2:])
            joined.append(F.interpolate(x, maps[0].shape[2:], mode='bilinear', align_corners=False))
        x = self.linear_fuse['bn'](self.linear_fuse['conv'](torch.cat(joined, 1)))
        return self.linear_pred(F.relu(x))


@pytest.fixture
def published_head() -> nn.Module:
    torch.manual_seed(0)
    head = PublishedHead().eval()
    norm = head.linear_fuse['bn']
    for tensor in (norm.weight.data, norm.bias.data, norm.running_mean, norm.running_var):
        tensor.uniform_(0.5, 2)
    return head


def segmentor(head: str = 'LinearSegformerHead') -> nn.Module:
    mmseg = pytest.importorskip('mmseg.models')
    config = dict(
        type='EncoderDecoder',
        backbone=dict(type='FAN', arch=HYBRID),
        decode_head=dict(
            type=head,
            in_channels=list(CHANNELS),
            in_index=[0, 1, 2, 3],
            channels=WIDTH,
            num_classes=CLASSES,
            norm_cfg=dict(type='BN'),
            align_corners=False,
        ),
        test_cfg=dict(mode='whole'),
    )
    with DefaultScope.overwrite_default_scope('mmseg'):  # another test may have set its own
        return mmseg.build_segmentor(config).eval()


@pytest.fixture
def published_segmentor(published_head, tmp_path) -> tuple[str, nn.Module]:
    """A file of the published segmentation code, whose backbone has what only a classifier uses, and its backbone."""
    torch.manual_seed(1)
    backbone = FAN(HYBRID).eval()
    weights = {f'backbone.{key}': value for key, value in backbone.state_dict().items()}
    weights |= {'backbone.cls_token': torch.ones(1, 1, 24), 'backbone.cls_attn_blocks.0.attn.q.bias': torch.ones(24)}
    weights |= {f'decode_head.{key}': value for key, value in published_head.state_dict().items()}
    meta = dict(mmseg_version='0.11.0', CLASSES=tuple('abcde'), PALETTE=[[0, 0, 0]] * 5)
    return save(weights, tmp_path / 'segmentor.pth', prefix='', meta=meta), backbone


@torch.no_grad()
def test_segformer_computes_the_same(published_segmentor, published_head):
    checkpoint, backbone = published_segmentor
    model = segmentor()
    report = load_published_model(model, checkpoint)
    assert not report.missing
    assert not report.lacking
    unused = {'decode_head.conv_seg.weight', 'decode_head.conv_seg.bias'}
    unused |= {'backbone.cls_token', 'backbone.cls_attn_blocks.0.attn.q.bias'}
    assert set(report.dropped) == unused
    x = image(64, 96)
    expected = published_head(backbone(x))
    torch.testing.assert_close(model.decode_head(model.extract_feat(x)), expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        model.double().decode_head(model.extract_feat(x.double())),
        published_head.double()(backbone.double()(x.double())),
    )


def test_mmsegs_own_head_is_refused(published_segmentor):
    """It would compute something else."""
    checkpoint, _ = published_segmentor
    with pytest.raises(
        CheckpointMismatch, match=r'segmentor\.pth has a SegFormer head that needs .*LinearSegformerHead'
    ):
        load_published_model(segmentor('SegformerHead'), checkpoint)


def test_our_own_segmentors_stay_as_they_are(tmp_path):
    """Trained with mmseg's head, which also fits mmseg 0.x from the version that it came with."""
    model = segmentor('SegformerHead')
    checkpoint = save(model.state_dict(), tmp_path / 'ours.pth', prefix='')
    other = segmentor('SegformerHead')
    assert not load_published_model(other, checkpoint).dropped
    torch.testing.assert_close(other.state_dict(), model.state_dict(), rtol=0, atol=0)


def test_an_incomplete_head(published_head):
    weights = {f'decode_head.{key}': value for key, value in published_head.state_dict().items()}
    for name in ('linear_c2.proj.bias', 'linear_pred.weight', 'linear_fuse.bn.running_var'):
        with pytest.raises(CheckpointMismatch, match=f'incomplete SegFormer head: it lacks decode_head.{name}'):
            convert_heads({key: value for key, value in weights.items() if not key.endswith(name)})
    with pytest.raises(CheckpointMismatch, match='fuses 50 channels of 4 maps'):
        convert_heads({**weights, 'decode_head.linear_fuse.conv.weight': torch.ones(12, 50, 1, 1)})


def both(name: str, *shape: int) -> dict[str, tuple]:
    """Weight of this shape, and bias."""
    return {f'{name}.weight': shape, f'{name}.bias': shape[:1]}


def detector_heads(stages: int, channels=(128, 256, 192, 768), classes=80) -> dict[str, Tensor]:
    """Neck and heads of Mask R-CNN (no stages) or Cascade Mask R-CNN under mmdet 2.x's names, for COCO."""
    shapes = {}
    for level, dim in enumerate(channels):
        shapes |= both(f'neck.lateral_convs.{level}.conv', 256, dim, 1, 1)
        shapes |= both(f'neck.fpn_convs.{level}.conv', 256, 256, 3, 3)
    shapes |= both('rpn_head.rpn_conv', 256, 256, 3, 3)
    shapes |= both('rpn_head.rpn_cls', 3, 256, 1, 1) | both('rpn_head.rpn_reg', 12, 256, 1, 1)
    for stage in [f'{index}.' for index in range(stages)] or ['']:
        box, mask = f'roi_head.bbox_head.{stage}', f'roi_head.mask_head.{stage}'
        shapes |= both(f'{box}shared_fcs.0', 1024, 256 * 7 * 7) | both(f'{box}shared_fcs.1', 1024, 1024)
        # the background is the last class; a cascade has one box for all classes
        shapes |= both(f'{box}fc_cls', classes + 1, 1024) | both(f'{box}fc_reg', 4 if stages else 4 * classes, 1024)
        for index in range(4):
            shapes |= both(f'{mask}convs.{index}.conv', 256, 256, 3, 3)
        shapes |= both(f'{mask}upsample', 256, 256, 2, 2) | both(f'{mask}conv_logits', classes, 256, 1, 1)
    return {key: torch.ones(()).expand(shape) for key, shape in shapes.items()}


def segformer_head(channels=(128, 256, 192, 192), width=768, classes=19) -> dict[str, Tensor]:
    with torch.device('meta'):
        head = PublishedHead(channels, width, classes)
    return {f'decode_head.{key}': torch.ones(()).expand(value.shape) for key, value in head.state_dict().items()}


MODELS = dict(
    segformer="""
_base_ = 'mmseg::_base_/models/segformer_mit-b0.py'
backbone = dict(_delete_=True, type='FAN', arch='hybrid-tiny')
decode_head = dict(type='LinearSegformerHead', in_channels=[128, 256, 192, 192], channels=768)
model = dict(backbone=backbone, decode_head=decode_head)
""",
    **{
        found: f"""
_base_ = 'mmdet::_base_/models/{base}_r50_fpn.py'
backbone = dict(_delete_=True, type='FAN', arch='hybrid-tiny', last_map='downsample', last_channels=768)
model = dict(backbone=backbone, neck=dict(in_channels=[128, 256, 192, 768]))
"""
        for found, base in (('mask-rcnn', 'mask-rcnn'), ('cascade', 'cascade-mask-rcnn'))
    },
)


@pytest.mark.parametrize(
    ('found', 'backbone', 'heads'),
    [
        ('segformer', 'seg_fan_tiny_8_p4_hybrid', segformer_head()),
        ('mask-rcnn', 'det_fan_tiny_8_p4_hybrid', detector_heads(0)),
        ('cascade', 'det_fan_tiny_8_p4_hybrid', detector_heads(3)),
    ],
    ids=['segformer', 'mask-rcnn', 'cascade'],
)
def test_converted_files_have_all_of_a_model(found, backbone, heads, tmp_path):
    """Every name and shape of the models that mmseg 1.x and mmdet 3.x build with our backbone, and no others."""
    weights = {f'backbone.{key}': value for key, value in shaped(backbone).items()} | heads
    source = save(weights, tmp_path / 'x.pth', prefix='', meta=dict(CLASSES=('a', 'b'), mmcv_version='1.3.0'))
    content, report, lines = convert_file(source)
    assert content['meta']['kind'] == found
    assert content['meta']['arch'] == 'hybrid-tiny'
    assert content['meta']['dataset_meta'] == dict(classes=('a', 'b'))
    assert not report.lacking
    host = 'mmseg' if found == 'segformer' else 'mmdet'
    pytest.importorskip(f'{host}.models')
    model = Config.fromstring(MODELS[found], '.py').model
    with torch.device('meta'), DefaultScope.overwrite_default_scope(host):
        own = importlib.import_module(f'{host}.registry').MODELS.build(model).state_dict()
    assert shapes(content['state_dict']) == shapes(own)
    assert eval(lines[0].removeprefix('backbone=')) == model.backbone
    if found == 'segformer':
        said = eval(lines[1].removeprefix('decode_head='))
        assert said == {key: model.decode_head[key] for key in said}
    inner = convert_file(source, to='backbone').content['state_dict']
    assert shapes({f'backbone.{key}': value for key, value in inner.items()}).items() <= shapes(own).items()


def shapes(weights) -> dict[str, torch.Size]:
    return {key: value.shape for key, value in weights.items()}


def test_kinds():
    assert kind(['blocks.0.gamma1', 'head.weight']) == 'classifier'
    assert kind(['backbone.blocks.0.gamma1']) == kind(['blocks.0.gamma1']) == 'backbone'
    assert kind(['backbone.x', 'decode_head.fusion_conv.conv.weight']) == 'segformer'
    with pytest.raises(CheckpointMismatch, match=r'neither SegFormer nor .*: it has bbox_head\.fc_cls\.bias'):
        kind(['backbone.x', 'bbox_head.fc_cls.bias'])
