"""Means by hand, what is missing or absent, and figures relative to a reference."""

import json
import math
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fan_dense  # noqa: F401
from fan_dense.evaluation.metrics import MissingConditions, Summary, relative_degradation, summarise
from fan_dense.evaluation.protocol import read_protocol
from fan_dense.evaluation.published import published
from fan_dense.evaluation.result import Condition, ConditionResult
from tests.evaluation.results import condition, protocol, result, results

NAN = math.nan
# noise has fewer severities than fog, so that the two means differ
UNEVEN = dict(noise=dict(shot_noise=(1,)), weather=dict(fog=(1, 2, 3), snow=(1, 2)))
FIGURES = {'clean': 0.5, 'shot_noise 1': 0.1, 'fog 1': 0.4, 'fog 2': 0.3, 'fog 3': 0.2, 'snow 1': 0.3, 'snow 2': 0.2}


def summed(figures=FIGURES, aggregate='conditions', groups=UNEVEN, **kwargs):
    return summarise(protocol(aggregate, **groups), results(figures), **kwargs)


# Means


def test_mean_over_conditions_by_hand():
    one = summed().metrics['mIoU']
    assert one.clean == 0.5
    assert one.mpc == pytest.approx((0.1 + 0.4 + 0.3 + 0.2 + 0.3 + 0.2) / 6)  # 0.25, clean excluded
    assert one.rpc == pytest.approx(0.25 / 0.5)
    assert one.by_group == {
        'noise': pytest.approx(0.1),
        'weather': pytest.approx((0.4 + 0.3 + 0.2 + 0.3 + 0.2) / 5),
    }
    assert one.by_severity == {
        '1': pytest.approx((0.1 + 0.4 + 0.3) / 3),
        '2': pytest.approx((0.3 + 0.2) / 2),
        '3': pytest.approx(0.2),
    }
    assert one.by_corruption['fog'] == {'mean': pytest.approx(0.3), 'severities': {'1': 0.4, '2': 0.3, '3': 0.2}}
    assert one.by_corruption['snow']['mean'] == pytest.approx(0.25)


def test_mean_over_types_by_hand():
    one = summed(aggregate='types').metrics['mIoU']
    # shot noise 0.1, fog 0.9 / 3, snow 0.5 / 2
    assert one.mpc == pytest.approx((0.1 + 0.3 + 0.25) / 3)
    assert one.rpc == pytest.approx(0.65 / 3 / 0.5)
    assert one.by_group == {'noise': pytest.approx(0.1), 'weather': pytest.approx((0.3 + 0.25) / 2)}
    assert one.by_severity['2'] == pytest.approx((0.3 + 0.2) / 2)


def test_the_16_type_rule_gives_the_published_mean():
    (segformer,) = [one for one in published(read_protocol('cityscapes-c'), 'mIoU') if one.model == 'SegFormer-B5']
    city = read_protocol('cityscapes-c')
    figures = {'clean': 0.824}
    for name in city.corruptions:
        middle = (len(city.severities(name)) + 1) / 2
        for severity in city.severities(name):  # the mean over severities is the published figure of the type
            figures[f'{name} {severity}'] = segformer.by_corruption[name] + 0.02 * (middle - severity)
    one = summarise(city, results(figures)).metrics['mIoU']
    assert one.mpc == pytest.approx(0.658, abs=0.0005)  # City-C 65.8, retention 65.8 / 82.4
    assert one.rpc == pytest.approx(0.658 / 0.824, abs=0.001)
    assert one.by_group['noise'] == pytest.approx((0.578 + 0.634 + 0.523 + 0.728) / 4)
    # over the 72 conditions it would be another
    assert fmean(value for name, value in figures.items() if name != 'clean') == pytest.approx(0.6628, abs=1e-4)


def test_every_metric_is_treated_alike():
    made = {
        condition(name): result(condition(name), {'bbox_mAP': value, 'segm_mAP': value / 2})
        for name, value in FIGURES.items()
    }
    metrics = summarise(protocol(**UNEVEN), made).metrics
    assert list(metrics) == ['bbox_mAP', 'segm_mAP']
    assert metrics['bbox_mAP'].mpc == pytest.approx(0.25)
    assert metrics['segm_mAP'].mpc == pytest.approx(0.125)
    assert metrics['segm_mAP'].rpc == pytest.approx(0.5)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=7, max_size=7))
