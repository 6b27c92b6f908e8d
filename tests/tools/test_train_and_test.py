"""Train and test small models with the functions behind the commands; a few times with the commands themselves."""

import hashlib
import json
import math
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from fan_dense import configuration
from fan_dense.corruptions import digest
from fan_dense.datasets import transforms
from fan_dense.evaluation import condition
from fan_dense.evaluation.guard import SilentlyClean
from fan_dense.evaluation.result import Condition
from fan_dense.training import train, zero_shot_warnings
from tests.conftest import TOOLS

pytestmark = pytest.mark.filterwarnings('ignore::UserWarning')  # of mmseg, about its own code
KINDS = ('detection', 'segmentation')
MAIN = {'detection': 'bbox_mAP', 'segmentation': 'mIoU'}


@pytest.mark.parametrize('kind', KINDS)
def test_a_condition_from_the_command_line_to_the_file(kind, data, trained, command):
    arguments = (data / f'{kind}.py', trained[kind] / 'last.pth', '--work-dir', 'work')
    fog = ('--corruption', 'fog', '--severity', 3, '--seed', 7, '--image-order', 'rgb')
    code, out, err = command('test', *arguments, *fog, '--show-dir', 'pictures')
    assert (code, err) == (0, '')
    result = json.loads(Path('work/test/last/fog-3-seed7-rgb.json').read_text())
    assert result['condition'] == dict(corruption='fog', severity=3, seed=7, image_order='rgb')
    assert result['images'] == 6
    assert MAIN[kind] in result['metrics']
    assert 0 <= result['metrics'][MAIN[kind]] <= 1
    assert set(result['per_class']) == ({'bbox_mAP', 'segm_mAP'} if kind == 'detection' else {'IoU', 'Acc'})
    assert {'torch', 'mmengine', 'numpy'} <= set(result['versions'])
    assert out.splitlines()[0] == 'fog 3, seed 7, rgb'
    # one picture an image: two enlarged panels under two strips of text
    folder = Path('pictures/fog-3-seed7-rgb')
    pictures = sorted(path.relative_to(folder).as_posix() for path in Path('pictures').rglob('*.png'))
    assert pictures == ['a/0.png', 'a/1.png', 'a/2.png', 'b/0.png', 'b/1.png', 'b/2.png']
    assert cv2.imread(str(folder / 'a/0.png')).shape[1] == 2 * 5 * 112 + 4

    code, out, err = command('test', *arguments, *fog)
    assert code == 2
    assert 'work/test/last/fog-3-seed7-rgb.json exists already: --overwrite' in err
    assert not list(Path('work').glob('*.py'))  # the run's own folder stays as training left it


def test_conditions_do_not_depend_on_what_ran_before(data, trained, tmp_path):
    config = configuration.load(data / 'segmentation.py', {'work_dir': str(tmp_path)})
    subject = condition.prepare(config, trained['segmentation'] / 'last.pth')
    noise = Condition(corruption='gaussian_noise', severity=5, seed=1)
    one, clean, again = (condition.run(subject, each) for each in (noise, Condition(), noise))
    assert again.pixel_digest == one.pixel_digest != clean.pixel_digest
    assert again.metrics == pytest.approx(one.metrics, abs=0, nan_ok=True)
    assert clean.condition.corruption is None
    # the digest is that of the files, not only of what ran
    images = sorted((data / 'images').rglob('*.png'))
    lines = [f'{path.relative_to(data / "images")} {digest(cv2.imread(str(path)))}\n' for path in images]
    assert clean.pixel_digest == hashlib.sha256(''.join(lines).encode()).hexdigest()[:32]


def test_a_corruption_that_changes_nothing_fails_the_run(data, trained, tmp_path, monkeypatch):
    monkeypatch.setattr(transforms, 'corrupt', lambda image, *args, **kwargs: image.copy())
    out = tmp_path / 'out.json'
    with pytest.raises(SilentlyClean, match='fog changed no pixel in any of the 6 images'):
        condition.evaluate(
            config=data / 'segmentation.py',
            checkpoint=trained['segmentation'] / 'last.pth',
            corruption='fog',
            severity=1,
            work_dir=tmp_path,
            out=out,
        )
    assert not out.exists()


def test_a_corruption_in_the_config_is_guarded_in_any_tool(data, trained, tmp_path):
    """Through mmengine's own Runner, as mmdet's and mmseg's tools use it."""
    from mmengine.config import Config
    from mmengine.runner import Runner

    config = Config.fromfile(data / 'detection.py')
    steps = config.test_dataloader.dataset.pipeline
    kept = ('img_id', 'img_path', 'ori_shape', 'img_shape', 'scale_factor')
    steps.insert(1, dict(type='Corrupt', corruption='fog', severity=2))
    steps[-1].meta_keys = (*kept, 'corruption')
    config.custom_hooks = [dict(type='PixelGuard')]
    config.work_dir = str(tmp_path)
    config.load_from = str(trained['detection'] / 'last.pth')
    Runner.from_cfg(config).test()
    steps[1].update(corruption=None, severity=None)
    Runner.from_cfg(config).test()
    steps[-1].meta_keys = kept
    with pytest.raises(SilentlyClean, match='0 of 6 images carry a record'):
        Runner.from_cfg(config).test()


