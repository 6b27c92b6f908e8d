import json
import math

import pytest

from fan_dense.evaluation.result import Condition, ConditionResult


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (dict(corruption='snwo', severity=1), 'did you mean snow'),
        (dict(corruption='snow', severity=7), 'severity of snow is 7'),
        (dict(corruption='snow', severity=1, seed=-1), 'seed is -1; it must be a whole number, 0 or larger'),
        (dict(corruption='snow', severity=1, seed=1.0), 'seed is 1.0'),
        (dict(image_order='RGB'), "image_order is 'RGB'"),
    ],
)
def test_wrong_conditions_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Condition(**arguments)


def test_no_two_conditions_share_a_file():
    conditions = [
        Condition(corruption=name, severity=severity, seed=seed, image_order=order)
        for name in ('fog', 'snow')
        for severity in (1, 2)
        for seed in (0, 1)
        for order in ('bgr', 'rgb')
    ]
    assert len({one.file_stem for one in [*conditions, Condition()]}) == len(conditions) + 1


def test_json_has_null_for_what_is_absent_and_the_summary_is_short():
    result = ConditionResult(
        condition=Condition(corruption='fog', severity=3),
        config='c.py',
        checkpoint='c.pth',
        checkpoint_digest='0' * 16,
        metrics={'mIoU': 0.25, 'mAcc': float('nan')},
        per_class={'IoU': {'car': 0.25, 'bus': float('nan')}},
        images=4,
        pixel_digest='d' * 32,
        unchanged_images=['a.png'],
        seconds=1.5,
        finished='2026-01-01T00:00:00+00:00',
        versions={'torch': '2.6'},
    )
    read = json.loads(result.to_json(), parse_constant=pytest.fail)  # NaN is no JSON
    assert read['metrics'] == {'mIoU': 0.25, 'mAcc': None}
    assert read['per_class']['IoU'] == {'car': 0.25, 'bus': None}
    assert read['condition'] == dict(corruption='fog', severity=3, seed=0, image_order='bgr')
    again = ConditionResult.from_json(result.to_json())
    assert again.condition == result.condition
    assert again.to_json() == result.to_json()
    assert math.isnan(again.metrics['mAcc'])
    assert result.summary().splitlines() == [
        'fog 3, seed 0, bgr',
        'mIoU 0.2500  mAcc nan',
        '4 images in 1.5 s, pixels dddddddddddd',
        'fog left 1 images unchanged',
    ]


@pytest.mark.parametrize(
    'text', ['', '[]', '{}', '{"condition": {"corruption": "fog"}}', '{"condition": {}, "metrics": 1}']
)
def test_another_file_is_no_result(text):
    with pytest.raises(ValueError, match='not the result of a condition'):
        ConditionResult.from_json(text)
