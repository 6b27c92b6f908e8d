"""Intervals against a loop that really repeats images, and their coverage."""

import math

import numpy as np
import pytest
import torch
from mmseg.evaluation import IoUMetric

from fan_dense.evaluation import confidence
from fan_dense.evaluation.confidence import drawn, intervals
from fan_dense.evaluation.protocol import read_protocol
from fan_dense.evaluation.records import APRecord, IoURecord
from fan_dense.evaluation.result import Condition
from tests.evaluation import coco
from tests.evaluation.results import condition, protocol

TYPES = protocol('types', weather=dict(fog=(1, 2), snow=(1,)))
NAMES = ('clean', 'fog 1', 'fog 2', 'snow 1')
AMOUNT = dict(zip(NAMES, (0.1, 0.3, 0.5, 0.4)))


def by_types(figures: dict) -> float:
    return ((figures['fog 1'] + figures['fog 2']) / 2 + figures['snow 1']) / 2


def brute_force(figures_of, images: int, resamples: int, seed: int) -> dict:
    """Percentiles of P, mPC and rPC, every draw made on its own; ``figures_of(condition, images)`` is a figure."""
    clean, mpc, rpc = [], [], []
    for weights in drawn(images, resamples, seed):
        chosen = [index for index, weight in enumerate(weights) for _ in range(weight)]
        assert len(chosen) == images
        figures = {name: figures_of(name, chosen) for name in NAMES}
        clean.append(figures['clean'])
        mpc.append(by_types(figures))
        rpc.append(by_types(figures) / figures['clean'])
    return {
        key: [np.percentile(values, 2.5), np.percentile(values, 97.5)]
        for key, values in dict(clean=clean, mpc=mpc, rpc=rpc).items()
    }


def close(found: dict, expected: dict):
    assert found.keys() == expected.keys()
    for key, ends in expected.items():
        assert found[key] == pytest.approx(ends, abs=1e-9), key


def test_iou_against_images_that_are_really_repeated():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, (9, 8, 10))
    predicted = {name: np.where(rng.random(labels.shape) < amount, 0, labels) for name, amount in AMOUNT.items()}
    areas = {
        name: [IoUMetric.intersect_and_union(torch.tensor(p), torch.tensor(t), 5, 255) for p, t in zip(maps, labels)]
        for name, maps in predicted.items()
    }

    def figure(metric):
        def of(name, images):
            totals = [sum(column).double() for column in zip(*(areas[name][image] for image in images))]
            found = IoUMetric.total_area_to_metrics(*totals, ['mIoU'])
            return float(found['aAcc']) if metric == 'aAcc' else np.nanmean(found[metric.removeprefix('m')])

        return of

    records = {
        condition(name): {'iou': IoURecord(np.array([[a.numpy() for a in one] for one in areas[name]], np.int64))}
        for name in NAMES
    }
    found = intervals(TYPES, records, resamples=60, seed=3)
    assert set(found) == {'aAcc', 'mIoU', 'mAcc'}
    for metric, ends in found.items():
        close(ends, brute_force(figure(metric), 9, 60, 3))
        assert ends['rpc'][0] < ends['rpc'][1] < 1


def test_ap_against_annotations_and_detections_that_are_really_repeated():
    images, resamples = 10, 12
    content, detections = coco.random_case(np.random.default_rng(1), images=images, crowds=False)
    cases = {}
    for name, amount in AMOUNT.items():
        rng = np.random.default_rng(2)
        cases[name] = [one for one in detections if rng.random() > amount]
    records = {
        condition(name): {'bbox': APRecord.from_coco(coco.evaluated(content, found), range(images))}
        for name, found in cases.items()
    }
    stats = {}

    def figure(index):
        def of(name, chosen):
            weights = tuple(np.bincount(chosen, minlength=images))
            if (name, weights) not in stats:
                stats[name, weights] = coco.evaluated(*coco.duplicated(content, cases[name], weights)).stats[:3]
            return stats[name, weights][index]

        return of

    found = intervals(TYPES, records, resamples=resamples)
    assert set(found) == {'bbox_mAP', 'bbox_mAP_50', 'bbox_mAP_75'}
    for index, metric in enumerate(found):
        close(found[metric], brute_force(figure(index), images, resamples, 0))
        assert 0 < found[metric]['clean'][0] < found[metric]['clean'][1] < 1


