"""Figures from records against mmseg, pycocotools and sums by hand; images that are there several times really are."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mmengine.registry import METRICS
from mmseg.evaluation import IoUMetric

import fan_dense  # noqa: F401
from fan_dense.evaluation import records, scores
from fan_dense.evaluation.records import APRecord, IoURecord
from tests.evaluation import coco, sets

AP = ('mAP', 'mAP_50', 'mAP_75')


def built(config: dict, classes):
    metric = METRICS.build(scores.exact(config)[0])
    metric.dataset_meta = dict(classes=tuple(classes))
    return metric


class Evaluator:
    """What ``scores.records`` looks at in mmengine's."""

    def __init__(self, *metrics):
        self.metrics = metrics


# Segmentation


def segmented(pairs, classes, **config):
    """Our metric after (prediction, labels) pairs, and its figures."""
    metric = built(dict(type='IoUMetric', **config), classes)
    for prediction, labels in pairs:
        sample = dict(
            pred_sem_seg=dict(data=torch.tensor(prediction)[None]), gt_sem_seg=dict(data=torch.tensor(labels)[None])
        )
        metric.process({}, [sample])
    return metric, metric.evaluate(len(pairs))


def mmseg_figures(pairs, classes: int) -> dict:
    """mmseg's own functions, called without our metric."""
    areas = [IoUMetric.intersect_and_union(torch.tensor(p), torch.tensor(t), classes, 255) for p, t in pairs]
    found = IoUMetric.total_area_to_metrics(*[sum(column).double() for column in zip(*areas)], ['mIoU'])
    return {'aAcc': float(found['aAcc']), 'mIoU': np.nanmean(found['IoU']), 'mAcc': np.nanmean(found['Acc'])}


def pairs_of(name: str, count: int):
    maps, classes = sets.label_maps(name, count)
    rng = np.random.default_rng(0)
    return [(sets.predicted(one, len(classes), 1, rng), one) for one in maps], classes


@pytest.mark.parametrize('name', sets.NAMES)
def test_iou_is_mmsegs_also_of_images_that_are_there_several_times(name):
    pairs, classes = pairs_of(name, 6)
    metric, figures = segmented(pairs, classes)
    record = scores.records(Evaluator(metric))['iou']
    assert record.counts.shape == (6, 4, len(classes))
    assert record.figures() == pytest.approx(mmseg_figures(pairs, len(classes)), abs=1e-12)
    assert record.figures() == pytest.approx(figures, abs=1e-12)
    assert 0.1 < figures['mIoU'] < 0.9
    for weights in ([2, 0, 1, 0, 3, 0], [0, 0, 0, 0, 0, 6]):
        repeated = [pair for pair, weight in zip(pairs, weights) for _ in range(weight)]
        assert record.figures(np.array(weights)) == pytest.approx(mmseg_figures(repeated, len(classes)), abs=1e-12)


@pytest.mark.parametrize('name', sets.NAMES)
def test_scores_of_single_images_are_mmsegs_of_these_alone(name):
    pairs, classes = pairs_of(name, 4)
    record = segmented(pairs, classes)[0].records['iou']
    alone = [mmseg_figures([pair], len(classes))['mIoU'] for pair in pairs]
    np.testing.assert_allclose(record.image_scores(), alone, atol=1e-12)
    assert record.image_score_name == 'mIoU of the image'


# two images, three classes; the third is nowhere
HAND = IoURecord(
    np.array(
        [
            [[3, 1, 0], [5, 3, 0], [4, 2, 0], [4, 2, 0]],  # class 0: 3 px right, 1 wrong, 1 missed; class 1: 1, 1, 1
            [[2, 0, 0], [2, 4, 0], [2, 4, 0], [2, 0, 0]],  # class 0: 2 right; class 1 predicted on 4 px that are void
        ]
    )
)


