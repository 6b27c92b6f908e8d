import json

import pytest

from fan_dense.evaluation.protocol import Protocol, protocol_names, read_protocol
from fan_dense.evaluation.result import Condition

ALL_FIVE = (1, 2, 3, 4, 5)


def content(**changes):
    return {'name': 'mine', 'groups': {'weather': [{'corruptions': ['fog', 'snow'], 'severities': [2, 4]}]}, **changes}


def written(folder, data) -> str:
    path = folder / 'mine.json'
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return str(path)


@pytest.mark.parametrize(
    ('name', 'corruptions', 'conditions', 'aggregate'),
    [
        ('coco-c', 15, 15 * 5, 'conditions'),
        ('common', 15, 15 * 5, 'conditions'),
        ('all', 19, 19 * 5, 'conditions'),
        ('cityscapes-c', 16, 4 * 3 + 12 * 5, 'types'),
        ('quick', 5, 5, 'conditions'),
    ],
)
def test_sizes_are_the_published_ones(name, corruptions, conditions, aggregate):
    protocol = read_protocol(name)
    assert protocol.name == name
    assert len(protocol.corruptions) == corruptions
    listed = protocol.conditions()
    assert listed[0] == Condition()
    assert len(set(listed)) == len(listed) == conditions + 1
    assert protocol.aggregate == aggregate
    assert {one.image_order for one in listed} == {'bgr'}  # the published order


def test_every_file_is_listed_and_there_is_no_other():
    assert set(protocol_names()) == {'coco-c', 'common', 'all', 'cityscapes-c', 'quick'}


def test_the_16_type_rule():
    protocol = read_protocol('cityscapes-c')
    noise = ('gaussian_noise', 'shot_noise', 'impulse_noise', 'speckle_noise')
    for name in protocol.corruptions:
        assert protocol.severities(name) == ((1, 2, 3) if name in noise else ALL_FIVE)
    assert {name for name in protocol.corruptions if protocol.group(name) == 'noise'} == set(noise)
    digital = {'brightness', 'contrast', 'saturate', 'jpeg_compression'}
    assert {name for name in protocol.corruptions if protocol.group(name) == 'digital'} == digital
    assert 'elastic_transform' not in protocol.corruptions
    assert read_protocol('coco-c').group('brightness') == 'weather'


def test_conditions_carry_seed_and_order_and_clean_has_neither():
    clean, *corrupted = read_protocol('quick').conditions(seed=7, image_order='rgb')
    assert clean == Condition()
    assert {(one.seed, one.image_order) for one in corrupted} == {(7, 'rgb')}


@pytest.mark.parametrize('name', ['coco-c', 'cityscapes-c', 'quick'])
def test_as_data_and_back(name):
    protocol = read_protocol(name)
    data = json.loads(json.dumps(protocol.to_dict()))
    assert Protocol.from_dict(data) == protocol
    assert Protocol.from_dict(data).to_dict() == data
    assert Protocol.from_dict(data).conditions() == protocol.conditions()


def test_a_user_adds_one_by_a_file(tmp_path):
    protocol = read_protocol(written(tmp_path, content(aggregate='types', image_order='rgb')))
    assert [str(one) for one in protocol.conditions()] == ['clean', 'fog 2', 'fog 4', 'snow 2', 'snow 4']
    assert protocol.conditions()[1].image_order == 'rgb'
    assert protocol.aggregate == 'types'


def test_parts_are_marked_as_such():
    whole = read_protocol('cityscapes-c')
    part = whole.restricted(corruptions=['weather', 'shot_noise'], severities=[3, 5])
    assert part.name == 'cityscapes-c (part)'
    assert part.groups == {
        'noise': {'shot_noise': (3,)},  # there is no severity 5 of noise
        'weather': {'snow': (3, 5), 'spatter': (3, 5), 'fog': (3, 5), 'frost': (3, 5)},
    }
    assert part.aggregate == 'types'
    assert part.restricted(severities=[5]).name == 'cityscapes-c (part)'
    assert part.restricted(severities=[5]).corruptions == ('snow', 'spatter', 'fog', 'frost')