def test_the_config_states_the_condition_and_the_caller_changes_it(data):
    from mmengine.config import Config

    config = Config.fromfile(data / 'segmentation.py')
    assert condition.requested(config) == Condition()
    assert condition.requested(config, 'fog') == Condition(corruption='fog', severity=3)
    assert condition.requested(config, 'fog') == Condition(corruption='fog', severity=3)
    step = dict(type='Corrupt', corruption='snow', severity=2, seed=3, image_order='rgb')
    config.test_dataloader.dataset.pipeline.insert(1, step)
    stated = Condition(corruption='snow', severity=2, seed=3, image_order='rgb')
    assert condition.requested(config) == stated
    assert condition.requested(config, severity=5).severity == 5
    assert condition.requested(config, 'fog', seed=0) == Condition(
        corruption='fog', severity=2, seed=0, image_order='rgb'
    )
    assert condition.requested(config, 'clean') == Condition()


def test_training_leaves_a_result_and_can_be_resumed(data, tmp_path):
    config, folder = data / 'segmentation.py', tmp_path / 'run'
    first = train(config=config, work_dir=folder)
    assert first.iterations == 2
    assert set(first.metrics) == {'aAcc', 'mIoU', 'mAcc'}
    assert 0 <= first.metrics['mIoU'] <= 1  # a fraction, as tools/test.py gives it
    assert json.loads((folder / 'result.json').read_text())['checkpoint'] == first.checkpoint
    tested = condition.evaluate(config=config, checkpoint=first.checkpoint, work_dir=folder)
    assert tested.metrics == pytest.approx(first.metrics)

    with pytest.raises(FileExistsError, match='holds a run of this config: .* --resume goes on'):
        train(config=config, work_dir=folder)
    with pytest.raises(FileExistsError, match=r'run of another config \(it differs in train_cfg.max_iters\)'):
        train(config=config, work_dir=folder, cfg_options={'train_cfg.max_iters': 3})
    moved = folder.rename(tmp_path / 'moved')
    more = train(config=config, work_dir=moved, cfg_options={'train_cfg.max_iters': 3}, resume=True)
    assert more.iterations == 3
    # each run's curves are in its own folder, although both ran in this process
    assert len(list(moved.rglob('scalars.json'))) == 2
    assert more.checkpoint == str(moved / 'iter_3.pth')


def test_a_folder_of_unknown_checkpoints_is_kept(data, tmp_path):
    (tmp_path / 'epoch_1.pth').touch()
    with pytest.raises(FileExistsError, match='holds checkpoints of another run'):
        train(config=data / 'segmentation.py', work_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match='nothing to resume: .* holds no checkpoint'):
        train(config=data / 'segmentation.py', work_dir=tmp_path, resume=True)


def test_a_test_corruption_in_training_is_named(data):
    from mmengine.config import Config

    config = Config.fromfile(data / 'segmentation.py')
    assert zero_shot_warnings(config) == []
    steps = config.train_dataloader.dataset.pipeline
    steps.insert(1, dict(type='Corrupt', corruption=['snow', 'fog'], severity=[1, 2], seed=None))
    (line,) = zero_shot_warnings(config)
    assert line.startswith('the training pipeline contains fog, snow, which the benchmarks test with')


def test_two_commands_in_processes_of_their_own(data, tmp_path):
    def run(tool, *argv):
        call = [sys.executable, str(TOOLS / f'{tool}.py'), *map(str, argv)]
        return subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=True)

    options = ('val_cfg=None', 'val_dataloader=None', 'val_evaluator=None', 'train_cfg.max_epochs=1')
    shown = run('train', data / 'detection.py', '--cfg-options', *options).stdout
    assert 'last checkpoint' in shown.splitlines()[-1]
    assert 'System environment' not in shown  # stays in the log file
    assert 'System environment' in next((tmp_path / 'work_dirs' / 'detection').rglob('*.log')).read_text()
    shown = run('test', data / 'detection.py', 'work_dirs/detection/epoch_1.pth')
    assert shown.stdout.splitlines()[0] == 'clean'
    assert shown.stderr == ''
    result = json.loads((tmp_path / 'work_dirs/detection/test/epoch_1/clean.json').read_text())
    assert math.isfinite(result['metrics']['segm_mAP'])
    assert np.isfinite(result['seconds'])
