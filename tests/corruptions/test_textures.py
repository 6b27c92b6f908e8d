"""Frost: our textures, those of the package imagecorruptions, and a folder of one's own."""

import importlib.machinery

import cv2
import numpy as np
import pytest
from PIL import Image

from fan_dense.corruptions import apply, corrupt, draw, names, textures
from fan_dense.corruptions.weather import FROST, frost
from tests.corruptions.test_engine import picture

RNG = np.random.default_rng(0)

# mean and standard deviation of the grey values of the published five (frost2 and frost3 are one picture)
PUBLISHED = ((129.6, 18.4), (205.0, 21.9), (205.0, 21.9), (149.7, 28.6), (121.4, 43.4))


@pytest.fixture
def folder(tmp_path):
    """Five textures of different sizes, png and jpg."""
    for index, (height, width) in enumerate(((40, 50), (20, 90), (90, 20), (200, 300), (64, 64)), start=1):
        pixels = Image.fromarray(RNG.integers(0, 256, (height, width, 3), dtype=np.uint8))
        pixels.save(tmp_path / f'frost{index}.{"png" if index % 2 else "jpg"}')
    return tmp_path


@pytest.mark.parametrize('index', range(5))
def test_our_textures_have_the_tone_of_the_published_ones(index):
    grey = textures.texture('fan_dense', index) @ [0.299, 0.587, 0.114]
    assert min(grey.shape) >= 315
    mean, deviation = PUBLISHED[index]
    assert abs(grey.mean() - mean) < 2
    assert abs(grey.std() - deviation) < 2


@pytest.mark.parametrize('severity', range(1, 6))
def test_frost_is_a_weighted_sum_with_a_crop_of_an_enlarged_texture(folder, severity):
    image = picture(70, 100)
    corruption = frost(str(folder))
    for seed in range(8):
        params = draw(image, corruption, severity, rng=np.random.default_rng(seed))
        texture = textures.texture(str(folder), params['index'])
        scale = max(1, 70 / texture.shape[0], 100 / texture.shape[1]) * 1.1
        size = [int(np.ceil(side * scale)) for side in texture.shape[:2]]
        large = cv2.resize(texture, size[::-1], interpolation=cv2.INTER_CUBIC)
        crop = large[params['top'] : params['top'] + 70, params['left'] : params['left'] + 100]
        expected = np.clip(FROST[severity - 1][0] * image + FROST[severity - 1][1] * crop, 0, 255).astype(int)
        assert np.abs(apply(image, corruption, severity, params) - expected).max() <= 1


def test_an_installed_imagecorruptions_lends_its_textures(folder, monkeypatch):
    package = folder / 'imagecorruptions'
    (package / 'frost').mkdir(parents=True)
    for file in folder.glob('frost*.*'):
        file.rename(package / 'frost' / file.name)
    spec = importlib.machinery.ModuleSpec('imagecorruptions', None, origin=str(package / '__init__.py'))
    monkeypatch.setattr(textures.importlib.util, 'find_spec', lambda name: spec if name == 'imagecorruptions' else None)
    textures.texture.cache_clear()
    image = picture(40, 40)
    lent = corrupt(image, 'frost_imagecorruptions', 3, rng=np.random.RandomState(1))
    np.testing.assert_array_equal(lent, corrupt(image, frost(str(package / 'frost')), 3, rng=np.random.RandomState(1)))
    assert np.any(lent != corrupt(image, 'frost', 3, rng=np.random.RandomState(1)))
    textures.texture.cache_clear()


def test_missing_textures_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(textures.importlib.util, 'find_spec', lambda name: None)
    textures.texture.cache_clear()
    for corruption, message in (
        ('frost_imagecorruptions', 'imagecorruptions, which is not installed: pip install'),
        (frost(str(tmp_path / 'nowhere')), 'no folder of frost textures at .*nowhere'),
        (frost(str(tmp_path)), 'no frost texture frost[1-5].png or frost[1-5].jpg in'),
    ):
        with pytest.raises(FileNotFoundError, match=message):
            corrupt(picture(40, 40), corruption, 3, rng=np.random.default_rng(0))


def test_the_variant_is_no_part_of_all():
    assert names('variants') == ('frost_imagecorruptions',)
    assert 'frost_imagecorruptions' not in names('all')
