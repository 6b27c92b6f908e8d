"""The command that saves corrupted copies."""

import cv2
import numpy as np
import pytest


@pytest.fixture
def src(tmp_path):
    (tmp_path / 'src').mkdir()
    cv2.imwrite(str(tmp_path / 'src/a.png'), np.full((40, 48, 3), 90, np.uint8))
    return tmp_path / 'src'


def test_it_says_the_cost_writes_reports_and_verifies(command, src, tmp_path):
    argv = (src, 'dst', '--corruptions', 'noise', 'fog', '--severities', 3)
    code, out, _ = command('generate_corrupted', *argv, '--dry-run')
    assert code == 0
    assert out.startswith('1 images, 5 files to write: about 0.00 GB and 0:00:0')
    assert not (tmp_path / 'dst').exists()
    code, out, err = command('generate_corrupted', *argv)
    assert code == 0
    assert '5 files written to dst' in out
    assert '5/5 files' in err
    assert len(list((tmp_path / 'dst').rglob('*.png'))) == 5
    assert command('generate_corrupted', src, 'dst', '--verify')[:2] == (0, '5 files of dst are intact\n')
    (tmp_path / 'dst/fog/3/a.png').unlink()
    code, _, err = command('generate_corrupted', src, 'dst', '--verify')
    assert code == 2
    assert err.startswith('error: 1 of 5 files of dst are missing or changed: fog/3/a.png; delete the changed ones')
    assert command('generate_corrupted', *argv)[0] == 0
    assert command('generate_corrupted', src, 'dst', '--verify')[:2] == (0, '5 files of dst are intact\n')
    assert 'dst is complete' in command('generate_corrupted', *argv)[1]


def test_corruptions_of_the_users_own(command, src, tmp_path, monkeypatch):
    (tmp_path / 'my_corruptions.py').write_text(
        'from fan_dense.corruptions import names, register\n'
        "if 'halved' not in names('user'):\n"
        "    register('halved')(lambda image, severity: image // 2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    code, _, err = command(
        'generate_corrupted', src, 'dst', '--corruptions', 'halved', '--severities', 1, '--import', 'my_corruptions'
    )
    assert code == 0, err
    assert cv2.imread(str(tmp_path / 'dst/halved/1/a.png')).max() == 45


@pytest.mark.parametrize(
    ('argv', 'message'),
    [
        (('nowhere', 'dst'), 'no folder nowhere'),
        (('src', 'dst', '--corruptions', 'fogg'), "unknown corruption 'fogg'; did you mean fog?"),
        (('src', 'dst', '--severities', 6), 'it must be a whole number from 1 to 5'),
        (('src', 'src/dst'), 'lies in src'),
    ],
)
def test_bad_input_is_one_line(command, src, argv, message):
    code, _, err = command('generate_corrupted', *argv)
    assert code == 2
    assert err.startswith('error: ')
    assert message in err
    assert err.count('\n') == 1