def test_iou_by_hand():
    # together: class 0 has 5 / 7 in common, class 1 has 1 / 7, class 2 does not exist
    assert HAND.figures()['mIoU'] == pytest.approx((5 / 7 + 1 / 7) / 2)
    assert HAND.figures()['aAcc'] == pytest.approx(6 / 8)
    assert HAND.figures()['mAcc'] == pytest.approx((5 / 6 + 1 / 2) / 2)
    # the first twice: class 0 8 / 12, class 1 2 / 10
    assert HAND.figures(np.array([2, 1]))['mIoU'] == pytest.approx((8 / 12 + 2 / 10) / 2)
    # of the second alone, class 1 is predicted and not labelled: IoU 0, no accuracy
    assert HAND.figures(np.array([0, 3])) == {'aAcc': 1, 'mIoU': 0.5, 'mAcc': 1}
    np.testing.assert_allclose(HAND.image_scores(), [(3 / 5 + 1 / 3) / 2, 0.5])


def test_many_weights_at_once_are_those_one_by_one():
    weights = np.array([[1, 1], [2, 0], [0, 2]])
    together = HAND.figures(weights)
    for row, one in enumerate(weights):
        assert {name: values[row] for name, values in together.items()} == HAND.figures(one)


def test_trap_8_classes_that_are_nowhere_are_no_zeros_and_nothing_at_all_is_nan():
    empty = IoURecord(np.zeros((2, 4, 3), np.int64))
    assert all(np.isnan(value) for value in empty.figures().values())
    assert np.isnan(empty.image_scores()).all()
    # were the class that is nowhere a zero, the mean would be over three
    assert HAND.figures()['mIoU'] == pytest.approx((5 / 7 + 1 / 7) / 2)


def test_counts_are_exact_beyond_float32():
    record = IoURecord(np.array([[[n], [u], [n], [u]] for n, u in ((2**24, 2**24), (1, 2), (2**40, 2**40))]))
    assert record.figures()['mIoU'] == (2**24 + 1 + 2**40) / (2**24 + 2 + 2**40)


def test_figures_that_are_not_of_the_record_have_none():
    pairs, classes = pairs_of('scenes', 1)
    assert segmented(pairs, classes, nan_to_num=0)[0].records == {}


# Detection


def ap(record: APRecord, weights=None) -> list[float]:
    """As pycocotools has them: -1 for what there is not."""
    figures = record.figures(weights)
    return [figures[f'{record.kind}_{name}'] if not np.isnan(figures[f'{record.kind}_{name}']) else -1 for name in AP]


def ids(content: dict) -> list:
    return [image['id'] for image in content['images']]


def only(kind: str, detections: list[dict]) -> list[dict]:
    """Detections with boxes or masks alone."""
    other = 'segmentation' if kind == 'bbox' else 'bbox'
    return [{key: value for key, value in one.items() if key != other} for one in detections]


def detected_by_metric(content, detections, tmp_path, shown=None, **config):
    """Our metric after these detections, its figures, and the images in the order in which it was shown them."""
    path = tmp_path / 'truth.json'
    path.write_text(json.dumps(content))
    names = [one['name'] for one in content['categories']]
    order = [one['id'] for one in content['categories']]
    metric = built(dict(type='CocoMetric', ann_file=str(path), metric=['bbox', 'segm'], **config), names)
    shown = shown or ids(content)[::-1]  # not the order of their numbers
    for identity in shown:
        found = [one for one in detections if one['image_id'] == identity]
        boxes = torch.tensor([one['bbox'] for one in found], dtype=torch.float64).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        instances = dict(
            bboxes=boxes,
            scores=torch.tensor([one['score'] for one in found], dtype=torch.float64),
            labels=torch.tensor([order.index(one['category_id']) for one in found], dtype=torch.int64),
            masks=[copy.deepcopy(one['segmentation']) for one in found],
        )
        metric.process({}, [dict(img_id=identity, ori_shape=(360, 480), pred_instances=instances)])
    return metric, metric.evaluate(len(shown)), shown