def accuracies(values: np.ndarray, pixels=1000) -> IoURecord:
    """One class; each image has a share of its pixels right, so that aAcc is the mean over images."""
    right = np.round(values * pixels).astype(np.int64)
    counts = np.stack([right, np.full_like(right, pixels), right, np.full_like(right, pixels)], axis=1)
    return IoURecord(counts[..., None])


def test_coverage():
    """Of 95 % intervals, about 95 % hold what is true of the population: P 0.7, mPC 0.42, so rPC 0.6."""
    rng = np.random.default_rng(0)
    fog = protocol(weather=dict(fog=(1,)))
    truth = dict(clean=0.7, mpc=0.42, rpc=0.6)
    trials, held = 300, dict.fromkeys(truth, 0)
    for trial in range(trials):
        easy = rng.beta(7, 3, 60)  # mean 0.7
        hard = easy * rng.beta(6, 4, 60)  # mean 0.6 of it
        records = {condition('clean'): {'iou': accuracies(easy)}, condition('fog 1'): {'iou': accuracies(hard)}}
        found = intervals(fog, records, resamples=200, seed=trial)['aAcc']
        for key, (low, high) in found.items():
            held[key] += low <= truth[key] <= high
    for key, times in held.items():
        # 0.95 less what the bootstrap of 60 images lacks, give or take 3 standard deviations of 300 trials
        assert 0.95 - 0.02 - 3 * math.sqrt(0.05 * 0.95 / trials) < times / trials < 0.95 + 0.038, key


def test_one_draw_holds_for_all_conditions():
    # each image loses exactly half: rPC is 1 / 2 in any draw, as it would not be if P and mPC were drawn apart
    values = np.random.default_rng(0).random(40)
    fog = protocol(weather=dict(fog=(1,)))
    records = {condition('clean'): {'iou': accuracies(values)}, condition('fog 1'): {'iou': accuracies(values / 2)}}
    found = intervals(fog, records)['aAcc']
    assert found['rpc'] == pytest.approx([0.5, 0.5], abs=2e-3)
    assert found['clean'][1] - found['clean'][0] > 0.1


def test_repeatable_and_of_a_seed():
    records = {condition('clean'): {'iou': accuracies(np.linspace(0, 1, 30))}}
    fog = protocol(weather=dict(fog=(1,)))
    first = intervals(fog, records)['aAcc']['clean']
    assert intervals(fog, records)['aAcc']['clean'] == first
    assert intervals(fog, records, seed=1)['aAcc']['clean'] != first


def test_a_higher_level_is_wider():
    records = {condition('clean'): {'iou': accuracies(np.linspace(0, 1, 30))}}
    fog = protocol(weather=dict(fog=(1,)))
    ends = [intervals(fog, records, level=level)['aAcc']['clean'] for level in (0.99, 0.95, 0.5)]
    assert ends[0][0] < ends[1][0] < ends[2][0] < 0.5 < ends[2][1] < ends[1][1] < ends[0][1]


def test_trap_2_what_is_missing_has_no_interval():
    values = np.linspace(0.1, 1, 20)
    there = {condition('fog 1'): {'iou': accuracies(values)}}
    found = intervals(TYPES, there)['mIoU']  # a partial mean
    assert np.isnan(found['clean']).all()
    assert np.isnan(found['rpc']).all()
    assert found['mpc'][0] < values.mean() < found['mpc'][1]
    clean = intervals(TYPES, {condition('clean'): {'iou': accuracies(values)}})['mIoU']
    assert np.isnan(clean['mpc']).all()
    assert clean['clean'] == found['mpc']
    assert intervals(TYPES, {}) == intervals(TYPES, {condition('clean'): {}}) == {}
    # where P is 0 there is no ratio, nor infinity
    nothing = {condition('clean'): {'iou': accuracies(0 * values)}, condition('fog 1'): {'iou': accuracies(values)}}
    assert np.isnan(intervals(TYPES, nothing)['aAcc']['rpc']).all()