def test_with_as_many_severities_each_both_means_are_one(values):
    groups = dict(weather=dict(fog=(1, 2), snow=(1, 2), frost=(1, 2)))
    names = ['clean', *(f'{name} {severity}' for name in groups['weather'] for severity in (1, 2))]
    figures = dict(zip(names, values))
    by_types, by_conditions = (summed(figures, kind, groups).metrics['mIoU'] for kind in ('types', 'conditions'))
    assert by_types.mpc == pytest.approx(by_conditions.mpc)
    assert by_conditions.mpc == pytest.approx(fmean(values[1:]))
    assert min(values[1:]) - 1e-12 <= by_conditions.mpc <= max(values[1:]) + 1e-12


# What is missing


def test_trap_2_missing_conditions_are_named_and_the_mean_is_refused():
    there = {name: value for name, value in FIGURES.items() if name not in ('fog 2', 'snow 2', 'clean')}
    with pytest.raises(MissingConditions) as raised:
        summed(there)
    assert raised.value.missing == ('clean', 'fog 2', 'snow 2')
    assert str(raised.value) == (
        '3 of 7 conditions are missing: clean, fog 2, snow 2; --partial takes the mean of those that are there'
    )
    with pytest.raises(MissingConditions, match='75 of 76 conditions are missing: gaussian_noise 1, .* and 65 more;'):
        summarise(read_protocol('coco-c'), results({'clean': 0.5}))


@pytest.mark.parametrize(('aggregate', 'mpc'), [('conditions', (0.4 + 0.2 + 0.3) / 3), ('types', (0.3 + 0.3) / 2)])
def test_trap_2_a_partial_mean_is_over_what_is_there_and_marked(aggregate, mpc):
    there = {'clean': 0.5, 'fog 1': 0.4, 'fog 3': 0.2, 'snow 1': 0.3}
    summary = summed(there, aggregate, partial=True)
    one = summary.metrics['mIoU']
    assert summary.partial
    assert summary.missing == ['shot_noise 1', 'fog 2', 'snow 2']
    assert summary.conditions == 7
    assert one.mpc == pytest.approx(mpc)  # were a missing one 0, it would be smaller
    assert one.rpc == pytest.approx(mpc / 0.5)
    assert math.isnan(one.by_corruption['shot_noise']['mean'])
    assert math.isnan(one.by_corruption['fog']['severities']['2'])
    assert one.by_corruption['fog']['mean'] == pytest.approx(0.3)
    assert math.isnan(one.by_group['noise'])
    assert one.by_severity['1'] == pytest.approx(0.35)
    assert math.isnan(one.by_severity['2'])
    content = json.loads(summary.to_json(), parse_constant=pytest.fail)  # NaN is no JSON
    assert content['partial'] is True
    assert content['metrics']['mIoU']['by_corruption']['fog']['severities'] == {'1': 0.4, '2': None, '3': 0.2}


def test_partial_is_not_said_of_what_is_whole():
    summary = summed(partial=True)
    assert not summary.partial
    assert summary.missing == []


def test_trap_2_without_clean_there_is_no_rpc_and_it_is_not_infinite():
    there = {name: value for name, value in FIGURES.items() if name != 'clean'}
    summary = summed(there, partial=True)
    assert math.isnan(summary.metrics['mIoU'].clean)
    assert math.isnan(summary.metrics['mIoU'].rpc)
    assert summary.metrics['mIoU'].mpc == pytest.approx(0.25)
    content = json.loads(summary.to_json(), parse_constant=pytest.fail)
    assert content['metrics']['mIoU']['clean'] is content['metrics']['mIoU']['rpc'] is None
    assert content['missing'] == ['clean']


@pytest.mark.parametrize('clean', [0.0, 5e-324])  # the latter is the smallest number that is not 0
def test_trap_2_a_clean_score_of_0_gives_no_rpc(clean):
    one = summed({**FIGURES, 'clean': clean}).metrics['mIoU']
    assert one.clean == clean
    assert math.isnan(one.rpc)


def test_clean_alone():
    one = summed({'clean': 0.5}, partial=True).metrics['mIoU']
    assert one.clean == 0.5
    assert math.isnan(one.mpc)
    assert math.isnan(one.rpc)


def test_nothing_at_all_is_refused_even_partially():
    with pytest.raises(ValueError, match='there is no result of any condition of protocol mine'):
        summed({}, partial=True)


# By name


@settings(max_examples=30, deadline=None)
@given(st.permutations(list(FIGURES.items())), st.permutations([('a', 0.1), ('b', 0.2), ('c', 0.6)]))
def test_trap_3_the_order_of_results_and_classes_makes_no_difference(figures, classes):
    def made(figures, classes):
        return {
            (one := condition(name)): result(one, {'mIoU': v}, {'IoU': {c: v * w for c, w in classes}})
            for name, v in figures
        }

    first = made(FIGURES.items(), [('a', 0.1), ('b', 0.2), ('c', 0.6)])
    if figures[0][0] != 'clean':  # the order of the classes is that of the clean result
        shuffled = made(figures, classes) | {condition('clean'): first[condition('clean')]}
    else:
        shuffled = made(figures, [('a', 0.1), ('b', 0.2), ('c', 0.6)])
    kind = protocol('types', **UNEVEN)
    assert summarise(kind, shuffled).to_json() == summarise(kind, first).to_json()