@pytest.mark.parametrize('name', sets.NAMES)
def test_ap_is_pycocotools_also_of_images_that_are_there_several_times(name, tmp_path):
    content = sets.instances(name, 8)
    detections = sets.detected(content, 1, np.random.default_rng(0))
    metric, figures, shown = detected_by_metric(content, detections, tmp_path)
    weights = [2, 0, 1, 3, 0, 1, 1, 0]  # of the images in the order of their numbers
    for kind, record in scores.records(Evaluator(metric)).items():
        alone = only(kind, detections)
        expected = coco.evaluated(content, alone, kind).stats[:3]
        assert ap(record) == pytest.approx(expected, abs=1e-12)
        assert [figures[f'coco/{kind}_{one}'] for one in AP] == pytest.approx(expected, abs=1e-12)
        assert 0.1 < expected[0] < 0.9
        repeated = coco.evaluated(*coco.duplicated(content, alone, weights), kind).stats[:3]
        of_shown = [weights[ids(content).index(identity)] for identity in shown]
        assert ap(record, np.array(of_shown)) == pytest.approx(repeated, abs=1e-12)


def test_the_metric_names_classes_whatever_their_order_in_the_file(tmp_path):
    content = sets.instances('scenes', 4)
    detections = sets.detected(content, 1, np.random.default_rng(0))
    content['categories'] = content['categories'][::-1]
    metric, *_ = detected_by_metric(content, detections, tmp_path)
    precision = coco.evaluated(content, only('bbox', detections)).eval['precision'][..., 0, -1]
    by_number = {one['id']: one['name'] for one in content['categories']}
    for label, number in enumerate(sorted(by_number)):
        expected = precision[..., label].mean()
        assert metric.per_class['bbox_mAP'][by_number[number]] == (
            pytest.approx(expected, abs=1e-12) if expected > -1 else pytest.approx(np.nan, nan_ok=True)
        )
    assert len(set(metric.per_class['bbox_mAP'].values())) > 3


def test_the_metric_counts_the_images_that_it_was_shown(tmp_path):
    content = sets.instances('scenes', 4)
    detections = [one for one in sets.detected(content, 1, np.random.default_rng(0)) if one['image_id'] in (1, 3)]
    shown = [image for image in content['images'] if image['id'] in (1, 3)]
    metric, figures, _ = detected_by_metric(content, detections, tmp_path, shown=(3, 1))
    expected = coco.evaluated({**content, 'images': shown}, only('bbox', detections)).stats[:3]
    assert [figures[f'coco/bbox_{one}'] for one in AP] == pytest.approx(expected, abs=1e-12)
    assert metric.records['bbox'].images == 2
    assert metric.records['bbox'].image_scores()[0] == pytest.approx(
        metric_of_one(content, detections, tmp_path, 3).image_scores()[0]
    )


def metric_of_one(content, detections, tmp_path, identity):
    detections = [one for one in detections if one['image_id'] == identity]
    return detected_by_metric(content, detections, tmp_path, shown=(identity,))[0].records['bbox']


def test_the_metric_wants_the_detections_of_map(tmp_path):
    with pytest.raises(ValueError, match=r'proposal_nums is \[1, 10, 50\]; it must contain 100'):
        built(dict(type='CocoMetric', metric='bbox', proposal_nums=(1, 10, 50)), ('a',))
    # of the first limit, 1, there would be fewer found in each class
    content = sets.instances('scenes', 4)
    detections = sets.detected(content, 1, np.random.default_rng(0))
    metric, figures, _ = detected_by_metric(content, detections, tmp_path, proposal_nums=(1, 10, 100))
    assert np.nanmean(list(metric.per_class['bbox_mAP'].values())) == pytest.approx(figures['coco/bbox_mAP'])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    ties=st.booleans(),
    limit=st.sampled_from([1, 2, 100]),
    weights=st.lists(st.integers(0, 3), min_size=6, max_size=6),
)
def test_ap_of_any_detections_is_that_of_really_repeated_images(seed, ties, limit, weights):
    content, detections = coco.random_case(np.random.default_rng(seed), images=6, ties=ties)
    evaluation = coco.evaluated(content, detections)
    record = APRecord.from_coco(evaluation, ids(content))
    assert ap(record) == pytest.approx(evaluation.stats[:3], abs=1e-12)
    repeated = coco.evaluated(*coco.duplicated(content, detections, weights))
    assert ap(record, np.array(weights)) == pytest.approx(repeated.stats[:3], abs=1e-12)
    found = record.average_precisions(np.ones((1, 6), int), limit)[0]  # (thresholds, classes)
    precision = coco.evaluated(content, detections, limits=(limit, 300, 1000)).eval['precision']
    np.testing.assert_allclose(np.where(np.isnan(found), -1, found), precision[..., 0, 0].mean(1), atol=1e-12)


