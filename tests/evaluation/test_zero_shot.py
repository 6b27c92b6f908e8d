import pytest
from mmengine.config import Config

from fan_dense.corruptions import names
from fan_dense.evaluation.zero_shot import LIKE, stated, training_corruptions


def test_trap_a_test_corruption_in_training_is_found_at_any_depth():
    fog = dict(type='Corrupt', corruption='fog', severity=3, seed=None)
    several = dict(type='Corrupt', corruption=('snow', 'frost', 'my_own'), severity=(1, 2), seed=None)
    pipeline = [dict(type='LoadImageFromFile'), dict(type='RandomApply', transforms=[dict(several)]), fog]
    loader = dict(dataset=dict(type='RepeatDataset', times=2, dataset=dict(type='X', pipeline=pipeline)))
    assert training_corruptions(loader) == ['fog', 'frost', 'snow']


def test_augmentations_that_do_the_same_count_and_the_published_recipes_do_not():
    albu = dict(
        type='Albu', transforms=[dict(type='OneOf', transforms=[dict(type='GaussNoise'), dict(type='RandomFog')])]
    )
    assert training_corruptions([albu]) == ['fog', 'gaussian_noise']
    assert training_corruptions([dict(type='mmseg.PhotoMetricDistortion'), dict(type='RandomFlip', prob=0.5)]) == []


@pytest.mark.parametrize('node', [None, [], {}, dict(type='Corrupt', corruption=None)])
def test_nothing_to_find(node):
    assert training_corruptions(node) == []


def test_the_text_of_a_config_gives_its_settings():
    content = dict(
        steps=[dict(type='Corrupt', corruption=['fog', 'snow'], prob=0.5), dict(type='RandomFlip', both=True)],
        hooks=dict(when={'after-2': dict(type='Corrupt', corruption='frost')}, text="it's\n"),
    )
    assert stated(Config(content).pretty_text) == content
    assert training_corruptions(stated(Config(content).pretty_text)) == ['fog', 'frost', 'snow']


@pytest.mark.parametrize('text', ['', '<object at 0x7f>', 'a = \0', 'import os', 'a.b = f(c, [1])'])
def test_other_texts_are_not_run(text):
    assert training_corruptions(stated(text)) == []


def test_the_table_names_corruptions_that_exist():
    assert set(LIKE.values()) <= set(names('all'))