def test_trap_3_figures_are_by_corruption_whatever_the_order_of_the_protocol():
    turned = {group: dict(reversed(members.items())) for group, members in reversed(UNEVEN.items())}
    one, other = (summed(groups=groups).metrics['mIoU'] for groups in (UNEVEN, turned))
    assert one.by_corruption == other.by_corruption
    assert one.by_group == other.by_group


def test_other_conditions_are_not_looked_at():
    more = results(FIGURES) | results({'frost 1': 0.0, 'fog 5': 0.0})
    assert summarise(protocol(**UNEVEN), more) == summed()


def test_seed_and_order_are_those_of_the_results():
    summary = summarise(protocol(**UNEVEN), results(FIGURES, seed=3, image_order='rgb'))
    assert (summary.seed, summary.image_order) == (3, 'rgb')
    assert summary.metrics['mIoU'].mpc == pytest.approx(0.25)
    mixed = results(FIGURES) | results({'fog 1': 0.1}, seed=3)
    with pytest.raises(ValueError, match='results of seed 0 bgr and seed 3 bgr; give those of one seed'):
        summarise(protocol(**UNEVEN), mixed)


def test_a_clean_result_of_any_seed_will_do_but_only_one():
    seeded = Condition(seed=5)
    made = {one: found for one, found in results(FIGURES).items() if one.corruption} | {
        seeded: result(seeded, {'mIoU': 0.5}, pixel_digest='clean')
    }
    assert summarise(protocol(**UNEVEN), made).metrics['mIoU'].clean == 0.5
    with pytest.raises(ValueError, match='results of 2 clean; give those of one'):
        summarise(protocol(**UNEVEN), made | results({'clean': 0.5}))


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(checkpoint_digest='1' * 16), 'checkpoints of fog 2 differ from those of clean'),
        (dict(clean_pixel_digest='x'), 'images before corruption of fog 2 differ from those of clean'),
        (dict(images=3), r'numbers of images of fog 2 differ from those of clean \(3 and 4\)'),
        (dict(metrics={'mAcc': 0.3}), r'metrics of fog 2 differ from those of clean \(mAcc and mIoU\)'),
        (dict(per_class={'IoU': {'car': 0.3}}), 'metrics of classes of fog 2 differ'),
        (dict(condition=condition('fog 3')), 'the result given for fog 2 is of fog 3'),
    ],
)
def test_results_that_do_not_belong_together(changes, message):
    made = results(FIGURES)
    made[condition('fog 2')] = replace(made[condition('fog 2')], **changes)
    with pytest.raises(ValueError, match=message):
        summarise(protocol(**UNEVEN), made)


def test_trap_1_clean_pixels_under_the_name_of_a_corruption():
    made = results(FIGURES)
    digest = made[condition('clean')].pixel_digest
    made[condition('fog 2')] = replace(made[condition('fog 2')], pixel_digest=digest)
    with pytest.raises(ValueError, match='the pixels of fog 2 are those of clean'):
        summarise(protocol(**UNEVEN), made)


# NaN and absent classes


def with_classes(values: dict[str, dict[str, float]], name='IoU', metric='mIoU', **more):
    """{'clean': {'car': 0.5}}, the metric being the mean without NaN as in mmseg."""
    made = {}
    for one, classes in values.items():
        others = {key: per_condition[one] for key, per_condition in more.items()}
        made[condition(one)] = result(
            condition(one), {metric: np.nanmean([*classes.values()])}, {name: classes, **others}
        )
    return made


FOG = protocol(weather=dict(fog=(1, 2)))


def test_classes_by_hand():
    values = {'clean': dict(car=0.8, bus=0.4), 'fog 1': dict(car=0.6, bus=0.1), 'fog 2': dict(car=0.2, bus=0.0)}
    summary = summarise(FOG, with_classes(values))
    one = summary.metrics['mIoU']
    assert summary.classes == ['car', 'bus']
    assert one.by_class['car'] == dict(
        clean=0.8, mpc=pytest.approx(0.4), rpc=pytest.approx(0.5), by_corruption={'fog': pytest.approx(0.4)}
    )
    assert one.by_class['bus']['mpc'] == pytest.approx(0.05)  # the 0 counts
    assert one.absent_classes == []
    assert one.absent_but_predicted == {}