def test_masks_with_crowds_and_ties():
    for seed in range(3):
        content, detections = coco.random_case(np.random.default_rng(seed), masks=True, ties=True)
        evaluation = coco.evaluated(content, detections, 'segm')
        record = APRecord.from_coco(evaluation, ids(content))
        assert record.ignored.any()
        assert ap(record) == pytest.approx(evaluation.stats[:3], abs=1e-12)
        weights = np.random.default_rng(seed).multinomial(8, [1 / 8] * 8)
        repeated = coco.evaluated(*coco.duplicated(content, detections, weights), 'segm')
        assert ap(record, weights) == pytest.approx(repeated.stats[:3], abs=1e-12)


# one class; image 0 has two objects, image 1 has one, image 2 none
TRUTH = coco.truth([[(0, 0, 0, 20, 20, 0), (0, 50, 50, 20, 20, 0)], [(0, 10, 10, 20, 20, 0)], []], 2)


def found(image, x, y, score, w=20, category=1):
    return dict(image_id=image, category_id=category, bbox=[x, y, w, 20], score=score)


DETECTIONS = [found(0, 0, 0, 0.9), found(1, 60, 60, 0.8), found(1, 10, 10, 0.7), found(1, 80, 10, 0.2)]


def record_of(detections=DETECTIONS, content=TRUTH, images=(0, 1, 2), **kwargs):
    return APRecord.from_coco(coco.evaluated(content, detections, **kwargs), images)


def test_ap_by_hand():
    # right, wrong, right, wrong of 3 objects: recall 1/3 with precision 1, then 2/3 with 2/3; COCO takes the recalls
    # 0, 0.01, ..., 1: 34 of them up to 1/3 (0 to 0.33), 33 up to 2/3 (0.34 to 0.66), the others have 0
    assert record_of().figures()['bbox_mAP'] == pytest.approx((34 * 1 + 33 * 2 / 3) / 101)
    # image 1 twice: right, wrong, wrong, right, right of 4 objects: recall 1/4 with 1, then 3/4 with 3/5
    # 26 recalls up to 0.25, 50 up to 0.75
    assert record_of().figures(np.array([1, 2, 0]))['bbox_mAP'] == pytest.approx((26 * 1 + 50 * 3 / 5) / 101)
    # without the image of the first detection: wrong, right of 1 object
    assert record_of().figures(np.array([0, 1, 5]))['bbox_mAP'] == pytest.approx(1 / 2)


def test_f1_of_images_by_hand():
    # image 0: 1 found of 2 and nothing wrong: 2 * 1 / (1 + 2); image 1: 1 right, 1 wrong at 0.8, 0.2 is too low a
    # score: 2 * 1 / (2 + 1); image 2: nothing there and nothing found
    np.testing.assert_allclose(record_of().image_scores(), [2 / 3, 2 / 3, np.nan])
    # nothing there and something found is wrong
    assert record_of([*DETECTIONS, found(2, 0, 0, 0.3)]).image_scores()[2] == 0
    # the order of images is that of the data set
    np.testing.assert_allclose(record_of(images=(2, 0, 1)).image_scores(), [np.nan, 2 / 3, 2 / 3])
    assert record_of().image_score_name == 'F1 at IoU 0.5 of detections with score 0.3 or more'


def test_trap_8_nothing_detected_is_zero_and_a_class_without_objects_is_not():
    record = record_of([])
    assert record.figures() == {'bbox_mAP': 0, 'bbox_mAP_50': 0, 'bbox_mAP_75': 0}  # not -1, and not missing
    np.testing.assert_allclose(record.image_scores(), [0, 0, np.nan])
    # there is no object of class 1: what is found of it does not count in the mean over classes
    assert record_of([*DETECTIONS, found(0, 0, 0, 0.9, category=2)]).figures() == record_of().figures()
    # image 2 alone has no object at all
    assert np.isnan(record.figures(np.array([0, 0, 1]))['bbox_mAP'])
    assert record.figures(np.array([[0, 0, 1], [1, 0, 0]]))['bbox_mAP'][1] == 0


