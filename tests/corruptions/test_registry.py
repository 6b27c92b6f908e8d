"""Names, subsets, the published parameters, and corruptions that a user adds."""

import json
import re

import numpy as np
import pytest

from fan_dense.corruptions import (
    Corruption,
    apply,
    blur,
    corrupt,
    digital,
    draw,
    names,
    noise,
    register,
    registry,
    weather,
)
from tests.reference import reference

IMAGE = np.arange(48 * 64 * 3, dtype=np.uint8).reshape(48, 64, 3)


@pytest.fixture
def clean_registry(monkeypatch):
    monkeypatch.setattr(registry, '_registered', dict(registry._registered))


def test_subsets_are_the_published_ones():
    assert len(names('common')) == 15
    assert names() == names('common')
    assert names('extra') == ('speckle_noise', 'gaussian_blur', 'spatter', 'saturate')
    assert names('all') == names('common') + names('extra')
    families = [names(family) for family in ('noise', 'blur', 'weather', 'digital')]
    assert sorted(sum(families, ())) == sorted(names('all'))
    assert names('noise') == ('gaussian_noise', 'shot_noise', 'impulse_noise', 'speckle_noise')


def test_unknown_subset_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown subset of corruptions 'rain'.*common, extra, all, noise"):
        names('rain')


@pytest.mark.parametrize(('wrong', 'near'), [('fogg', 'fog'), ('gausian_noise', 'gaussian_noise'), ('jpeg', 'jpeg')])
def test_unknown_name_lists_the_nearest(wrong, near):
    with pytest.raises(ValueError, match=f"unknown corruption '{wrong}'.*{near}"):
        registry.get(wrong)


def test_every_name_has_a_corruption():
    for name in names('all') + names('variants'):
        assert registry.get(name).name == name


def test_parameters_are_the_published_ones():
    published = json.loads((reference('corruptions') / 'parameters.json').read_text())['parameters']
    ours = {
        'gaussian_noise': {'c': noise.GAUSSIAN_SCALE},
        'shot_noise': {'c': noise.SHOT_RATE},
        'impulse_noise': {'c': noise.IMPULSE_SHARE},
        'speckle_noise': {'c': noise.SPECKLE_SCALE},
        'gaussian_blur': {'sigma': blur.GAUSSIAN_SIGMA},
        'glass_blur': dict(zip(('sigma', 'd', 'iterations'), zip(*blur.GLASS))),
        'defocus_blur': dict(zip(('radius', 'alias_sigma'), zip(*blur.DEFOCUS))),
        'motion_blur': {'radius': blur.MOTION_RADIUS, 'sigma': blur.MOTION_SIGMA},
        'zoom_blur': {'arange': [(1, *row) for row in blur.ZOOM]},
        'fog': dict(zip(('c0', 'decay'), zip(*weather.FOG))),
        'frost': dict(zip(('c0', 'c1'), zip(*weather.FROST))),
        'snow': dict(zip(('loc', 'zoom', 'threshold', 'blur_radius', 'blur_sigma', 'm'), zip(*weather.SNOW))),
        'spatter': dict(zip(('loc', 'scale', 'sigma', 'threshold'), zip(*weather.SPATTER))),
        'contrast': {'c': digital.CONTRAST},
        'brightness': {'c': weather.BRIGHTNESS},
        'saturate': dict(zip(('c0', 'c1'), zip(*digital.SATURATE))),
        'jpeg_compression': {'quality': digital.JPEG_QUALITY},
        'pixelate': {'c': digital.PIXELATE},
        'elastic_transform': {'alpha': digital.ELASTIC_ALPHA},
    }
    assert sorted(ours) == sorted(published)
    for name, lists in ours.items():
        for key, values in lists.items():
            np.testing.assert_array_equal(np.array(values), np.array(published[name][key]), err_msg=f'{name} {key}')


def test_a_registered_function_is_a_corruption(clean_registry):
    @register('darker')
    def darker(image, severity):
        return image // (severity + 1)

    np.testing.assert_array_equal(corrupt(IMAGE, 'darker', 2, rng=np.random.default_rng(0)), IMAGE // 3)
    assert names('user') == ('darker',)
    assert 'darker' not in names('all')


def test_a_registered_function_with_rng_replays(clean_registry):
    @register('my_rain')
    def my_rain(image, severity, rng):
        return np.where(rng.random(image.shape[:2])[..., None] < 0.05 * severity, np.uint8(255), image)

    params = draw(IMAGE, 'my_rain', 3, rng=np.random.default_rng(4))
    first, second = (apply(IMAGE, 'my_rain', 3, params) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert 0.1 < np.mean(first != IMAGE) < 0.2
    np.testing.assert_array_equal(corrupt(IMAGE, 'my_rain', 3, rng=np.random.default_rng(4)), first)


def test_a_registered_draw_is_used(clean_registry):
    @register('shifted', draw=lambda image, severity, rng: {'by': int(rng.integers(1, 5))})
    def shifted(image, severity, by):
        return np.roll(image, by, axis=1)

    by = int(np.random.default_rng(0).integers(1, 5))
    np.testing.assert_array_equal(
        corrupt(IMAGE, 'shifted', 1, rng=np.random.default_rng(0)), np.roll(IMAGE, by, axis=1)
    )


@pytest.mark.parametrize('name', ['fog', 'frost_imagecorruptions', '', 'a/b', None])
def test_a_name_that_is_taken_or_no_name_is_refused(name, clean_registry):
    with pytest.raises(ValueError, match=re.escape(repr(name))):
        register(name)


def test_a_corruption_must_return_an_image(clean_registry):
    register('floats')(lambda image, severity: image / 255)
    register('cropped')(lambda image, severity: image[1:])
    for name, got in (('floats', 'float64'), ('cropped', r'\(47, 64, 3\)')):
        with pytest.raises(TypeError, match=f"'{name}' must return a uint8 array of shape .* got .*{got}"):
            corrupt(IMAGE, name, 1, rng=np.random.default_rng(0))


def test_a_corruption_may_be_given_instead_of_its_name():
    negative = Corruption('negative', lambda image, severity: 255 - image)
    np.testing.assert_array_equal(corrupt(IMAGE, negative, 1, rng=np.random.default_rng(0)), 255 - IMAGE)