def test_classes_of_detection_and_of_metrics_without_classes():
    made = with_classes({'clean': {'car': 0.8}, 'fog 1': {'car': 0.4}, 'fog 2': {'car': 0.0}}, 'bbox_mAP', 'bbox_mAP')
    for one, value in made.items():
        made[one] = replace(value, metrics={**value.metrics, 'bbox_mAP_50': 0.5})
    metrics = summarise(FOG, made).metrics
    assert metrics['bbox_mAP'].by_class['car']['mpc'] == pytest.approx(0.2)
    assert metrics['bbox_mAP_50'].by_class == {}
    assert metrics['bbox_mAP_50'].absent_classes == []


def test_trap_8_absent_classes_are_named():
    values = {name: dict(car=0.5, tram=NAN) for name in ('clean', 'fog 1', 'fog 2')}
    one = summarise(FOG, with_classes(values)).metrics['mIoU']
    assert one.absent_classes == ['tram']
    assert all(math.isnan(one.by_class['tram'][key]) for key in ('clean', 'mpc', 'rpc'))
    assert math.isnan(one.by_class['tram']['by_corruption']['fog'])
    assert one.mpc == 0.5


def test_trap_8_a_class_without_ground_truth_that_is_predicted_in_some_conditions_is_named_with_them():
    # mmseg's mIoU of fog 2 is over two classes, the others are over one
    values = {'clean': dict(car=0.5, tram=NAN), 'fog 1': dict(car=0.4, tram=NAN), 'fog 2': dict(car=0.4, tram=0.0)}
    one = summarise(FOG, with_classes(values)).metrics['mIoU']
    assert one.mpc == pytest.approx((0.4 + 0.2) / 2)
    assert one.absent_classes == ['tram']
    assert one.absent_but_predicted == {'tram': ['fog 2']}
    assert math.isnan(one.by_class['tram']['mpc'])  # neither 0 nor the mean of what there is


def test_trap_8_a_class_without_ground_truth_that_is_always_predicted_is_known_by_its_accuracy():
    values = {name: dict(car=0.5, tram=0.0) for name in ('clean', 'fog 1', 'fog 2')}
    accuracy = {name: dict(car=0.6, tram=NAN) for name in values}
    one = summarise(FOG, with_classes(values, Acc=accuracy)).metrics['mIoU']
    assert one.absent_classes == ['tram']
    assert one.absent_but_predicted == {'tram': ['clean', 'fog 1', 'fog 2']}
    assert math.isnan(one.by_class['tram']['clean'])  # it has no IoU, although the metric says 0
    assert math.isnan(one.by_class['tram']['by_corruption']['fog'])
    # without accuracies nobody can tell it from a class that is never right
    assert summarise(FOG, with_classes(values)).metrics['mIoU'].absent_classes == []


def test_a_class_that_is_not_predicted_is_not_absent():
    values = {'clean': dict(car=0.5), 'fog 1': dict(car=NAN), 'fog 2': dict(car=0.5)}  # a precision of 0 / 0
    recall = {'clean': dict(car=0.5), 'fog 1': dict(car=0.0), 'fog 2': dict(car=0.5)}
    made = with_classes({k: v for k, v in values.items() if k != 'fog 1'}, 'Precision', 'mPrecision', Recall=recall)
    made[condition('fog 1')] = result(
        condition('fog 1'), {'mPrecision': NAN}, {'Precision': values['fog 1'], 'Recall': recall['fog 1']}
    )
    one = summarise(FOG, made).metrics['mPrecision']
    assert one.absent_classes == []
    assert math.isnan(one.by_class['car']['mpc'])


def test_trap_8_a_metric_that_is_nan_in_one_condition_is_not_averaged_over_the_others():
    one = summed({**FIGURES, 'fog 2': NAN}).metrics['mIoU']
    assert math.isnan(one.mpc)
    assert math.isnan(one.by_corruption['fog']['mean'])
    assert one.by_corruption['snow']['mean'] == pytest.approx(0.25)


def test_trap_8_nothing_detected_in_one_condition_counts_as_0():
    one = summed({**FIGURES, 'fog 1': 0.0}).metrics['mIoU']
    assert one.mpc == pytest.approx((0.1 + 0.0 + 0.3 + 0.2 + 0.3 + 0.2) / 6)


# The file


