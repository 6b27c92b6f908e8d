import pytest

from fan_dense.evaluation.guard import SilentlyClean, examine
from fan_dense.evaluation.probe import Probe
from fan_dense.evaluation.result import Condition


def record(key, clean='c', seen='s', corruption='fog', severity=3):
    return dict(
        key=key,
        corruption=corruption,
        severity=severity,
        seed=0,
        image_order='bgr',
        clean=f'{clean}{key}',
        seen=f'{seen}{key}',
    )


def records(*made):
    return {f'/data/{one["key"]}': one for one in made}


def test_corrupted_images_pass_and_unchanged_ones_are_named():
    report = examine(records(record('a'), record('b', seen='c')), expected=2)
    assert report.images == 2
    assert report.unchanged == ('b',)


def test_a_run_without_any_changed_pixel_fails():
    with pytest.raises(SilentlyClean, match='fog changed no pixel in any of the 2 images'):
        examine(records(record('a', seen='c'), record('b', seen='c')), expected=2)


def test_a_clean_run_may_see_clean_pixels():
    report = examine(records(record('a', seen='c', corruption=None, severity=None)), expected=1)
    assert report.unchanged == ()


def test_images_without_a_record_fail():
    with pytest.raises(SilentlyClean, match='1 of 2 images carry a record.* and no image be there twice'):
        examine(records(record('a')), expected=2)
    with pytest.raises(SilentlyClean, match="'corruption' be among the meta_keys"):
        examine({}, expected=2)


def test_a_mixture_fails():
    with pytest.raises(SilentlyClean, match='corrupted differently'):
        examine(records(record('a'), record('b', severity=2)), expected=2)
    with pytest.raises(SilentlyClean, match='corrupted differently'):
        examine(records(record('a'), record('b', corruption=None, severity=None)), expected=2)


def test_the_digest_knows_pixels_and_names_but_not_the_order():
    a, b = record('a'), record('b')
    digest = examine(records(a, b), expected=2).digest
    assert digest == examine(records(b, a), expected=2).digest
    assert digest != examine(records(a, record('b', seen='x')), expected=2).digest
    assert len(digest) == 32


def test_the_clean_digest_is_the_same_under_every_corruption():
    fog, clean = (
        records(record('a', **kind), record('b', **kind))
        for kind in ({}, dict(seen='c', corruption=None, severity=None))
    )
    assert examine(fog, expected=2).clean_digest == examine(clean, expected=2).clean_digest
    assert examine(clean, expected=2).clean_digest == examine(clean, expected=2).digest
    assert examine(fog, expected=2).clean_digest != examine(fog, expected=2).digest


def test_pixels_of_another_condition_than_was_asked_for_fail():
    made = records(record('a'), record('b'))
    assert examine(made, 2, condition=Condition(corruption='fog', severity=3)).images == 2
    for other in (dict(corruption='fog', severity=2), dict(corruption='fog', severity=3, seed=1), {}):
        with pytest.raises(SilentlyClean, match=r"those of \('fog', 3, 0, 'bgr'\), not (fog|clean)"):
            examine(made, 2, condition=Condition(**other))


def test_a_part_of_the_data_that_the_corruption_does_not_reach_fails():
    made = records(record('a'), record('b'), record('c'))
    lost, reaching, other = Probe(0, '/data/b', False), Probe(0, '/data/a', True), Probe(1, '/data/c', False)
    assert examine(made, 3, probes=iter([lost, reaching])).images == 3
    for probes in ([lost], [reaching, other], [lost, other, reaching]):
        with pytest.raises(SilentlyClean, match='fog changed /data/[bc], and yet the network was given the same'):
            examine(made, 3, probes=iter(probes))
