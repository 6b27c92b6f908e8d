import pytest

from fan_dense.models.arch import ARCHS, resolve_arch

SMALL = dict(embed_dims=24, depth=4, num_heads=4)


def test_published_taps():
    assert resolve_arch('hybrid-tiny').tapped() == (7,)
    assert resolve_arch('hybrid-small').tapped() == (9,)
    assert resolve_arch('hybrid-base').tapped() == (15,)
    assert resolve_arch('hybrid-large').tapped() == (18,)
    assert resolve_arch('vit-small').tapped() == (4, 7, 11)


def test_taps_of_other_depths_keep_the_fractions():
    assert resolve_arch('vit-base').tapped() == (7, 11, 17)
    assert resolve_arch('vit-large').tapped() == (9, 15, 23)
    assert resolve_arch(SMALL).tapped() == (1, 2, 3)


def test_maps():
    assert resolve_arch('hybrid-large').maps() == [(128, 4), (256, 8), (480, 16), (480, 16)]
    assert resolve_arch('hybrid-xlarge').maps() == [(128, 4), (256, 8), (528, 16), (768, 32)]
    assert resolve_arch('vit-tiny').maps() == [(192, 16)] * 4


def test_blocks_change_width():
    blocks = resolve_arch('hybrid-xlarge').blocks()
    assert blocks == [(528, 11)] * 20 + [(768, 16)] * 3


def test_lists_from_a_config_file():
    arch = resolve_arch(dict(embed_dims=[8, 16], depth=[1, 2], num_heads=[2, 4], taps=[0, 1, 2]))
    assert arch.blocks() == [(8, 2), (16, 4), (16, 4)]


def test_unknown_name_lists_the_known_nearest_first():
    with pytest.raises(ValueError, match=r"unknown FAN arch 'hybrid-smal'; known: hybrid-small, ") as error:
        resolve_arch('hybrid-smal')
    assert all(name in str(error.value) for name in ARCHS)
    assert '\n' not in str(error.value)


@pytest.mark.parametrize(
    ('arch', 'message'),
    [
        (dict(SMALL, embed_dim=24), "unknown key 'embed_dim' in FAN arch; known: embed_dims, "),
        (dict(embed_dims=24, depth=4), 'lacks num_heads'),
        (dict(SMALL, num_heads=5), '5 heads do not divide 24 channels'),
        (dict(SMALL, num_heads=0), '0 heads do not divide 24 channels'),
        (dict(SMALL, num_heads=-4), '-4 heads do not divide 24 channels'),
        (dict(SMALL, channel_heads=0), '0 heads do not divide 24 channels'),
        (dict(SMALL, channel_heads=7), '7 heads do not divide 24 channels'),
        (dict(SMALL, stem='resnet'), "'conv' or 'hybrid', not 'resnet'"),
        (dict(SMALL, channel='ecaa'), "unknown channel processing 'ecaa'; known: eca, "),
        (dict(SMALL, channel='mlp', channel_heads=4), "channel='mlp' has no heads, channel_heads is 4"),
        (dict(SMALL, stem='hybrid', stem_dims=(8, 16)), 'stem_depths must be two numbers'),
        (dict(SMALL, stem_dims=(8, 16)), 'stem_dims must be two numbers'),
        (dict(SMALL, depth=(2, 2)), 'equally long'),
        (dict(SMALL, taps=(1, 2)), 'taps must be 3 increasing block indices below 4'),
        (dict(SMALL, taps=(1, 2, 4)), 'taps must be 3'),
        (dict(SMALL, taps=(1, 1, 2)), 'taps must be 3'),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(arch, message):
    with pytest.raises(ValueError, match=message) as error:
        resolve_arch(arch)
    assert '\n' not in str(error.value)
