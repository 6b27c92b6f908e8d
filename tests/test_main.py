"""``python -m fan_dense`` runs scripts, mmdet's own tools too, as python itself does but with the operators of mmcv."""

import json
import os
import subprocess
import sys
from pathlib import Path

import mmdet
import numpy as np
import pytest
from mmengine.config import Config
from PIL import Image

SCRIPT = """
import json, sys
import helper
print(json.dumps([__name__, __file__, sys.argv, sys.path[:2], helper.__file__]))
if __name__ == '__main__':
    sys.exit(int(sys.argv[1]))
"""

SPAWN = """
import mmcv.ops
from torch.utils.data import DataLoader

class Operators:
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return mmcv.ops.get_compiler_version()

if __name__ == '__main__':
    for _ in DataLoader(Operators(), num_workers=1, multiprocessing_context='spawn'):
        print('worker has mmcv.ops')
"""


def python(*args, cwd, status=0):
    environment = os.environ | {'OMP_NUM_THREADS': '1', 'CUDA_VISIBLE_DEVICES': ''}
    run = subprocess.run(
        [sys.executable, *map(str, args)], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == status, run.stderr
    return run


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'scripts').mkdir()
    (tmp_path / 'scripts' / 'script.py').write_text(SCRIPT)
    (tmp_path / 'scripts' / 'helper.py').touch()
    return tmp_path


@pytest.mark.parametrize('command', [('scripts/script.py',), ('-m', 'scripts.script')], ids=['script', 'module'])
@pytest.mark.parametrize('options', [(), ('-P',)], ids=['', 'safe path'])
def test_as_python_does(folder, command, options):
    if options and sys.version_info < (3, 11):
        pytest.skip('python -P is of 3.11')
    (folder / 'helper.py').touch()  # what a module finds, which has the working folder on its path
    status = 1 if options else 3  # with -P neither finds the helper, nor the module itself
    plain = python(*options, *command, 3, '--flag', 'a b', cwd=folder, status=status)
    missing = 2 if options and command[0] == '-m' else status
    ours = python(*options, '-m', 'fan_dense', *command, 3, '--flag', 'a b', cwd=folder, status=missing)
    # but for the program's name: runpy makes that absolute
    assert ours.stdout.replace(f'["{folder}/', '["') == plain.stdout.replace(f'["{folder}/', '["')
    if not options:
        assert json.loads(ours.stdout)[2][1:] == ['3', '--flag', 'a b']


def test_workers_that_are_spawned(tmp_path):
    (tmp_path / 'spawn.py').write_text(SPAWN)
    run = python('-m', 'fan_dense', 'spawn.py', cwd=tmp_path)
    assert run.stdout.count('worker has mmcv.ops') == 2


@pytest.mark.parametrize(
    ('args', 'line'),
    [
        (['absent.py'], 'python -m fan_dense: no script at absent.py'),
        (['-m', 'absent'], 'python -m fan_dense: no module named absent'),
        (['-m', 'absent.module'], 'python -m fan_dense: no module named absent.module'),
    ],
)
def test_not_there(tmp_path, args, line):
    assert python('-m', 'fan_dense', *args, cwd=tmp_path, status=2).stderr == f'{line}\n'


@pytest.mark.parametrize('args', [[], ['-m'], ['--unknown', 'script.py']])
def test_usage(tmp_path, args):
    run = python('-m', 'fan_dense', *args, cwd=tmp_path, status=2)
    assert run.stderr.startswith('usage: python -m fan_dense SCRIPT')
    assert python('-m', 'fan_dense', '--help', cwd=tmp_path).stdout == run.stderr


@pytest.fixture
def detection_config(tmp_path):
    """mmdet's stock RetinaNet, with ResNet-18 from scratch, on two pictures of a rectangle."""
    coco = {'images': [], 'annotations': [], 'categories': [{'id': 1, 'name': 'box'}]}
    for number in (1, 2):
        x, y, w, h = box = [8 * number, 10, 30, 20]
        pixels = np.zeros((64, 64, 3), np.uint8)
        pixels[y : y + h, x : x + w] = 255
        Image.fromarray(pixels).save(tmp_path / f'{number}.png')
        coco['images'].append({'id': number, 'file_name': f'{number}.png', 'height': 64, 'width': 64})
        annotation = {'id': number, 'image_id': number, 'category_id': 1, 'bbox': box, 'area': w * h, 'iscrowd': 0}
        coco['annotations'].append(annotation)
    (tmp_path / 'boxes.json').write_text(json.dumps(coco))

    stock = Path(mmdet.__file__).parent / '.mim' / 'configs' / 'retinanet' / 'retinanet_r18_fpn_1x_coco.py'
    config = Config.fromfile(stock)
    config.model.backbone.init_cfg = None
    config.model.bbox_head.num_classes = 1
    config.model.test_cfg.score_thr = 0  # so that there are detections to evaluate
    for name in ('train', 'val', 'test'):
        loader = config[f'{name}_dataloader']
        loader.update(num_workers=0, persistent_workers=False)
        loader.dataset.update(
            data_root=f'{tmp_path}/', ann_file='boxes.json', data_prefix={'img': ''}, metainfo={'classes': ('box',)}
        )
        next(step for step in loader.dataset.pipeline if step.type == 'Resize').scale = (64, 64)
        config[f'{name}_evaluator' if name != 'train' else 'val_evaluator'].ann_file = str(tmp_path / 'boxes.json')
    config.train_cfg.max_epochs = 1
    config.dump(tmp_path / 'config.py')
    return tmp_path / 'config.py'


def test_the_tools_of_mmdet(tmp_path, detection_config):
    tools = Path(mmdet.__file__).parent / '.mim' / 'tools'
    python('-m', 'fan_dense', tools / 'train.py', detection_config, '--work-dir', tmp_path / 'work', cwd=tmp_path)
    checkpoint = tmp_path / 'work' / 'epoch_1.pth'
    assert checkpoint.exists()
    tested = python('-m', 'fan_dense', tools / 'test.py', detection_config, checkpoint, cwd=tmp_path)
    assert 'coco/bbox_mAP' in tested.stdout
