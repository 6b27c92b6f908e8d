"""What a reader is told before he trusts a figure; texts."""

import doctest
from dataclasses import replace
from pathlib import Path

import pytest

from fan_dense.evaluation.folder import SweepFolder
from fan_dense.evaluation.protocol import read_protocol
from fan_dense.evaluation.published import published
from fan_dense.evaluation.report import comparable, entry, text, timing
from fan_dense.evaluation.report.notices import notices
from fan_dense.evaluation.report.read import read


@pytest.fixture(scope='module')
def sweep(sweeps):
    return read(sweeps / 'bare', resamples=0)


def changed(sweep, name='other', identity=None, **summary):
    identity = replace(sweep.identity, name=name, **(identity or {}))
    return replace(sweep, identity=identity, summary=replace(sweep.summary, **summary))


def heads(*sweeps):
    return [one.head for one in notices(entry.entries(sweeps)) if one.warning]


def test_nothing_is_wrong_with_equal_sweeps(sweep):
    assert heads(sweep) == heads(sweep, changed(sweep)) == []


def test_models_that_were_not_evaluated_alike(sweep):
    digests = {**sweep.summary.pixel_digests, 'fog 3': '0' * 32}
    assert heads(sweep, changed(sweep, pixel_digests=digests)) == ['different pixels']
    # which is no wonder with another seed
    assert heads(sweep, changed(sweep, seed=1, pixel_digests=digests)) == ['different seeds of the corruptions']
    assert heads(sweep, changed(sweep, images=5)) == ['different numbers of images']
    assert heads(sweep, changed(sweep, classes=['cat'])) == ['different classes']
    assert heads(sweep, changed(sweep, identity={'data': {'truth': 'another'}})) == ['different ground truth']


def test_part_of_the_data(sweep):
    assert heads(changed(sweep, identity={'max_images': 12})) == ['part of the data']


def test_a_class_that_counts_only_where_it_is_predicted(sweep):
    figures = replace(sweep.summary.metrics['mIoU'], absent_classes=['pole'], absent_but_predicted={'pole': ['fog 3']})
    found = notices(entry.entries([changed(sweep, metrics={**sweep.summary.metrics, 'mIoU': figures})]))
    assert [one.head for one in found][:2] == ['absent classes', 'absent class counted']
    assert found[1].body == 'mIoU counts pole as 0 where it is predicted (fog 3)'


def test_warnings_come_first(sweep):
    found = notices(entry.entries([sweep, changed(sweep, seed=3)]))
    assert [one.warning for one in found] == [True, False, False]


def test_models_of_one_name_are_told_apart(sweep):
    other = replace(sweep, folder=Path('elsewhere'))
    assert [one.name for one in entry.entries([sweep, other])] == [f'bare ({sweep.folder})', 'bare (elsewhere)']
    assert [one.letter for one in entry.entries([sweep, other])] == ['A', 'B']


@pytest.mark.parametrize(
    ('images', 'classes', 'told'),
    [(500, 19, 'They compare if'), (499, 19, 'not comparable with A'), (500, 11, 'not comparable with A')],
)
def test_comparable_only_with_data_of_that_size(sweep, images, classes, told):
    theirs = published(read_protocol('cityscapes-c'), 'mIoU')
    models = entry.entries([changed(sweep, images=images, classes=[str(i) for i in range(classes)])])
    assert told in comparable.note(models, theirs)


def test_all_published_data_sets_have_a_known_size():
    found = {
        one.data
        for protocol, metric in (('cityscapes-c', 'mIoU'), ('coco-c', 'bbox_mAP'), ('coco-c', 'segm_mAP'))
        for one in published(read_protocol(protocol), metric)
    }
    assert found == set(comparable._SIZES)


def test_shares_of_time(sweep, sweeps):
    (model,) = entry.entries([sweep])
    results = SweepFolder(sweeps / 'bare').results().values()
    network = sum(result.phases['network'] for result in results)
    total = sum(result.phases['total'] for result in results)
    rows = {row[0]: row[1] for row in timing.table([model]).rows}
    assert rows['network (main process)'] == f'{network:.1f} s ({network / total:.1%})'
    assert rows['time of a condition, mean'] == f'{total / 6:.1f} s'


@pytest.mark.parametrize('module', [text, entry])
def test_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
