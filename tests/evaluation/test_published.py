from dataclasses import replace
from statistics import fmean

import pytest

from fan_dense.evaluation.protocol import Protocol, read_protocol
from fan_dense.evaluation.published import published

COCO, CITY = read_protocol('coco-c'), read_protocol('cityscapes-c')


def row(protocol, metric, model):
    (found,) = [one for one in published(protocol, metric) if one.model == model]
    return found


@pytest.mark.parametrize(
    ('metric', 'model', 'figures'),
    [
        ('bbox_mAP', 'Faster R-CNN R50', (0.363, 0.182, 0.502)),
        ('bbox_mAP', 'Mask R-CNN R50', (0.373, 0.187, 0.501)),
        ('segm_mAP', 'Mask R-CNN R50', (0.342, 0.168, 0.491)),
        ('segm_mAP', 'Cascade Mask R-CNN R50', (0.357, 0.176, 0.493)),
        ('bbox_mAP', 'HTC X101-DCN', (0.506, 0.327, 0.647)),
    ],
)
def test_coco_c(metric, model, figures):
    found = row(COCO, metric, model)
    assert (found.clean, found.mpc, found.rpc) == figures
    assert '1907.07484' in found.source


def test_counts():
    assert len(published(COCO, 'bbox_mAP')) == 10
    assert len(published(COCO, 'segm_mAP')) == 2
    assert len(published(CITY, 'mIoU')) == 6
    assert published(COCO, 'mIoU') == published(CITY, 'bbox_mAP') == published(read_protocol('quick'), 'mIoU') == ()


def test_rpc_is_near_the_ratio_of_the_rounded_figures():
    for one in (*published(COCO, 'bbox_mAP'), *published(COCO, 'segm_mAP'), *published(CITY, 'mIoU')):
        assert one.rpc == pytest.approx(one.mpc / one.clean, abs=0.003)
        assert 0 < one.mpc < one.clean < 1


def test_fan():
    fan = [one for one in published(CITY, 'mIoU') if 'FAN' in one.model]
    assert [(one.clean, one.mpc) for one in fan] == [(0.812, 0.571), (0.815, 0.664), (0.822, 0.669), (0.823, 0.687)]
    assert row(COCO, 'bbox_mAP', 'FAN-L-Hybrid Cascade Mask R-CNN').rpc == pytest.approx(42.0 / 55.1)


def test_the_mean_of_16_types_is_the_published_one():
    found = row(CITY, 'mIoU', 'SegFormer-B5')
    assert set(found.by_corruption) == set(CITY.corruptions)
    assert fmean(found.by_corruption.values()) == pytest.approx(0.658, abs=0.0005)  # published as 65.8
    assert found.mpc == 0.658
    # blur 58.5 + 56.6 + 47.2 + 57.7 = 220.0, noise 6.5 + 7.2 + 10.0 + 31.1 = 54.8,
    # digital 58.2 + 54.7 + 41.3 + 27.4 = 181.6, weather 12.0 + 42.0 + 55.9 + 22.8 = 132.7; 589.1 / 16 = 36.82
    found = row(CITY, 'mIoU', 'DeepLabv3+ R50')
    assert found.mpc == pytest.approx(0.3682, abs=5e-5)
    assert found.rpc == pytest.approx(0.3682 / 0.766, abs=1e-4)
    assert found.by_corruption['shot_noise'] == 0.100
    assert found.by_corruption['impulse_noise'] == 0.072


def test_parts_and_others_of_the_name_have_none():
    assert published(COCO.restricted(severities=[3]), 'bbox_mAP') == ()
    assert published(replace(COCO, image_order='rgb'), 'bbox_mAP') == ()
    assert published(Protocol(name='mine', groups=COCO.groups), 'bbox_mAP') == ()