def test_a_part_that_is_the_whole_keeps_the_name():
    whole = read_protocol('quick')
    assert whole.restricted() is whole
    assert whole.restricted(['noise', 'blur', 'weather', 'jpeg_compression'], [3]) == whole


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (dict(corruptions=['frog']), "quick has no corruption or group 'frog'; did you mean fog"),
        (
            dict(corruptions=['zoom_blur']),
            "quick has no corruption or group 'zoom_blur'; did you mean blur or motion_blur",
        ),
        (dict(severities=[3, 5]), 'quick has no severity 5, only 3'),
        (dict(severities=['3']), "quick has no severity '3', only 3"),
        (dict(severities=[]), 'nothing of protocol quick is left'),
        (dict(corruptions=[]), 'nothing of protocol quick is left'),
    ],
)
def test_parts_that_there_are_not(arguments, message):
    with pytest.raises(ValueError, match=message):
        read_protocol('quick').restricted(**arguments)


def test_noise_has_no_severity_5_in_cityscapes_c():
    with pytest.raises(
        ValueError, match='nothing of protocol cityscapes-c is left with corruptions gaussian_noise, imp'
    ):
        read_protocol('cityscapes-c').restricted(['noise'], [5])


def test_unknown_names():
    with pytest.raises(ValueError, match="unknown protocol 'coco_c'; did you mean coco-c"):
        read_protocol('coco_c')
    with pytest.raises(ValueError, match=r"unknown protocol 'no/where\.json'; there is no such file"):
        read_protocol('no/where.json')
    with pytest.raises(ValueError, match="protocol quick has no corruption 'frog'; did you mean fog"):
        read_protocol('quick').severities('frog')


@pytest.mark.parametrize(
    ('data', 'message'),
    [
        ('{"name": "mine",', 'Expecting property name'),
        ('[]', r'the protocol is \[\]; an object'),
        (content(groups=[]), r'groups is \[\]; an object'),
        (content(groups={}), 'groups is empty'),
        (content(groups={'weather': []}), r'groups\.weather is empty'),
        (content(groups={'weather': {'fog': [1]}}), r'groups\.weather is .*; a list'),
        (content(groups={'weather': [['fog']]}), r"groups\.weather\[0\] is \['fog'\]; an object"),
        (content(groups={'weather': [{'corruptions': ['fog']}]}), r"groups\.weather\[0\] has no field 'severities'"),
        (
            content(groups={'weather': [{'corruptions': 'fog', 'severities': [1]}]}),
            r"groups\.weather\[0\]\.corruptions is 'fog'; a list",
        ),
        (
            content(groups={'weather': [{'corruptions': [1], 'severities': [1]}]}),
            r'groups\.weather\[0\]\.corruptions has 1',
        ),
        (
            content(groups={'weather': [{'corruptions': ['frog'], 'severities': [1]}]}),
            "unknown corruption 'frog'; did you mean fog",
        ),
        (content(groups={'weather': [{'corruptions': ['fog'], 'severities': [0]}]}), 'severity of fog is 0'),
        (content(groups={'weather': [{'corruptions': ['fog'], 'severities': [[1]]}]}), r'severity of fog is \[1\]'),
        (content(groups={'weather': [{'corruptions': ['fog'], 'severities': []}]}), r'severities of fog are \[\]'),
        (
            content(groups={'weather': [{'corruptions': ['fog'], 'severities': [1, 1]}]}),
            r'severities of fog are \[1, 1\]; each once',
        ),
        (
            content(groups={'weather': [{'corruptions': ['fog', 'fog'], 'severities': [1]}]}),
            r'fog is there twice, the second time in groups\.weather\[0\]',
        ),
        (
            content(groups={g: [{'corruptions': ['fog'], 'severities': [1]}] for g in ('a', 'b')}),
            r'fog is there twice, the second time in groups\.b',
        ),
        (content(aggregate='mean'), "aggregate is 'mean'; it must be one of 'conditions', 'types'"),
        (content(aggregates='types'), "unknown field 'aggregates'; did you mean aggregate"),
        (content(image_order='RGB'), "image_order is 'RGB'; it must be one of"),
        (content(name=3), 'name is 3; text'),
        (content(name=''), 'name is empty'),
        (content(name='coco-c'), "name 'coco-c' is that of another protocol"),
    ],
)
def test_broken_files_are_named_with_the_field(tmp_path, data, message):
    path = written(tmp_path, data)
    with pytest.raises(ValueError, match=message) as raised:
        read_protocol(path)
    assert str(raised.value).startswith(f'protocol {path}: ')
    assert '\n' not in str(raised.value)
