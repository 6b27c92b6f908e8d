"""Sweeps of small models: resumed, shared out, over ranks, several models at once."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from fan_dense.corruptions import registry
from fan_dense.datasets import transforms
from fan_dense.evaluation import condition, sweep
from tests.conftest import TOOLS
from tests.reference import ROOT

pytestmark = pytest.mark.filterwarnings('ignore::UserWarning')  # of mmseg, about its own code
KINDS = ('detection', 'segmentation')
PART = dict(protocol='common', corruptions=['fog', 'gaussian_noise'], severities=[1, 4])
PART_ARGUMENTS = ('--corruptions', 'fog', 'gaussian_noise', '--severities', '1', '4')
NAMES = ['clean', 'fog-1-seed0-bgr', 'fog-4-seed0-bgr', 'gaussian_noise-1-seed0-bgr', 'gaussian_noise-4-seed0-bgr']


def models(kind, data, trained):
    return [(data / f'{kind}.py', trained[kind] / 'last.pth')]


@pytest.fixture(scope='module')
def whole(data, trained, tmp_path_factory):
    """Folders of uninterrupted sweeps, by kind."""
    folders = {}
    for kind in KINDS:
        folders[kind] = tmp_path_factory.mktemp('whole') / kind
        sweep.benchmark(models=models(kind, data, trained), out=folders[kind], worst_images=1, **PART)
    return folders


def files(folder):
    return sorted(path.stem for path in (folder / 'conditions').iterdir())


@pytest.mark.parametrize('kind', KINDS)
def test_a_sweep_has_every_condition_and_the_figures_of_single_tests(kind, data, trained, whole, tmp_path):
    assert files(whole[kind]) == NAMES
    summary = json.loads((whole[kind] / 'summary.json').read_text())
    alone = condition.evaluate(
        config=data / f'{kind}.py',
        checkpoint=trained[kind] / 'last.pth',
        corruption='fog',
        severity=4,
        out=tmp_path / 'fog.json',
        work_dir=tmp_path,
    )
    for metric, figures in summary['metrics'].items():
        found = figures['by_corruption']['fog']['severities']['4']
        assert (math.nan if found is None else found) == pytest.approx(alone.metrics[metric], abs=0, nan_ok=True)
    assert summary['pixel_digests']['fog 4'] == alone.pixel_digest
    assert len(set(summary['pixel_digests'].values())) == 5
    worst = json.loads((whole[kind] / 'worst' / 'worst.json').read_text())
    assert all((whole[kind] / 'worst' / one[when]).stat().st_size for one in worst for when in ('clean', 'corrupted'))
    phases = json.loads((whole[kind] / 'timing.json').read_text())['conditions']['fog-1-seed0-bgr']
    assert phases['total'] == pytest.approx(sum(phases[name] for name in ('wait', 'network', 'metric', 'other')))
    assert min(phases.values()) >= 0


@pytest.mark.parametrize('kind', KINDS)
def test_what_is_missing_is_run_again_and_nothing_else(kind, data, trained, whole, tmp_path):
    folder = tmp_path / 'sweep'
    shutil.copytree(whole[kind], folder)
    gone = [folder / 'conditions' / f'{name}.json' for name in (NAMES[0], NAMES[3])]
    for file in [*gone, folder / 'summary.json']:
        file.unlink()
    (folder / 'conditions' / '.clean.json.x1').write_text('{"half": ')  # as when the process dies while it writes
    before = {path: path.stat().st_mtime_ns for path in (folder / 'conditions').glob('*.json')}
    with pytest.raises(FileExistsError, match='holds a sweep already: --resume goes on'):
        sweep.benchmark(models=models(kind, data, trained), out=folder, **PART)
    sweep.benchmark(models=models(kind, data, trained), out=folder, resume=True, worst_images=0, **PART)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (folder / 'summary.json').read_bytes() == (whole[kind] / 'summary.json').read_bytes()


def test_another_model_or_setting_is_not_mixed_in(data, trained, whole):
    segmentation = models('segmentation', data, trained)
    resumed = dict(models=segmentation, out=whole['segmentation'], resume=True)
    with pytest.raises(ValueError, match=r'it differs in seed \(0, now 1\)'):
        sweep.benchmark(**resumed, seed=1, **PART)
    with pytest.raises(ValueError, match=r'differs in protocol \(common \(part\), now quick\)'):
        sweep.benchmark(**resumed, protocol='quick')
    with pytest.raises(ValueError, match=r'differs in protocol \(another common \(part\)\)'):
        sweep.benchmark(**resumed, **{**PART, 'severities': [2]})
    with pytest.raises(ValueError, match=r'differs in max_images \(None, now 3\), images \(6, now 3\)'):
        sweep.benchmark(**resumed, max_images=3, **PART)
    with pytest.raises(ValueError, match=r'differs in config \(model.decode_head.dropout_ratio\)'):
        sweep.benchmark(**resumed, cfg_options={'model.decode_head.dropout_ratio': 0.5}, **PART)
    other = whole['segmentation'] / 'other.pth'
    torch.save({'state_dict': torch.load(segmentation[0][1], weights_only=False)['state_dict']}, other)
    with pytest.raises(ValueError, match='differs in checkpoint_digest'):
        sweep.benchmark(**{**resumed, 'models': [(segmentation[0][0], other)]}, **PART)


@pytest.mark.parametrize('kind', KINDS)
def test_batch_size_and_workers_make_no_difference(kind, data, trained, whole, tmp_path):
    options = {'test_dataloader.batch_size': 4}
    sweep.benchmark(
        models=models(kind, data, trained),
        out=tmp_path / 'sweep',
        workers=2,
        worst_images=0,
        cfg_options=options,
        **PART,
    )
    one, other = (json.loads((place / 'summary.json').read_text()) for place in (whole[kind], tmp_path / 'sweep'))
    assert one['pixel_digests'] == other['pixel_digests']
    for metric, figures in one['metrics'].items():
        for name, value in figures['by_corruption'].items():
            assert other['metrics'][metric]['by_corruption'][name]['mean'] == pytest.approx(value['mean'], abs=1e-4)


def test_several_models_see_each_image_once(data, trained, whole, tmp_path, monkeypatch):
    other = tmp_path / 'again.pth'
    shutil.copy(trained['segmentation'] / 'last.pth', other)
    calls = []
    original = transforms.corrupt
    monkeypatch.setattr(
        transforms, 'corrupt', lambda *args, **kwargs: calls.append(args[1]) or original(*args, **kwargs)
    )
    pairs = [*models('segmentation', data, trained), (data / 'segmentation.py', other)]
    result = sweep.benchmark(models=pairs, out=tmp_path / 'both', worst_images=0, **PART)
    assert list(result.folders) == ['segmentation-last', 'segmentation-again']
    assert len(calls) == 4 * 6
    alone = json.loads((whole['segmentation'] / 'summary.json').read_text())
    for folder in result.folders.values():
        assert json.loads((folder / 'summary.json').read_text()) == alone
    with pytest.raises(ValueError, match='have different test data .*: benchmark them one at a time'):
        sweep.benchmark(models=[*models('detection', data, trained), pairs[0]], out=tmp_path / 'mixed', **PART)


def test_trap_a_corruption_without_effect_fails_its_condition_and_keeps_the_others(
    data, trained, tmp_path, monkeypatch
):
    original = transforms.corrupt

    def broken(image, name, *args, **kwargs):
        return image.copy() if name == 'fog' else original(image, name, *args, **kwargs)

    monkeypatch.setattr(transforms, 'corrupt', broken)
    folder = tmp_path / 'sweep'
    options = dict(models=models('segmentation', data, trained), out=folder, worst_images=0, **PART)
    with pytest.raises(ValueError, match='2 conditions failed, the others are kept: fog 1: fog changed no pixel'):
        sweep.benchmark(**options)
    assert files(folder) == [NAMES[0], *NAMES[3:]]
    assert not (folder / 'summary.json').exists()
    monkeypatch.undo()
    assert not sweep.benchmark(**options, resume=True).missing['segmentation']


def test_the_clean_condition_alone_and_a_partial_summary(data, trained, tmp_path, command):
    arguments = [*models('segmentation', data, trained)[0], '--out', 'sweep', *PART_ARGUMENTS, '--worst-images', 0]
    code, out, err = command('benchmark', *arguments, '--clean-only')
    assert (code, err) == (0, '')
    assert out.splitlines() == ['segmentation: 4 conditions have no result yet', 'results in sweep']
    assert files(Path('sweep')) == NAMES[:1]
    code, out, err = command('benchmark', *arguments, '--clean-only', '--resume', '--partial')
    assert code == 0
    assert 'PARTIAL: 4 of 5 conditions are missing' in out


def test_what_was_drawn_or_kept_of_an_unfinished_sweep_is_made_again(data, trained, tmp_path):
    options = dict(models=models('segmentation', data, trained), out=tmp_path / 'sweep', corruptions=['fog', 'snow'])
    options |= dict(severities=[3], max_images=1000, worst_images=2, resamples=20)
    sweep.benchmark(**options, clean_only=True, partial=True)
    sweep.benchmark(**options, resume=True)
    worst, summary = tmp_path / 'sweep' / 'worst' / 'worst.json', tmp_path / 'sweep' / 'summary.json'
    assert len(json.loads(worst.read_text())) == 2
    assert json.loads((tmp_path / 'sweep' / 'sweep.json').read_text())['max_images'] is None  # there are six
    drawn, figures, at = worst.read_text(), summary.read_bytes(), worst.stat().st_mtime_ns
    sweep.benchmark(**options, resume=True)
    assert worst.stat().st_mtime_ns == at
    records = tmp_path / 'sweep' / 'records' / 'fog-3-seed0-bgr.npz'
    records.write_bytes(b'')
    with pytest.raises(ValueError, match='fog-3-seed0-bgr.npz holds no records .*delete it and run the sweep again'):
        sweep.benchmark(**options, resume=True)
    records.unlink()
    worst.write_text('{')
    sweep.benchmark(**options, resume=True)
    assert summary.read_bytes() == figures
    assert worst.read_text() == drawn


@pytest.mark.parametrize('name', ['..', '!!!', 'x' * 300])
def test_the_folder_of_a_protocol_is_below_the_checkpoints(name):
    (folder,) = sweep._folders([('c.py', 'w.pth')], name, None).values()
    assert folder.path.parent == Path('work_dirs/c/benchmark/w')
    assert 0 < len(folder.path.name) < 256
    assert folder.path.name != '..'


def test_bad_seeds_and_places_leave_nothing_behind(data, trained, tmp_path):
    model = models('segmentation', data, trained)
    with pytest.raises(ValueError, match='seed is -1'):
        sweep.benchmark(models=model, seed=-1, out=tmp_path / 'sweep')
    (tmp_path / 'file').write_text('mine')
    with pytest.raises(FileExistsError, match='file is a file, a folder is needed'):
        sweep.benchmark(models=model, out=tmp_path / 'file')
    assert [path.name for path in tmp_path.iterdir()] == ['file']


def test_corruptions_of_the_user(data, trained, tmp_path, command, monkeypatch):
    code = 'from fan_dense.corruptions import register\nregister(\'dusk "1"\')(lambda image, severity: image // 2)\n'
    (tmp_path / 'of_mine.py').write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, '_registered', dict(registry._registered))
    groups = {'light': [{'corruptions': ['dusk "1"'], 'severities': [3]}]}
    (tmp_path / 'mine.json').write_text(json.dumps({'name': 'mine', 'groups': groups}))
    model, options = models('segmentation', data, trained)[0], ('--protocol', 'mine.json', '--out', 'sweep')
    code, _, err = command('benchmark', *model, *options)
    assert code == 2
    assert "unknown corruption 'dusk" in err
    code, _, err = command('benchmark', *model, *options, '--import', 'of_mine')
    assert code == 0, err
    assert command('report', 'sweep', '--formats', 'csv', '--import', 'of_mine')[0] == 0


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((), 'give a CONFIG and its CHECKPOINT, or several as --models'),
        (('missing.py', 'a.pth'), 'config file missing.py does not exist'),
        (('{data}/segmentation.py', 'a.pth'), 'checkpoint a.pth does not exist'),
        (
            ('{data}/segmentation.py', 'a.pth', '--protocol', 'coco'),
            "unknown protocol 'coco'; did you mean coco-c or common?",
        ),
        (
            ('{data}/segmentation.py', 'a.pth', '--corruptions', 'fogg'),
            "no corruption or group 'fogg'; did you mean fog",
        ),
        (('{data}/segmentation.py', 'a.pth', '--severities', '9'), 'has no severity 9, only 1, 2, 3, 4, 5'),
        (('{data}/segmentation.py', 'a.pth', '--shard', '4/3'), "'4/3' is not I/N with I from 1 to N"),
        (('--models', 'a.pth'), "'a.pth' is not CONFIG.py:CHECKPOINT"),
        (('{data}/segmentation.py', 'a.pth', '--max-images', '0'), "'0' is not a whole number, 1 or larger"),
    ],
)
def test_bad_input_is_one_line(arguments, message, data, command):
    code, out, err = command('benchmark', *(one.replace('{data}', str(data)) for one in arguments))
    assert (code, out) == (2, '')
    assert len(err.strip().splitlines()) == 1
    assert message in err


def start(out, kind, data, trained, *arguments, launcher=()):
    """The command in a process of its own."""
    call = [sys.executable, *launcher, str(TOOLS / 'benchmark.py'), *map(str, models(kind, data, trained)[0])]
    call += [*PART_ARGUMENTS, '--worst-images', '1', '--out', str(out), *arguments]
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    return subprocess.Popen(call, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize('kind', KINDS)
def test_two_ranks_give_the_same_bytes(kind, data, trained, whole, tmp_path):
    torchrun = ('-m', 'torch.distributed.run', '--nproc-per-node', '2', '--master-port', str(29600 + KINDS.index(kind)))
    process = start(tmp_path / 'sweep', kind, data, trained, '--launcher', 'pytorch', launcher=torchrun)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert len(re.findall('results in', out)) == 1  # one rank speaks
    assert (tmp_path / 'sweep' / 'summary.json').read_bytes() == (whole[kind] / 'summary.json').read_bytes()


def test_three_jobs_share_a_folder_and_a_killed_one_is_made_up_for(data, trained, whole, tmp_path):
    kind, out = 'segmentation', tmp_path / 'sweep'
    victim = start(out, kind, data, trained, '--shard', '1/3')
    for _ in range(600):
        if out.exists() and (out / 'claims').exists() and any((out / 'claims').iterdir()):
            break
        time.sleep(0.05)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    jobs = [start(out, kind, data, trained, '--shard', f'{number}/3') for number in (2, 3)]
    for job in jobs:
        _, err = job.communicate(timeout=240)
        assert job.returncode == 0, err
    assert files(out) == NAMES
    assert (out / 'summary.json').read_bytes() == (whole[kind] / 'summary.json').read_bytes()
