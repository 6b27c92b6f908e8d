"""Bad input ends in one line and exit code 2, through the commands themselves."""

import json
import shutil
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.filterwarnings('ignore::UserWarning')  # of mmseg, about its own code
CONFIGS = Path(__file__).parents[2] / 'configs'


@pytest.fixture
def refused(command):
    """Run a tool that must refuse, and give its one line."""

    def run(*argv):
        code, _, err = command(*argv)
        assert code == 2
        assert err.startswith('error: ')
        assert err.count('\n') == 1
        assert '--traceback' not in err  # an error that we foresaw
        return err

    return run


@pytest.fixture
def copy(data, tmp_path):
    """A copy of the small data set that may be damaged."""
    root = tmp_path / 'copy'
    shutil.copytree(data, root)
    for config in root.glob('*.py'):
        config.write_text(config.read_text().replace(str(data), str(root)))
    return root


@pytest.mark.parametrize('name', ['fan_maskrcnn_coco', 'fan_segformer_cityscapes', 'fan_maskrcnn_coco_c'])
def test_missing_data(refused, name, monkeypatch):
    monkeypatch.delenv('COCO_ROOT', raising=False)
    monkeypatch.delenv('CITYSCAPES_ROOT', raising=False)
    err = refused('train', CONFIGS / f'{name}.py')
    place = 'data/coco' if 'coco' in name else 'data/cityscapes'
    site = 'https://cocodataset.org' if 'coco' in name else 'https://www.cityscapes-dataset.com'
    assert f'data folder {place} ' in err
    assert 'does not exist' in err
    assert site in err


def test_data_elsewhere(refused, monkeypatch, tmp_path):
    monkeypatch.setenv('COCO_ROOT', str(tmp_path / 'mine'))
    checkpoint = tmp_path / 'x.pth'
    checkpoint.touch()
    assert f'{tmp_path}/mine' in refused('test', CONFIGS / 'fan_maskrcnn_coco_c.py', checkpoint)


def test_config_files(refused, tmp_path):
    assert 'config file nothing.py does not exist' in refused('train', 'nothing.py')
    (tmp_path / 'broken.py').write_text('model = dict(')
    assert 'broken.py is not valid Python: line 1' in refused('test', 'broken.py', 'x.pth')


def test_checkpoints(refused, data, trained, tmp_path):
    config = data / 'segmentation.py'
    assert 'checkpoint x.pth does not exist' in refused('test', config, 'x.pth')
    err = refused('test', config, trained['detection'] / 'last.pth')
    assert 'is not of the model in' in err
    assert 'missing (the first is decode_head.' in err
    assert 'give the config that it was trained with' in err
    (tmp_path / 'text.pth').write_text('hello')
    assert 'text.pth' in refused('test', config, 'text.pth')
    torch.save([1, 2], tmp_path / 'list.pth')
    assert 'list.pth holds no weights' in refused('test', config, 'list.pth')


def test_a_checkpoint_of_another_width(refused, data, trained):
    options = ('--cfg-options', 'model.decode_head.channels=24')
    err = refused('test', data / 'segmentation.py', trained['segmentation'] / 'last.pth', *options)
    assert 'of another shape (size mismatch for decode_head.' in err


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['--corruption', 'fogg', '--severity', '3'], "unknown corruption 'fogg'; did you mean fog?"),
        (['--corruption', 'fog', '--severity', '0'], 'severity of fog is 0; it must be a whole number from 1 to 5'),
        (['--corruption', 'fog', '--severity', '6'], 'severity of fog is 6; it must be a whole number from 1 to 5'),
        (['--severity', '3'], 'severity is 3, but no corruption is named'),
        (['--image-order', 'rbg'], "invalid choice: 'rbg'"),
        (['--cfg-options', 'model.decode_head.chanels=3'], "no 'chanels'; did you mean channels"),
        (['--cfg-options', 'model.decode_head.channels'], 'wants KEY=VALUE'),
    ],
)
def test_options(refused, data, trained, options, message):
    assert message in refused('test', data / 'segmentation.py', trained['segmentation'] / 'last.pth', *options)


def test_an_existing_file_is_kept(refused, data, trained, tmp_path):
    (tmp_path / 'mine.json').write_text('mine')
    err = refused('test', data / 'segmentation.py', trained['segmentation'] / 'last.pth', '--out', 'mine.json')
    assert 'mine.json exists already' in err
    assert (tmp_path / 'mine.json').read_text() == 'mine'


def test_an_unknown_arch(refused, data):
    err = refused('train', data / 'segmentation.py', '--cfg-options', 'model.backbone.arch=hybrid-smal')
    assert "unknown FAN arch 'hybrid-smal'" in err
    assert 'hybrid-small' in err


def test_a_model_that_nobody_has_registered(command, data):
    code, _, err = command('train', data / 'segmentation.py', '--cfg-options', 'model.decode_head.type=SegformerHed')
    assert code == 2
    assert "unknown model 'SegformerHed'; did you mean SegformerHead" in err


@pytest.mark.skipif(torch.cuda.is_available(), reason='there is a GPU')
def test_mixed_precision_without_a_gpu(refused, data):
    assert '--amp needs a GPU' in refused('train', data / 'segmentation.py', '--amp')


def test_folders_of_other_runs(refused, data, trained):
    err = refused('train', data / 'segmentation.py', '--work-dir', trained['detection'])
    assert 'holds a run of another config (it differs in ' in err
    assert '--work-dir DIR starts a new one elsewhere' in err
    assert 'nothing to resume' in refused('train', data / 'segmentation.py', '--work-dir', 'new', '--resume')


@pytest.mark.parametrize('workers', [0, 1])
def test_a_truncated_image(refused, copy, trained, workers):
    image = copy / 'images' / 'b' / '1.png'
    image.write_bytes(image.read_bytes()[:2000])
    options = ('--cfg-options', f'test_dataloader.num_workers={workers}')
    err = refused('test', copy / 'segmentation.py', trained['segmentation'] / 'last.pth', *options)
    assert err.startswith(f'error: image {image} is truncated')


@pytest.mark.parametrize('text', ['[1, 2]', '{"images": [', '{"images": [], "categories": []}'])
def test_annotations_that_are_not_coco(refused, copy, text):
    (copy / 'annotations.json').write_text(text)
    assert 'annotations.json is not a COCO annotation file: ' in refused('train', copy / 'detection.py')


def test_annotations_without_some_of_the_classes(refused, copy):
    content = json.loads((copy / 'annotations.json').read_text())
    content['categories'] = content['categories'][:1]
    (copy / 'annotations.json').write_text(json.dumps(content))
    err = refused('train', copy / 'detection.py')
    assert 'annotations.json has categories for 1 of the 2 classes of CocoDataset' in err


def test_images_without_annotations_train_on(command, copy):
    """A batch of two images without a single object."""
    content = json.loads((copy / 'annotations.json').read_text())
    content['annotations'] = [one for one in content['annotations'] if one['image_id'] < 2]
    (copy / 'annotations.json').write_text(json.dumps(content))
    no_validation = ('val_cfg=None', 'val_dataloader=None', 'val_evaluator=None')
    code, out, _ = command('train', copy / 'detection.py', '--cfg-options', *no_validation)
    assert code == 0
    assert '3 iterations' in out