def test_json_and_back():
    made = with_classes({name: dict(car=v, tram=NAN) for name, v in FIGURES.items()})
    fog = condition('fog 2')
    made[fog] = replace(made[fog], unchanged_images=['a.png', 'b.png'])
    given_intervals = {'mIoU': {'clean': [0.4, 0.6], 'mpc': [0.2, 0.3], 'rpc': [NAN, NAN]}}
    summary = summarise(protocol(**UNEVEN), made, intervals=given_intervals)
    text = summary.to_json()
    content = json.loads(text, parse_constant=pytest.fail)
    assert list(content) == [
        'format', 'protocol', 'seed', 'image_order', 'images', 'partial', 'missing', 'conditions', 'classes',
        'metrics', 'pixel_digests', 'unchanged_images',
    ]  # fmt: skip
    assert content['metrics']['mIoU']['intervals'] == dict(clean=[0.4, 0.6], mpc=[0.2, 0.3], rpc=[None, None])
    assert content['metrics']['mIoU']['by_class']['tram']['clean'] is None
    assert content['unchanged_images'] == {'fog 2': 2}
    assert list(content['pixel_digests']) == list(FIGURES)
    assert content['images'] == 4
    read = Summary.from_json(text)
    assert read.to_json() == text
    assert read.metrics['mIoU'].mpc == summary.metrics['mIoU'].mpc
    assert math.isnan(read.metrics['mIoU'].by_class['tram']['clean'])
    assert Summary.from_json(summed().to_json()) == summed()
    assert Summary.from_json(summed().to_json()).metrics['mIoU'].intervals is None


def test_the_results_may_come_from_their_files():
    made = with_classes({name: dict(car=v, tram=NAN) for name, v in FIGURES.items()})
    read = [ConditionResult.from_json(one.to_json()) for one in made.values()]
    again = summarise(protocol(**UNEVEN), {one.condition: one for one in read})
    assert again.to_json() == summarise(protocol(**UNEVEN), made).to_json()


@pytest.mark.parametrize('text', ['[]', '{}', '{"format": 2}'])
def test_other_files_are_refused(text):
    with pytest.raises(ValueError, match='no summary of format 1'):
        Summary.from_json(text)


# Against a reference


def test_relative_degradation_by_hand():
    ours = summed(aggregate='types')
    other = {
        'clean': 0.6, 'shot_noise 1': 0.4, 'fog 1': 0.5, 'fog 2': 0.5, 'fog 3': 0.2, 'snow 1': 0.6, 'snow 2': 0.6,
    }  # fmt: skip
    found = relative_degradation(ours, summed(other, 'types'))['mIoU']
    rows = found['by_corruption']
    assert rows['shot_noise'] == {'ce': pytest.approx(0.9 / 0.6), 'relative_ce': pytest.approx(0.4 / 0.2)}
    # fog: errors 0.6 + 0.7 + 0.8 = 2.1 against 0.5 + 0.5 + 0.8 = 1.8; beyond clean 3 * 0.5 = 1.5 and 3 * 0.4 = 1.2
    assert rows['fog'] == {'ce': pytest.approx(2.1 / 1.8), 'relative_ce': pytest.approx(0.6 / 0.6)}
    assert rows['snow']['ce'] == pytest.approx(1.5 / 0.8)
    assert math.isnan(rows['snow']['relative_ce'])  # the reference does not degrade
    assert found['mean']['ce'] == pytest.approx((0.9 / 0.6 + 2.1 / 1.8 + 1.5 / 0.8) / 3)
    assert math.isnan(found['mean']['relative_ce'])


def test_a_model_relative_to_itself():
    found = relative_degradation(summed(), summed())['mIoU']
    assert found['mean'] == {'ce': pytest.approx(1), 'relative_ce': pytest.approx(1)}


@pytest.mark.parametrize(
    ('other', 'message'),
    [
        (lambda: summed(groups=UNEVEN, aggregate='types'), r'protocol differs \(mine and mine \(another one\)\)'),
        (lambda: summarise(protocol(**UNEVEN), results(FIGURES, seed=1)), r'seed differs \(0 and 1\)'),
        (lambda: summarise(protocol(**UNEVEN), results(FIGURES, images=9)), r'images differs \(4 and 9\)'),
        (lambda: summed({k: v for k, v in FIGURES.items() if k != 'fog 1'}, partial=True), 'missing differs'),
        (
            lambda: summarise(
                protocol(**UNEVEN),
                {k: replace(v, pixel_digest=v.pixel_digest + 'x') for k, v in results(FIGURES).items()},
            ),
            'pixel_digests differs; evaluate both models alike',
        ),
    ],
)
def test_references_that_are_not_comparable(other, message):
    with pytest.raises(ValueError, match=f'the reference is not comparable: {message}'):
        relative_degradation(summed(), other())
