"""Saved copies: equal to what Corrupt makes on the fly, resumed where they stopped, never mixed."""

import json

import cv2
import numpy as np
import pytest
from mmcv.transforms import LoadImageFromFile

from fan_dense.corruptions import digest
from fan_dense.datasets import corrupted
from fan_dense.datasets.check import DataError, MissingDataError
from fan_dense.datasets.corrupted import Condition, Settings, generate, plan, verify
from fan_dense.datasets.transforms import Corrupt


@pytest.fixture
def src(tmp_path):
    """Two images, one of them in a subfolder."""
    rng = np.random.default_rng(0)
    for name in ('one.png', 'sub/two.jpg'):
        path = tmp_path / 'src' / name
        path.parent.mkdir(exist_ok=True, parents=True)
        image = cv2.GaussianBlur(rng.integers(0, 256, (40, 56, 3), dtype=np.uint8), (0, 0), 2)
        cv2.imwrite(str(path), image)
    return tmp_path / 'src'


def make(src, dst, corruptions=('fog', 'gaussian_noise'), severities=(1, 3), workers=1, **settings):
    settings = Settings(**settings)
    jobs = plan(src, dst, corruptions, severities, settings)
    generate(src, dst, jobs, settings, workers)
    return jobs


@pytest.mark.parametrize('order', ['bgr', 'rgb'])
def test_loading_a_copy_gives_what_is_made_on_the_fly(src, tmp_path, order):
    workers = 2 if order == 'bgr' else 1
    make(src, tmp_path / 'dst', ('snow', 'jpeg_compression'), (2,), workers, seed=5, image_order=order)
    load = LoadImageFromFile()
    for name in ('snow', 'jpeg_compression'):
        fly = Corrupt(name, 2, seed=5, image_order=order, prefix=str(src))
        for key, copy in (('one.png', 'one.png'), ('sub/two.jpg', 'sub/two.png')):
            made = fly(load({'img_path': str(src / key)}))
            saved = load({'img_path': str(tmp_path / 'dst' / name / '2' / copy)})
            np.testing.assert_array_equal(saved['img'], made['img'])
            line = next(one for one in lines(tmp_path / 'dst') if (one['key'], one['corruption']) == (key, name))
            assert line['digest'] == made['corruption']['seen'] == digest(saved['img'])


def lines(dst):
    return [json.loads(line) for line in (dst / 'digests.jsonl').read_text().splitlines()]


def test_the_tree_mirrors_the_source_and_names_can_stay(src, tmp_path):
    make(src, tmp_path / 'dst', ('fog',), (4,), keep_names=True)
    files = {file.relative_to(tmp_path / 'dst').as_posix() for file in (tmp_path / 'dst').rglob('*') if file.is_file()}
    assert files == {'fog/4/one.png', 'fog/4/sub/two.jpg', 'manifest.json', 'digests.jsonl'}
    assert (tmp_path / 'dst/fog/4/sub/two.jpg').read_bytes().startswith(b'\x89PNG')
    assert verify(tmp_path / 'dst') == 2


def test_an_interrupted_run_goes_on(src, tmp_path):
    dst = tmp_path / 'dst'
    make(src, dst)
    first = {file: file.read_bytes() for file in dst.rglob('*.png')}
    log = (dst / 'digests.jsonl').read_text().splitlines(keepends=True)
    (dst / 'digests.jsonl').write_text(''.join(log[:5]) + log[5][:20])  # as when the process dies while it writes
    lost = json.loads(log[6])
    (dst / lost['file']).unlink()
    jobs = make(src, dst)
    assert sum(len(job.conditions) for job in jobs) == 3
    assert {file: file.read_bytes() for file in dst.rglob('*.png')} == first
    assert verify(dst) == 8
    assert make(src, dst) == []


def test_conditions_can_be_added(src, tmp_path):
    make(src, tmp_path / 'dst', ('fog',), (1,))
    jobs = make(src, tmp_path / 'dst', ('fog', 'snow'), (1,))
    assert [job.conditions for job in jobs] == [[Condition('snow', 1)]] * 2


def test_a_changed_or_missing_file_is_found(src, tmp_path):
    dst = tmp_path / 'dst'
    make(src, dst)
    changed, missing = dst / 'fog/3/one.png', dst / 'gaussian_noise/1/sub/two.png'
    cv2.imwrite(str(changed), cv2.imread(str(changed)) ^ 1)
    missing.unlink()
    with pytest.raises(DataError, match=r'2 of 8 files .*: fog/3/one.png, gaussian_noise/1/sub/two.png'):
        verify(dst)


def test_jpg_is_not_lossless_and_cannot_be_verified(src, tmp_path):
    make(src, tmp_path / 'dst', ('fog',), (1,), format='jpg')
    assert (tmp_path / 'dst/fog/1/one.jpg').exists()
    with pytest.raises(DataError, match='holds jpg files'):
        verify(tmp_path / 'dst')


@pytest.mark.parametrize(('setting', 'value'), [('seed', 1), ('image_order', 'rgb'), ('format', 'jpg')])
def test_other_settings_are_refused(src, tmp_path, setting, value):
    make(src, tmp_path / 'dst', ('fog',), (1,))
    with pytest.raises(DataError, match=f'made with {setting}='):
        make(src, tmp_path / 'dst', ('fog',), (1,), **{setting: value})


def test_wrong_folders_are_named(src, tmp_path):
    for arguments, error, message in (
        ((tmp_path / 'nowhere', tmp_path / 'dst'), MissingDataError, 'no folder .*nowhere'),
        ((src, src / 'dst'), DataError, 'lies in'),
        ((src, tmp_path), DataError, 'not empty and has no manifest.json'),
    ):
        with pytest.raises(error, match=message):
            make(*arguments)
    (tmp_path / 'empty').mkdir()
    with pytest.raises(MissingDataError, match='no image in'):
        make(tmp_path / 'empty', tmp_path / 'dst')
    with pytest.raises(MissingDataError, match='no manifest.json'):
        verify(tmp_path / 'empty')


def test_two_images_of_one_name_are_refused(src, tmp_path):
    (src / 'one.jpg').write_bytes((src / 'sub/two.jpg').read_bytes())
    with pytest.raises(DataError, match=r'would be one one\.png'):
        make(src, tmp_path / 'dst')
    make(src, tmp_path / 'dst', ('fog',), (1,), keep_names=True)


@pytest.mark.parametrize(('content', 'message'), [(b'', 'is empty'), (b'text', 'cannot be decoded')])
def test_a_broken_image_is_named(src, tmp_path, content, message):
    (src / 'broken.png').write_bytes(content)
    with pytest.raises(DataError, match=f'broken.png {message}'):
        make(src, tmp_path / 'dst', ('fog',), (1,))


def test_the_estimate_counts_files_and_bytes(src, tmp_path):
    jobs = plan(src, tmp_path / 'dst', ('fog', 'gaussian_noise'), (1, 3), Settings())
    cost = corrupted.estimate(src, jobs, Settings())
    make(src, tmp_path / 'dst')
    written = sum(file.stat().st_size for file in (tmp_path / 'dst').rglob('*.png'))
    assert cost.files == 8
    assert 0.5 * written < cost.bytes < 2 * written
    assert 0 < cost.seconds < 10