def test_trap_8_draws_without_any_object_have_no_ap():
    content = coco.truth([[(0, 0, 0, 20, 20, 0)], [], []], 1)
    detections = [dict(image_id=0, category_id=1, bbox=[0, 0, 20, 20], score=0.5)]
    record = APRecord.from_coco(coco.evaluated(content, detections), range(3))
    assert (drawn(3, 100, 0)[:, 0] == 0).any()
    found = intervals(TYPES, {condition('clean'): {'bbox': record}}, resamples=100)
    assert found['bbox_mAP']['clean'] == pytest.approx([1, 1])  # were they 0, the lower end would be


def test_conditions_of_other_protocols_and_seeds():
    low, high = accuracies(np.full(5, 0.2)), accuracies(np.full(5, 0.8))
    records = {condition('fog 1', seed=4): {'iou': low}, condition('frost 1', seed=4): {'iou': high}}
    assert intervals(TYPES, records)['aAcc']['mpc'] == pytest.approx([0.2, 0.2])
    records[condition('fog 2', seed=5)] = {'iou': high}
    with pytest.raises(ValueError, match='give those of one seed'):
        intervals(TYPES, records)
    assert intervals(TYPES, {Condition(seed=3): {'iou': low}})['aAcc']['clean'] == pytest.approx([0.2, 0.2])


def test_records_that_do_not_belong_together():
    five, six = accuracies(np.ones(5)), accuracies(np.ones(6))
    with pytest.raises(ValueError, match=r'fog 1 are of 6 images \(iou\), those of clean of 5 images \(iou\)'):
        intervals(TYPES, {condition('clean'): {'iou': five}, condition('fog 1'): {'iou': six}})
    with pytest.raises(ValueError, match='fog 1 are of nothing, those of clean of 5 images'):
        intervals(TYPES, {condition('clean'): {'iou': five}, condition('fog 1'): {}})


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (dict(resamples=0), 'resamples is 0; it must be a whole number'),
        (dict(resamples=10.0), 'resamples is 10.0'),
        (dict(level=95), 'level is 95; it must lie between 0 and 1'),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        intervals(TYPES, {}, **arguments)


def test_ap_of_many_detections_gets_fewer_draws(monkeypatch):
    content, detections = coco.random_case(np.random.default_rng(1), images=6)
    record = APRecord.from_coco(coco.evaluated(content, detections), range(6))
    records = {condition(name): {'bbox': record} for name in NAMES}
    draws = []
    figures = APRecord.figures
    monkeypatch.setattr(APRecord, 'figures', lambda self, weights: draws.append(len(weights)) or figures(self, weights))
    whole = intervals(TYPES, records, resamples=300)
    monkeypatch.setattr(confidence, 'DETECTIONS_DRAWN', 4 * 250 * len(record.score))
    part = intervals(TYPES, records, resamples=300)
    monkeypatch.setattr(confidence, 'DETECTIONS_DRAWN', 1)
    intervals(TYPES, records, resamples=300)
    intervals(TYPES, records, resamples=30)
    assert draws == [300] * 4 + [250] * 4 + [200] * 4 + [30] * 4
    assert part['bbox_mAP']['clean'] == pytest.approx(whole['bbox_mAP']['clean'], abs=0.05)


def test_images_are_drawn_with_replacement():
    weights = drawn(10, 2000, 0)
    assert (weights.sum(1) == 10).all()
    np.testing.assert_allclose(weights.mean(0), 1, atol=0.1)
    # an image is left out of a draw with (1 - 1/10)**10 = 0.349, and its count has the variance 1 - 1/10
    assert (weights == 0).mean() == pytest.approx(0.349, abs=0.01)
    assert weights.var() == pytest.approx(0.9, abs=0.03)


def test_the_quick_protocol_end_to_end():
    quick = read_protocol('quick')
    rng = np.random.default_rng(0)
    records = {one: {'iou': accuracies(rng.random(20))} for one in quick.conditions()}
    found = intervals(quick, records)['mIoU']
    mpc = np.mean([records[one]['iou'].figures()['mIoU'] for one in quick.conditions() if one.corruption])
    assert found['mpc'][0] < mpc < found['mpc'][1]
