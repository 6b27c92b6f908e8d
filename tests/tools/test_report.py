"""The command that writes reports: what it prints, and what it says to bad input."""

import json

import pytest

from fan_dense.evaluation.protocol import read_protocol
from tests.evaluation.report import examples


@pytest.fixture
def sweep(tmp_path):
    return examples.write(tmp_path / 'sweep', with_records=False, worst=0, images=3).path


def refused(command, *argv):
    code, out, err = command('report', *argv, '--formats', 'csv')
    assert code == 2
    assert out == ''
    assert err.count('\n') == 1
    assert err.startswith('error: ')
    return err


def test_report(command, tmp_path, sweep):
    code, out, err = command('report', sweep, '--formats', 'md', 'html', 'csv', 'json')
    assert code == 0, err
    names = ['report.md', 'conditions.csv', 'means.csv', 'seconds.csv', 'report.json', 'report.html']
    assert out.splitlines()[:6] == [str(sweep / 'report' / name) for name in names]
    assert all((sweep / 'report' / name).stat().st_size > 500 for name in names)
    assert 'report.md exists already: --overwrite' in command('report', sweep)[2]
    assert command('report', sweep, '--formats', 'csv', '--overwrite')[0] == 0


def test_several_models_go_beside_the_first(command, tmp_path, sweep):
    examples.write(tmp_path / 'other', name='other', with_records=False, worst=0, images=3)
    code, out, err = command('report', sweep, tmp_path / 'other', '--formats', 'csv')
    assert code == 0, err
    assert out.splitlines()[0] == str(tmp_path / 'report' / 'conditions.csv')


def test_partial_sweeps_need_to_be_asked_for(command, tmp_path):
    examples.write(tmp_path / 'sweep', missing=('fog 3', 'clean'), with_records=False, worst=0, images=3)
    err = refused(command, tmp_path / 'sweep')
    assert '2 of 6 conditions are missing: clean, fog 3; --partial' in err
    code, out, err = command('report', tmp_path / 'sweep', '--formats', 'md', 'json', 'html', '--partial')
    assert code == 0, err
    assert out.startswith('A · fan_segformer_scenes: PARTIAL: 2 of 6 conditions are missing (clean, fog 3)')
    (model,) = json.loads((tmp_path / 'sweep/report/report.json').read_text())['models']
    figures = model['summary']['metrics']['mIoU']
    assert figures['clean'] is None
    assert figures['rpc'] is None
    assert figures['mpc'] > 0


def test_no_sweep_there(command, tmp_path, sweep):
    assert 'nowhere holds no sweep' in refused(command, tmp_path / 'nowhere')
    (tmp_path / 'report').mkdir()
    (tmp_path / 'report' / 'report.md').write_text('of others')
    assert f'{tmp_path} holds no sweep' in refused(command, tmp_path)
    assert 'a folder is given twice' in refused(command, sweep, f'{sweep}/../sweep')
    assert 'nowhere holds no sweep' in refused(command, sweep, '--reference', tmp_path / 'nowhere')


def test_mixed_protocols(command, tmp_path, sweep):
    part = read_protocol('quick').restricted(['fog', 'snow'])
    other = examples.write(tmp_path / 'other', protocol=part, with_records=False, worst=0, images=3).path
    err = refused(command, sweep, other)
    assert f'{other} has protocol quick (part), {sweep} has quick: models are compared under the same conditions' in err
    file = other / 'sweep.json'
    file.write_text(json.dumps({**json.loads((sweep / 'sweep.json').read_text()), 'image_order': 'rgb'}))
    assert 'has image_order rgb' in refused(command, sweep, other)


def test_another_format(command, sweep):
    file = sweep / 'sweep.json'
    file.write_text(json.dumps({**json.loads(file.read_text()), 'format': 99}))
    assert 'sweep.json has format 99, this version reads 1' in refused(command, sweep)


def test_broken_files(command, sweep):
    (sweep / 'worst' / 'worst.json').write_text('[{"image": "a.png"}]')
    assert "worst.json does not list worst images (KeyError: 'condition'); delete it" in refused(command, sweep)
    (sweep / 'worst' / 'worst.json').write_text('[]')
    (sweep / 'conditions' / 'fog-3-seed0-bgr.json').write_text('{}')
    assert 'fog-3-seed0-bgr.json is not the result of a condition' in refused(command, sweep)


def test_a_reference_that_does_not_compare(command, tmp_path, sweep):
    other = examples.write(tmp_path / 'other', with_records=False, worst=0, images=4).path
    assert 'the reference is not comparable: images differ' in refused(command, sweep, '--reference', other)
    other = examples.write(tmp_path / 'third', kind='detection', with_records=False, worst=0, images=3).path
    assert 'shares no metric' in refused(command, sweep, '--reference', other)


def test_unknown_options(command, sweep):
    code, _, err = command('report', sweep, '--formats', 'pdf')
    assert code == 2
    assert "invalid choice: 'pdf'" in err
    assert "'-1' is not a whole number, 0 or larger" in command('report', sweep, '--resamples', '-1')[2]
