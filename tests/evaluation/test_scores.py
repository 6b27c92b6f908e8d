"""Against pycocotools called directly, hand-computed figures, and the stock metrics."""

import contextlib
import io
import json

import numpy as np
import pycocotools.mask
import pytest
import torch
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

import fan_dense  # noqa: F401
from fan_dense.evaluation import scores

CLASSES = ('car', 'bus', 'tram')  # there is no tram


def box_mask(x, y, w, h):
    mask = np.zeros((60, 80), np.uint8, order='F')
    mask[y : y + h, x : x + w] = 1
    rle = pycocotools.mask.encode(mask)
    return {**rle, 'counts': rle['counts'].decode()}


@pytest.fixture(scope='module')
def truth(tmp_path_factory):
    boxes = [(0, 0, 5, 5, 36, 36), (0, 1, 40, 10, 20, 35), (1, 0, 10, 20, 25, 25), (1, 0, 45, 5, 12, 18)]
    content = dict(
        images=[dict(id=i, height=60, width=80, file_name=f'{i}.png') for i in range(2)],
        categories=[dict(id=i, name=name) for i, name in enumerate(CLASSES)],
        annotations=[
            dict(id=n, image_id=i, category_id=c, bbox=[x, y, w, h], area=w * h, iscrowd=0,
                 segmentation=box_mask(x, y, w, h))
            for n, (i, c, x, y, w, h) in enumerate(boxes, 1)
        ],
    )  # fmt: skip
    path = tmp_path_factory.mktemp('coco') / 'truth.json'
    path.write_text(json.dumps(content))
    return path


def detections():
    """Per image: boxes (x, y, w, h), scores, labels."""
    return [
        ([(6, 6, 36, 36), (40, 12, 20, 30), (0, 40, 10, 10)], [0.9, 0.8, 0.7], [0, 1, 0]),
        ([(10, 20, 22, 25), (44, 5, 12, 15)], [0.6, 0.3], [0, 1]),
    ]


def samples(found):
    for index, (boxes, confidences, labels) in enumerate(found):
        masks = [box_mask(*box) for box in boxes]
        corners = [(x, y, x + w, y + h) for x, y, w, h in boxes]
        yield dict(
            img_id=index,
            ori_shape=(60, 80),
            pred_instances=dict(
                bboxes=torch.tensor(corners, dtype=torch.float64).reshape(-1, 4),
                scores=torch.tensor(confidences, dtype=torch.float64),
                labels=torch.tensor(labels, dtype=torch.int64),
                masks=masks,
            ),
        )


def evaluate(config, found, dataset_meta, size):
    from mmengine.registry import METRICS

    (config,) = scores.exact(config)
    metric = METRICS.build(config)
    metric.dataset_meta = dataset_meta
    metric.process({}, list(found))
    return metric.evaluate(size), metric.per_class


@pytest.mark.parametrize('kind', ['bbox', 'segm'])
def test_ap_is_that_of_pycocotools_to_the_last_digit(truth, kind):
    config = dict(type='CocoMetric', ann_file=str(truth), metric=['bbox', 'segm'])
    figures, per_class = evaluate(config, samples(detections()), dict(classes=CLASSES), 2)
    with contextlib.redirect_stdout(io.StringIO()):
        api = COCO(str(truth))
        found = [
            dict(
                image_id=i,
                category_id=c,
                score=s,
                **({'bbox': list(b)} if kind == 'bbox' else {'segmentation': box_mask(*b)}),
            )
            for i, (boxes, confidences, labels) in enumerate(detections())
            for b, s, c in zip(boxes, confidences, labels)
        ]
        evaluation = COCOeval(api, api.loadRes(found), kind)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    for name, value in zip(('mAP', 'mAP_50', 'mAP_75', 'mAP_s', 'mAP_m'), evaluation.stats):
        assert figures[f'coco/{kind}_{name}'] == pytest.approx(value, abs=1e-12)
    assert np.isnan(figures[f'coco/{kind}_mAP_l'])  # no object is larger than 96x96
    assert 0.1 < figures[f'coco/{kind}_mAP'] < 0.9
    classes = per_class[f'{kind}_mAP']
    assert np.isnan(classes['tram'])
    assert np.nanmean(list(classes.values())) == pytest.approx(evaluation.stats[0], abs=1e-12)


def test_nothing_detected_is_zero_and_not_missing(truth):
    config = dict(type='CocoMetric', ann_file=str(truth), metric=['bbox', 'segm'])
    nothing = [([], [], [])] * 2
    figures, per_class = evaluate(config, samples(nothing), dict(classes=CLASSES), 2)
    assert figures['coco/bbox_mAP'] == figures['coco/segm_mAP'] == figures['coco/bbox_mAP_50'] == 0
    assert per_class['bbox_mAP']['car'] == 0
    assert np.isnan(per_class['bbox_mAP']['tram'])


