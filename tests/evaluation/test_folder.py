import json
from dataclasses import replace

import numpy as np
import pytest

from fan_dense.evaluation.folder import Identity, SweepFolder
from fan_dense.evaluation.metrics import MissingConditions, Summary
from fan_dense.evaluation.records import IoURecord
from tests.evaluation.results import condition, protocol, result

PROTOCOL = protocol(weather=dict(fog=(1, 2)))
IDENTITY = Identity(
    name='model',
    config='c.py',
    checkpoint='c.pth',
    checkpoint_digest='0' * 16,
    protocol=PROTOCOL.to_dict(),
    seed=0,
    image_order='bgr',
    max_images=None,
    images=4,
    data={'images': 'aa', 'truth': 'bb'},
    classes=['car', 'road'],
    settings={'model.type': 'EncoderDecoder', 'model.backbone.depth': '10'},
    training_corruptions=[],
    versions={'torch': '2.14'},
)


@pytest.fixture
def folder(tmp_path):
    folder = SweepFolder(tmp_path / 'sweep')
    folder.write_identity(IDENTITY)
    return folder


def record(right: int) -> dict:
    """Four images of two classes, 100 pixels each, of which so many of each class are right."""
    one_class = [right, 100 + 50 - right, 50 + (50 - right) * 0, 50]
    return {'iou': IoURecord(np.tile(np.array(one_class)[:, None], (4, 1, 2)))}


def fill(folder, *names):
    for number, name in enumerate(names):
        one = condition(name)
        folder.write(result(one, {'mIoU': 0.5 - 0.1 * number}), record(40 - 10 * number))


def test_what_was_written_is_read_again(folder):
    assert folder.exists()
    assert folder.identity == IDENTITY
    assert folder.protocol == PROTOCOL
    assert list(map(str, folder.conditions())) == ['clean', 'fog 1', 'fog 2']
    fill(folder, 'fog 1', 'clean')
    assert list(map(str, folder.missing())) == ['fog 2']
    read = folder.results()
    assert list(map(str, read)) == ['clean', 'fog 1']  # as the protocol orders them
    assert read[condition('fog 1')].metrics == {'mIoU': 0.5}
    np.testing.assert_array_equal(folder.records(condition('clean'))['iou'].counts, record(30)['iou'].counts)
    assert folder.records(condition('fog 2')) == {}


def test_the_summary_needs_all_conditions_or_is_partial(folder):
    fill(folder, 'clean', 'fog 2')
    with pytest.raises(MissingConditions, match='fog 1'):
        folder.summary()
    assert folder.summary(partial=True).missing == ['fog 1']
    fill(folder, 'clean', 'fog 1', 'fog 2')
    summary = folder.summary(resamples=50)
    assert summary.metrics['mIoU'].mpc == pytest.approx((0.4 + 0.3) / 2)
    assert folder.summary(resamples=0).metrics['mIoU'].intervals is None
    file = folder.write_summary(summary)
    assert Summary.from_json(file.read_text()).to_json() == summary.to_json()
    assert folder.summary(resamples=50).to_json() == summary.to_json()
    assert list(json.loads((folder.path / 'timing.json').read_text())['conditions']) == [
        'clean',
        'fog-1-seed0-bgr',
        'fog-2-seed0-bgr',
    ]


def test_intervals_come_from_the_records(folder):
    fill(folder, 'clean', 'fog 1', 'fog 2')
    # all images are equal, so that every draw of them gives the same figure
    low, high = folder.summary(resamples=50).metrics['mIoU'].intervals['clean']
    assert low == pytest.approx(40 / 110) == high


def test_trap_pixels_of_the_clean_images_under_another_name(folder):
    fill(folder, 'clean', 'fog 1', 'fog 2')
    folder.write(result(condition('fog 2'), {'mIoU': 0.5}, pixel_digest='pixels of clean'), record(40))
    with pytest.raises(ValueError, match='fog 2.* pixels of the clean images'):
        folder.summary()


@pytest.mark.parametrize(
    ('change', 'named'),
    [
        (dict(checkpoint_digest='1' * 16), f'checkpoint_digest ({"0" * 16}, now {"1" * 16})'),
        (dict(seed=1), 'seed (0, now 1)'),
        (dict(image_order='rgb'), 'image_order (bgr, now rgb)'),
        (dict(max_images=3), 'max_images (None, now 3)'),
        (dict(data={'images': 'aa', 'truth': 'cc'}), 'data.truth'),
        (dict(settings={**IDENTITY.settings, 'model.backbone.depth': '12'}), 'config (model.backbone.depth)'),
        (dict(protocol={**IDENTITY.protocol, 'name': 'other'}), 'protocol (mine, now other)'),
    ],
)
def test_every_difference_is_named(change, named):
    assert IDENTITY.differences(replace(IDENTITY, **change)) == [named]


def test_files_may_move_and_versions_change():
    moved = replace(IDENTITY, name='x', config='d/c.py', checkpoint='d/c.pth', versions={'torch': '3.0'})
    assert IDENTITY.differences(moved) == []


def test_folders_that_hold_no_sweep_and_broken_files_are_named(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match=r'holds no sweep \(sweep.json is missing\)'):
        _ = SweepFolder(tmp_path).identity
    fill(folder, 'clean')
    folder.result_file(condition('clean')).write_text('{"condition": ')
    with pytest.raises(ValueError, match=r'clean.json is not the result of a condition: .*delete it'):
        folder.results()
    folder.write_identity(replace(IDENTITY, format=99))
    with pytest.raises(ValueError, match='has format 99, this version reads 1'):
        _ = folder.identity
    (folder.path / 'sweep.json').write_text('[]')
    with pytest.raises(ValueError, match='is not the beginning of a sweep'):
        _ = folder.identity
