import hashlib
import json

import numpy as np
import pytest
import torch

from benchmarks import parity, parity_rule
from tests.reference import reference

FILES = [
    'fan/outputs/cls_fan_tiny_8_p4_hybrid_70x90.npz',
    'fan/outputs/cls_fan_tiny_12_p16_224_70x90.npz',
    'fan/outputs/seg_fan_tiny_8_p4_hybrid_64x96.npz',
    'fan/outputs/det_fan_tiny_8_p4_hybrid_70x90.npz',
    'fan/outputs/seg_fan_tiny_8_p4_hybrid_trainmode_b2_64x96.npz',
    'fan/outputs/seg_fan_small_12_p16_224_64x96.npz',
    'fan/outputs/cls_fan_small_12_p16_224_se_attn_64x96.npz',
    'fan/outputs/cls_fan_swin_tiny_patch4_window7_224_224x224.npz',
    'fan/outputs/seg_FANSwinTransformer_tiny_64x96.npz',
    'fan/grads/seg_fan_tiny_8_p4_hybrid_64x96.json',
    'fan/grads/cls_fan_tiny_12_p16_224_64x96.json',
    'fan/grads/cls_fan_swin_tiny_patch4_window7_224_224x224.json',
    'san/outputs/san10_pairwise_128x160.npz',
    'san/outputs/san10_patchwise_128x160.npz',
    'san/outputs/san10_pairwise_trainmode_b2_128x128.npz',
    'san/outputs/san10_patchwise_trainmode_b2_128x128.npz',
    'san/grads/san10_pairwise_128x128.json',
    'san/grads/san10_patchwise_128x128.json',
]


@pytest.mark.parametrize('name', FILES)
def test_networks_agree(name):
    result = parity.check(reference(name))
    assert not result.out, result
    assert result.float64 < result.float32  # or nothing was computed


@pytest.mark.parametrize(
    ('folder', 'count'), [('fan/manifest', 24), ('fan/elementary', 34), ('san/manifest', 6), ('san/ops', 10)]
)
def test_all_manifests_and_modules_agree(folder, count, capsys):
    assert parity.main(reference(folder)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith('ok')]) == count


def spoilt(folder, name: str, change) -> None:
    with np.load(reference('fan', 'elementary', f'{name}.npz')) as arrays:
        stored = dict(arrays)
    change(stored)
    np.savez(folder / f'{name}.npz', **stored)


def test_one_wrong_value_is_found(tmp_path, capsys):
    spoilt(tmp_path, 'token_mixing', lambda stored: stored['out'].__setitem__((1, 2, 3), stored['out'][1, 2, 3] + 1e-3))
    assert parity.main(tmp_path) == 1
    assert 'FAIL token_mixing.npz' in capsys.readouterr().out


def test_an_unknown_tensor_is_not_passed_over(tmp_path, capsys):
    def add(stored):
        stored.update({f'new{part}': stored[f'out{part}'] for part in ('', '__shape', '__k', '__stats')})

    spoilt(tmp_path, 'dwconv', add)
    assert parity.main(tmp_path) == 1
    assert 'nothing to compare with new' in capsys.readouterr().out


def test_what_is_not_covered_is_said(tmp_path, capsys):
    stored = json.loads(reference('san', 'manifest', 'san10_pairwise.json').read_text())
    (tmp_path / 'deeper.json').write_text(json.dumps(dict(stored, layers=[9, 9, 9, 9, 9])))
    (tmp_path / 'other.json').write_text('{}')
    assert parity.main(tmp_path) == 1  # nothing was checked
    assert capsys.readouterr().out.count('not covered') == 3


def test_empty_folder(tmp_path):
    with pytest.raises(SystemExit, match='no .npz or .json files there'):
        parity.main(tmp_path)


def test_samples_and_statistics_are_compared():
    full = torch.arange(24.0).view(2, 3, 4)
    stats = np.array([full.mean(), full.std(correction=0), 0, 23, full.norm()])
    stored = {
        't': full.flatten()[::5].numpy(),
        't__shape': np.array(full.shape),
        't__k': np.array(5),
        't__stats': stats,
    }
    assert parity_rule.difference(full, stored, 't') < 1e-7
    between = full.clone()
    between[0, 0, 1] = 9  # no sample
    assert parity_rule.difference(between, stored, 't') > 1e-3
    with pytest.raises(ValueError, match=r'\(2, 3, 4\)'):
        parity_rule.difference(full[0], stored, 't')
    full[0, 0, 0] = torch.nan
    assert not parity_rule.Result(parity_rule.difference(full, stored, 't'), 0).float64 <= 1
    assert parity_rule.Result(parity_rule.difference(full, stored, 't'), 0).out


def test_weights_follow_the_rule():
    seed = int.from_bytes(hashlib.sha256(b'norm.weight').digest()[:8], 'little')
    a = np.random.Generator(np.random.PCG64(seed)).standard_normal((5,))
    assert parity_rule.weight('norm.weight', (5,)).numpy() == pytest.approx(1 + 0.1 * a)