def seg_samples(pairs):
    for predicted, true in pairs:
        yield dict(
            pred_sem_seg=dict(data=torch.tensor(predicted)[None]), gt_sem_seg=dict(data=torch.tensor(true)[None])
        )


def test_iou_by_hand():
    # car: 3 px common, 1 missed, 1 too many -> 3/5; bus: 1 common, 1 + 1 -> 1/3; the pixel with 255 does not count
    pairs = [([[0, 0, 1, 1]], [[0, 0, 0, 1]]), ([[0, 0, 2]], [[0, 1, 255]])]
    config = dict(type='IoUMetric', iou_metrics=['mIoU'])
    figures, per_class = evaluate(config, seg_samples(pairs), dict(classes=CLASSES), 2)
    assert per_class['IoU']['car'] == pytest.approx(3 / 5)
    assert per_class['IoU']['bus'] == pytest.approx(1 / 3)
    assert np.isnan(per_class['IoU']['tram'])  # predicted once, on a pixel that does not count
    assert figures['mIoU'] == pytest.approx((3 / 5 + 1 / 3) / 2)
    assert figures['aAcc'] == pytest.approx(4 / 6)
    assert figures['mAcc'] == pytest.approx((3 / 4 + 1 / 2) / 2)


def test_iou_is_exact_where_float32_sums_are_not():
    # 2**24 + 1 pixels are no float32: summed one after another in float32, the last image would be lost
    metric = evaluate(dict(type='IoUMetric'), seg_samples([([[0]], [[0]])]), dict(classes=CLASSES), 1)
    assert metric[0]['mIoU'] == 1
    from mmengine.registry import METRICS

    built = METRICS.build(scores.exact(dict(type='IoUMetric'))[0])
    built.dataset_meta = dict(classes=('a',))
    areas = [(torch.tensor([n]), torch.tensor([u]), torch.tensor([n]), torch.tensor([u])) for n, u in
             ((2.0**24, 2.0**24), (1.0, 2.0))]  # fmt: skip
    assert built.compute_metrics(areas)['mIoU'] == (2**24 + 1) / (2**24 + 2)


def test_trap_8_a_class_that_is_never_found_is_not_dropped_from_the_mean_f_score():
    # car: 2 px common, 1 too many, none missed: F = 2 * 2 / (2 * 2 + 1); bus: labelled once, never right: 0
    pairs = [([[0, 0, 0, 2]], [[0, 0, 1, 255]])]
    config = dict(type='IoUMetric', iou_metrics=['mFscore'])
    figures, per_class = evaluate(config, seg_samples(pairs), dict(classes=CLASSES), 1)
    assert per_class['Fscore']['car'] == pytest.approx(4 / 5)
    assert per_class['Fscore']['bus'] == 0
    assert np.isnan(per_class['Fscore']['tram'])
    assert figures['mFscore'] == pytest.approx(2 / 5)


def test_other_metrics_are_left_alone():
    config = [dict(type='CityscapesMetric'), dict(type='mmdet.CocoMetric', metric='bbox')]
    assert [one['type'] for one in scores.exact(config)] == ['CityscapesMetric', 'ExactCocoMetric']


def test_table():
    text = scores.table({'IoU': {'car': 0.5, 'pedestrian': float('nan')}, 'Acc': {'car': 1.0, 'pedestrian': 0.0}})
    assert text.splitlines() == [
        '                   IoU         Acc',
        'car             0.5000      1.0000',
        'pedestrian         nan      0.0000',
    ]


@pytest.mark.parametrize(
    ('labels', 'told'),
    [
        (torch.zeros(1, 4, 5), 'label map b/1.png is 4 x 5, its image 4 x 6'),
        (torch.zeros(4, 6, 3), 'label map b/1.png is 4 x 6 with 3 channels, its image 4 x 6'),
        (torch.tensor([[[0, 255, 3, 2, 0, 0]] * 4]), 'b/1.png has number 3; the 3 classes have 0 to 2'),
    ],
)
def test_label_maps_that_do_not_fit_are_named(labels, told):
    from fan_dense.evaluation.iou_scores import ExactIoUMetric

    metric = ExactIoUMetric()
    metric.dataset_meta = dict(classes=CLASSES)
    predicted = torch.zeros(1, 4, 6, dtype=torch.long)
    sample = dict(seg_map_path='b/1.png', gt_sem_seg=dict(data=labels.long()), pred_sem_seg=dict(data=predicted))
    with pytest.raises(ValueError, match=told):
        metric.process({}, [sample])
    metric.process({}, [{**sample, 'gt_sem_seg': dict(data=torch.full((1, 4, 6), 255))}])
