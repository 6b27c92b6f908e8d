"""Whole benchmarks against mmseg and pycocotools, called independently on the embedded scenes and CamVid."""

import itertools
import json
import math
from statistics import fmean

import numpy as np
import pytest
import torch
from mmengine.registry import METRICS
from mmseg.evaluation import IoUMetric

import fan_dense  # noqa: F401
from fan_dense.evaluation import scores
from fan_dense.evaluation.metrics import summarise
from tests.evaluation import coco, sets
from tests.evaluation.results import condition, protocol, result

NAN = math.nan
SMALL = dict(noise=dict(shot_noise=(1, 2)), weather=dict(fog=(1, 2, 3)))
AMOUNT = {'clean': 0.3, 'shot_noise 1': 1, 'shot_noise 2': 2, 'fog 1': 0.5, 'fog 2': 1, 'fog 3': 3}


def evaluated(config: dict, classes, samples, size):
    metric = METRICS.build(scores.exact(config)[0])
    metric.dataset_meta = dict(classes=tuple(classes))
    metric.process({}, samples)
    figures = metric.evaluate(size)
    return {name.rpartition('/')[2]: value for name, value in figures.items()}, metric.per_class


@pytest.mark.parametrize('name', sets.NAMES)
def test_segmentation_is_that_of_mmseg(name):
    maps, classes = sets.label_maps(name, 4)
    made, figures, of_classes = {}, {}, {}
    for one, amount in AMOUNT.items():
        rng = np.random.default_rng(int(10 * amount))
        predictions = [sets.predicted(labels, len(classes), amount, rng) for labels in maps]
        samples = [
            dict(pred_sem_seg=dict(data=torch.tensor(p)[None]), gt_sem_seg=dict(data=torch.tensor(t)[None]))
            for p, t in zip(predictions, maps)
        ]
        ours, per_class = evaluated(dict(type='IoUMetric'), classes, samples, 4)
        made[condition(one)] = result(condition(one), ours, per_class)
        stock = IoUMetric()  # rounds to 0.01 %
        stock.dataset_meta = dict(classes=classes)
        stock.process({}, samples)
        figures[one] = {key: value / 100 for key, value in stock.evaluate(4).items()}
        areas = [
            IoUMetric.intersect_and_union(torch.tensor(p), torch.tensor(t), len(classes), 255)
            for p, t in zip(predictions, maps)
        ]
        intersection, union, _, _ = (sum(column).double() for column in zip(*areas))
        of_classes[one] = (intersection / union).numpy()
    summary = summarise(protocol('types', **SMALL), made)
    for metric in ('aAcc', 'mIoU', 'mAcc'):
        one = summary.metrics[metric]
        values = {key: row[metric] for key, row in figures.items()}
        types = [fmean([values['shot_noise 1'], values['shot_noise 2']]),
                 fmean([values['fog 1'], values['fog 2'], values['fog 3']])]  # fmt: skip
        assert one.clean == pytest.approx(values['clean'], abs=6e-5)
        assert one.mpc == pytest.approx(fmean(types), abs=6e-5)
        assert one.rpc == pytest.approx(fmean(types) / values['clean'], abs=3e-4)
        assert one.clean > one.mpc + 0.05
    for index, name in enumerate(classes):
        expected = [of_classes[one][index] for one in AMOUNT]
        row = summary.metrics['mIoU'].by_class[name]
        assert row['clean'] == pytest.approx(expected[0], nan_ok=True)
        assert row['mpc'] == pytest.approx((fmean(expected[1:3]) + fmean(expected[3:])) / 2, nan_ok=True)
        assert row['by_corruption']['fog'] == pytest.approx(fmean(expected[3:]), nan_ok=True)


@pytest.mark.parametrize('name', sets.NAMES)
def test_detection_is_that_of_pycocotools(name, tmp_path):
    content = sets.instances(name, 4)
    path = tmp_path / 'truth.json'
    path.write_text(json.dumps(content))
    numbers = [one['id'] for one in content['categories']]
    config = dict(type='CocoMetric', ann_file=str(path), metric=['bbox', 'segm'])
    made, figures = {}, {}
    for one, amount in AMOUNT.items():
        detections = sets.detected(content, amount, np.random.default_rng(int(10 * amount)))
        samples = []
        for image in content['images']:
            found = [d for d in detections if d['image_id'] == image['id']]
            boxes = torch.tensor([d['bbox'] for d in found], dtype=torch.float64).reshape(-1, 4)
            boxes[:, 2:] += boxes[:, :2]
            instances = dict(
                bboxes=boxes,
                scores=torch.tensor([d['score'] for d in found], dtype=torch.float64),
                labels=torch.tensor([numbers.index(d['category_id']) for d in found]),
                masks=[d['segmentation'] for d in found],
            )
            samples.append(dict(img_id=image['id'], ori_shape=(360, 480), pred_instances=instances))
        ours, per_class = evaluated(config, [c['name'] for c in content['categories']], samples, 4)
        made[condition(one)] = result(condition(one), ours, per_class)
        figures[one] = {}
        for kind, other in itertools.permutations(('bbox', 'segmentation')):
            alone = [{key: value for key, value in d.items() if key != other} for d in detections]
            kind = kind.removesuffix('entation')
            evaluation = coco.evaluated(content, alone, kind)
            for key, value in zip(('mAP', 'mAP_50', 'mAP_75', 'mAP_s', 'mAP_m', 'mAP_l'), evaluation.stats):
                figures[one][f'{kind}_{key}'] = NAN if value == -1 else value
    summary = summarise(protocol(**SMALL), made)
    assert set(summary.metrics) == set(figures['clean'])
    for metric, one in summary.metrics.items():
        mpc = fmean(figures[key][metric] for key in AMOUNT if key != 'clean')
        assert one.clean == pytest.approx(figures['clean'][metric], abs=1e-9, nan_ok=True)
        assert one.mpc == pytest.approx(mpc, abs=1e-9, nan_ok=True)
        if figures['clean'][metric] > 0:
            assert one.rpc == pytest.approx(mpc / figures['clean'][metric], abs=1e-9)
    assert summary.metrics['bbox_mAP'].clean > summary.metrics['bbox_mAP'].mpc > 0.05
