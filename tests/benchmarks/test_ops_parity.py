import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

from tests.reference import ROOT, reference

SCRIPT = ROOT / 'benchmarks' / 'ops_parity.py'


@pytest.fixture(scope='module')
def parity():
    spec = importlib.util.spec_from_file_location('ops_parity', SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference(parity, capsys):
    """Outputs and gradients of a compiled mmcv 2.1.0 over all its operators that run without a GPU, and more."""
    assert parity.main(reference('mmcv_ops')) == 0, capsys.readouterr().out
    assert '295 of 295 cases agree' in capsys.readouterr().out


OVERLAPS = {
    'id': 'overlaps',
    'target': 'mmcv.ops:bbox_overlaps',
    'args': [{'$t': 'boxes'}, {'$t': 'boxes'}],
    'kwargs': {'mode': 'iou'},
    'outputs': {'$t': 'iou'},
    'compare': 'allclose',
    'atol': {'out.0': 1e-6},
}
LOSS = {
    'id': 'loss',
    'target': 'mmcv.ops:SigmoidFocalLoss',
    'init': {'args': [0.0, 0.5], 'kwargs': {'reduction': 'sum'}},
    'args': [{'$t': 'logits'}, {'$t': 'target'}],
    'kwargs': {},
    'outputs': {'$t': 'loss'},
    'wrt': ['args.0'],
    'grad_outputs': [{'$t': 'one'}],
    'grads': {'args.0': {'$t': 'slope'}},
    'compare': 'allclose',
    'atol': {'out.0': 1e-6, 'grad.args.0': 1e-6},
}
ARRAYS = {
    'boxes': np.array([[0, 0, 2, 2], [1, 0, 3, 2]], np.float32),
    'iou': np.array([[1, 1 / 3], [1 / 3, 1]], np.float32),
    'logits': np.zeros((1, 1), np.float32),
    'target': np.array([0]),
    'loss': np.array(np.log(2) / 2, np.float32),
    'one': np.array(1, np.float32),
    'slope': np.array([[-0.25]], np.float32),
}


def run(parity, capsys, folder, *cases, **arrays):
    (folder / 'mixed.json').write_text(json.dumps({'op': 'mixed', 'arrays': 'mixed.npz', 'cases': cases}))
    np.savez(folder / 'mixed.npz', **{**ARRAYS, **arrays})
    return parity.main(folder), capsys.readouterr().out


def test_agreement(parity, capsys, tmp_path):
    status, report = run(parity, capsys, tmp_path, OVERLAPS, LOSS)
    assert status == 0
    assert '2 of 2 cases agree' in report
    assert 'fan_dense.compat.ops' in report


@pytest.mark.parametrize(
    ('case', 'arrays', 'message'),
    [
        (OVERLAPS, {'iou': ARRAYS['iou'] + 0.25}, 'OUT overlaps: out.0 off by 2.5e-01 (allowed 1.0e-06)'),
        (OVERLAPS, {'iou': ARRAYS['iou'].astype(np.float64)}, 'out.0 off by inf'),
        (OVERLAPS, {'iou': ARRAYS['iou'][0]}, 'out.0 off by inf'),
        (OVERLAPS, {'iou': ARRAYS['iou'] * np.nan}, 'out.0 off by inf'),
        (OVERLAPS | {'compare': 'exact'}, {'iou': ARRAYS['iou'] + 1e-7}, 'out.0 off by'),
        (OVERLAPS | {'outputs': [{'$t': 'iou'}, {'$t': 'iou'}]}, {}, '1 outputs instead of 2'),
        (OVERLAPS | {'kwargs': {'mode': 'other'}}, {}, 'OUT overlaps: raises AssertionError'),
        (LOSS, {'slope': -ARRAYS['slope']}, 'OUT loss: grad.args.0 off by 5.0e-01'),
        (LOSS | {'grads': {'args.0': None}}, {}, 'grad.args.0 off by inf'),
    ],
)
def test_disagreement(parity, capsys, tmp_path, case, arrays, message):
    status, report = run(parity, capsys, tmp_path, case, **arrays)
    assert status == 1
    assert message in report
    assert '0 of 1 cases agree' in report


def test_informational_cases_are_shown_and_do_not_fail(parity, capsys, tmp_path):
    odd = OVERLAPS | {'id': 'odd', 'informational': True}
    raising = {key: odd[key] for key in ('target', 'args', 'kwargs', 'informational')} | {
        'id': 'raising',
        'raises': {'type': 'RuntimeError', 'message': 'no', 'in': 'forward'},
    }
    status, report = run(parity, capsys, tmp_path, LOSS, odd, raising, iou=ARRAYS['iou'] + 1)
    assert status == 0
    assert 'info odd: out.0 off by 1.0e+00' in report
    assert 'info raising: runs; recorded was RuntimeError: no' in report
    assert '1 of 1 cases agree' in report
    assert run(parity, capsys, tmp_path, odd)[0] == 1, 'nothing was checked'


def test_sets_ignore_the_order_of_indices(parity, capsys, tmp_path):
    case = {
        'id': 'ties',
        'target': 'mmcv.ops:nms',
        'args': [{'$t': 'boxes'}, {'$t': 'scores'}, 0.5],
        'kwargs': {},
        'outputs': {'$tuple': [{'$t': 'dets'}, {'$t': 'kept'}]},
        'compare': 'set',
    }
    arrays = {'scores': np.ones(2, np.float32), 'dets': np.ones((2, 5), np.float32), 'kept': np.array([1, 0])}
    assert run(parity, capsys, tmp_path, case, **arrays)[0] == 0
    assert run(parity, capsys, tmp_path, case, **{**arrays, 'kept': np.array([1, 1])})[0] == 1


def test_command_without_files(tmp_path):
    result = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == (
        f'error: {tmp_path} holds no pair of files <op>.json, <op>.npz with recorded calls'
    )