def test_no_images_with_objects_or_detections():
    record = record_of([], coco.truth([[], []], 2), images=(0, 1))
    assert all(np.isnan(value) for value in record.figures().values())
    assert np.isnan(record.image_scores()).all()


def test_more_detections_than_the_limit():
    # 150 wrong ones before the right one: among the 100 best it is not found, among 1000 it is (mmdet's limits)
    detections = [found(1, 60, 60, 0.9) for _ in range(150)] + [found(1, 10, 10, 0.5)]
    evaluation = coco.evaluated(TRUTH, detections, limits=(100, 300, 1000))
    record = APRecord.from_coco(evaluation, (0, 1, 2))
    assert ap(record) == pytest.approx(evaluation.stats[:3], abs=1e-12)
    assert record.figures()['bbox_mAP'] == 0
    assert record.figures()['bbox_mAP_50'] == pytest.approx(34 / 151 / 101)


def test_thresholds():
    evaluation = coco.evaluated(TRUTH, DETECTIONS)
    evaluation.params.iouThrs = np.array([0.6, 0.75])
    with coco.quietly():
        evaluation.evaluate()
    record = APRecord.from_coco(evaluation, (0, 1, 2))
    assert np.isnan(record.figures()['bbox_mAP_50'])
    assert record.figures()['bbox_mAP_75'] > 0.5
    assert 'IoU 0.6' in record.image_score_name
    evaluation.params.iouThrs = np.linspace(0.1, 0.9, 17)
    with pytest.raises(ValueError, match='17 IoU thresholds .iou_thrs.; at most 16'):
        APRecord.from_coco(evaluation, (0, 1, 2))


# Both


@pytest.mark.parametrize('weights', [[1], [1.0, 2.0, 3.0], [[1, 2], [3, 4]]])
def test_wrong_weights_are_named(weights):
    with pytest.raises(ValueError, match=r'weights are .* of shape .*; whole numbers of shape \(\.\.\., 3\)'):
        record_of().figures(np.array(weights))


def test_saved_and_loaded(tmp_path):
    path = tmp_path / 'records' / 'fog-3.npz'
    written = {'iou': HAND, 'bbox': record_of(), 'segm': record_of([])}
    records.save(path, written)
    content = path.read_bytes()
    read = records.load(path)
    assert list(read) == ['iou', 'bbox', 'segm']
    for name, one in read.items():
        assert one.figures() == written[name].figures()
        assert one.figures(np.array([2, 1, 1])[: one.images]) == written[name].figures(
            np.array([2, 1, 1])[: one.images]
        )
        np.testing.assert_array_equal(one.image_scores(), written[name].image_scores())
        assert one.image_score_name == written[name].image_score_name
    records.save(path, read)
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == ['fog-3.npz']


@pytest.mark.parametrize('content', [b'', b'PK\x03\x04', b'nonsense', None])
def test_broken_files_are_named(tmp_path, content):
    path = tmp_path / 'fog-3.npz'
    records.save(path, {'bbox': record_of()})
    path.write_bytes(path.read_bytes()[:-200] if content is None else content)
    with pytest.raises(ValueError, match=r'fog-3\.npz holds no records of a condition .*; delete it'):
        records.load(path)


def test_files_of_other_formats_are_refused(tmp_path):
    np.savez(tmp_path / 'a.npz', format=2)
    with pytest.raises(ValueError, match='format 2, expected 1'):
        records.load(tmp_path / 'a.npz')
    np.savez(tmp_path / 'a.npz', **{'format': 1, 'iou.areas': np.zeros(3)})
    with pytest.raises(ValueError, match='holds no records'):
        records.load(tmp_path / 'a.npz')
    with pytest.raises(FileNotFoundError):
        records.load(tmp_path / 'b.npz')


def test_no_torch_and_no_openmmlab():
    modules = ('protocol', 'metrics', 'records', 'average_precision', 'confidence', 'published')
    code = (
        f'import sys; {"; ".join(f"import fan_dense.evaluation.{name}" for name in modules)}; '
        "print([name for name in ('torch', 'mmengine', 'mmcv', 'mmdet', 'mmseg') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout == '[]\n'
