"""With a RandomState of the published seed: the published pixels. And the script that shows it."""

import importlib.util
import json

import numpy as np
import pytest

from fan_dense.corruptions import corrupt, names
from tests.reference import ROOT, reference

# of the rest all are equal; these are rounded to float32 in between
SHARE_OF_UNEQUAL = {'spatter': 1e-4, 'frost': 1e-5}


@pytest.fixture(scope='module')
def parity():
    spec = importlib.util.spec_from_file_location('corruption_parity', ROOT / 'benchmarks' / 'corruption_parity.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope='module')
def cases(parity):
    return [case for case in parity.cases(reference('corruptions'), 0) if case.output is not None]


@pytest.mark.parametrize('name', names('all'))
def test_published_outputs(parity, cases, name):
    cached = parity.CACHE / parity.PACKAGE / 'imagecorruptions' / 'frost'
    textures = cached if cached.is_dir() else None
    if name == 'frost' and textures is None and importlib.util.find_spec('imagecorruptions') is None:
        pytest.skip('the published frost textures are not here: benchmarks/corruption_parity.py fetches them')
    tally = parity.Tally()
    for case in cases:
        if case.corruption == name:
            parity.check(case, tally, textures)
    assert tally.cases >= 24
    assert tally.largest <= (name in SHARE_OF_UNEQUAL)
    assert tally.equal >= (1 - SHARE_OF_UNEQUAL.get(name, 0)) * tally.samples


@pytest.fixture
def folder(tmp_path):
    """A folder of that format, of our own making, with seeds 100 above the published ones."""
    grey = np.random.default_rng(0).integers(0, 256, (40, 50), dtype=np.uint8)
    colour = np.stack([grey] * 3, axis=-1)
    chosen = {'fog_s2': 100 + 9002, 'impulse_noise_s4': 100 + 2004}
    outputs = {
        key: corrupt(colour, key[:-3], int(key[-1]), rng=np.random.RandomState(seed)) for key, seed in chosen.items()
    }
    np.savez(tmp_path / 'inputs.npz', grey=grey)
    np.savez(tmp_path / 'grey.npz', **outputs)
    return tmp_path, outputs


def test_equal_outputs_pass(parity, folder, capsys):
    assert parity.main(folder[0], None, seed_offset=100) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:6] for line in lines[1:]] == [
        ['ok', 'impulse_noise', '1', '6000', '100.0000', '%'],
        ['ok', 'fog', '1', '6000', '100.0000', '%'],
    ]


@pytest.mark.parametrize(('change', 'status'), [(1, 0), (2, 1)])
def test_more_than_one_grey_level_fails(parity, folder, change, status, capsys):
    directory, outputs = folder
    outputs['fog_s2'][3, 4, 1] += change if outputs['fog_s2'][3, 4, 1] < 128 else -change
    np.savez(directory / 'grey.npz', **outputs)
    assert parity.main(directory, None, seed_offset=100) == status
    assert ('FAIL fog' in capsys.readouterr().out) == bool(status)


def test_cases_with_their_own_seed_crop_and_stride(parity, tmp_path, capsys):
    image = np.random.default_rng(0).integers(0, 256, (33, 35, 3), dtype=np.uint8)
    tiled = np.tile(image, (2, 2, 1))[:50, :60]
    output = corrupt(tiled, 'glass_blur', 3, rng=np.random.RandomState(77))
    case = {
        'key': 'tiled',
        'corruption': 'glass_blur',
        'severity': 3,
        'seed': 77,
        'input': {'array': 'image', 'crop': [50, 60], 'tile': True},
        'store': 'stride8',
    }
    constant = {'key': 'flat', 'corruption': 'contrast', 'severity': 5, 'seed': 0, 'store': 'full'}
    constant['input'] = {'constant': 7, 'crop': [40, 40]}
    np.savez(tmp_path / 'inputs.npz', image=image)
    np.savez(tmp_path / 'edge.npz', tiled=output[::8, ::8], flat=np.full((40, 40, 3), 7, np.uint8))
    (tmp_path / 'edge.json').write_text(json.dumps({'cases': [case, constant]}))
    assert parity.main(tmp_path, None, 0) == 0
    assert 'glass_blur               1       168' in capsys.readouterr().out


def test_an_empty_folder_fails(parity, tmp_path):
    with pytest.raises(SystemExit, match='no inputs.npz'):
        parity.main(tmp_path, None, 0)
    np.savez(tmp_path / 'inputs.npz', image=np.zeros((32, 32, 3), np.uint8))
    assert parity.main(tmp_path, None, 0) == 1
