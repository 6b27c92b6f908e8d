import pytest

from fan_dense import configuration

CONFIG = """
width = 16
root = 'data/coco'
model = dict(type='A', backbone=dict(arch='small', width=width), heads=[dict(size=1), dict(size=2)])
test_dataloader = dict(dataset=dict(ann_file=f'{root}/val.json', pipeline=[
    dict(type='LoadImageFromFile'), dict(type='Corrupt', corruption='fog', severity=3, seed=0)]))
train_dataloader = dict(dataset=dict(pipeline=[dict(type='Corrupt', corruption='snow', severity=1)]))
corruption = 'fog'
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / 'small.py'
    path.write_text(CONFIG)
    return path


def test_options_are_merged(path):
    config = configuration.load(path, {'model.backbone.arch': 'base', 'model.heads.1.size': 7, '+model.new.key': 1})
    assert config.model.backbone.arch == 'base'
    assert [head['size'] for head in config.model.heads] == [1, 7]
    assert config.model.new.key == 1


def test_keys_that_the_runner_reads_need_not_be_there(path):
    config = configuration.load(path, {'load_from': 'x.pth', 'randomness.seed': 3})
    assert config.load_from == 'x.pth'
    assert config.randomness.seed == 3


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (
            {'model.backbone.arhc': 1},
            r"model.backbone of the config has no 'arhc'; did you mean arch\?; to add a new key",
        ),
        ({'modle.backbone': 1}, r"the config has no 'modle'; did you mean model"),
        ({'model.backbone.arch.x': 1}, r"model.backbone.arch of the config has no 'x'; it is a single value"),
        ({'model.heads.2.size': 1}, r"model.heads has entries 0 to 1, not '2'"),
        ({'model.heads.size': 1}, r"model.heads has entries 0 to 1, not 'size'"),
        ({'width': 1}, r"variable 'width' is used up .* change what it went into: model.backbone.width$"),
        ({'root': 'd'}, r"variable 'root' is used up .*: test_dataloader.dataset.ann_file$"),
        ({'corruption': 'snow'}, r"variable 'corruption' is used up .* test_dataloader.dataset.pipeline.1.corruption"),
        ({'severity': 1}, r"the config has no 'severity'"),
    ],
)
def test_options_without_effect_are_refused(path, options, message):
    with pytest.raises(ValueError, match=message):
        configuration.load(path, options)


def test_a_missing_file_gets_the_nearest_name(path):
    with pytest.raises(FileNotFoundError, match=r'config file .*smal.py does not exist; did you mean small.py\?'):
        configuration.load(path.with_name('smal.py'))
    with pytest.raises(FileNotFoundError, match='does not exist$'):
        configuration.load(path.parent / 'nowhere' / 'small.py')


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('model = dict(\n\nx = 1', r'broken.py is not valid Python: line \d: .*'),
        ('model = dict(a=b)', "could not be read: NameError: name 'b' is not defined"),
        ("_base_ = './nothing.py'", 'could not be read: FileNotFoundError: .*nothing.py'),
        ('x = 1', 'has no model: is it one of the files under _base_'),
    ],
)
def test_what_is_no_config_is_said_in_one_line(tmp_path, text, message):
    path = tmp_path / 'broken.py'
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        configuration.load(path)
    assert '\n' not in str(caught.value)


def test_flatten_and_differences():
    one = configuration.flatten(dict(a=[dict(b=1), 2], c={}, d=dict(e='x')))
    assert one == {'a.0.b': 1, 'a.1': 2, 'c': {}, 'd.e': 'x'}
    other = {**one, 'a.1': 3, 'f': 0}
    del other['d.e']
    assert configuration.differences(one, other) == ['a.1', 'd.e', 'f']
    assert configuration.differences(one, dict(one)) == []


def test_what_a_command_needs_is_named(path):
    config = configuration.load(path, {'train_dataloader': None})
    configuration.require(config, 'model', 'test_dataloader')
    with pytest.raises(ValueError, match=r'small.py has no train_dataloader, train_cfg$'):
        configuration.require(config, 'train_dataloader', 'train_cfg')
