import pickle

import numpy as np
import pytest
from mmcv.transforms import TRANSFORMS
from torch.utils.data import DataLoader, Dataset

import fan_dense  # noqa: F401
from fan_dense.corruptions import corrupt, digest, seed_for
from fan_dense.datasets.transforms import Corrupt, image_key


def picture(seed=0, size=(40, 56)):
    return np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)


def results(image=None, path='/data/val/a/1.png'):
    return dict(img=picture() if image is None else image, img_path=path)


@pytest.mark.parametrize('scope', ['mmengine', 'mmdet', 'mmseg'])
def test_it_is_what_configs_find_in_every_package(scope):
    """mmdet has another transform of that name."""
    from mmengine.registry import DefaultScope

    with DefaultScope.overwrite_default_scope(scope):
        step = TRANSFORMS.build(dict(type='Corrupt', corruption='fog', severity=3, seed=0, image_order='bgr'))
    assert type(step) is Corrupt


@pytest.mark.parametrize('name', ['gaussian_noise', 'fog', 'snow', 'jpeg_compression'])
def test_pixels_are_those_of_the_engine_for_the_image_key(name):
    out = Corrupt(name, 3, seed=5, prefix='/data/val')(results())
    expected = corrupt(picture(), name, 3, rng=seed_for(5, 'a/1.png', name, 3))
    np.testing.assert_array_equal(out['img'], expected)


def test_rgb_turns_the_image_before_and_back_after():
    out = Corrupt('snow', 2, seed=1, image_order='rgb')(results())
    turned = np.ascontiguousarray(picture()[..., ::-1])
    expected = corrupt(turned, 'snow', 2, rng=seed_for(1, '1.png', 'snow', 2))[..., ::-1]
    np.testing.assert_array_equal(out['img'], expected)
    # spatter is water of one colour: the order shows
    orders = [Corrupt('spatter', 4, seed=1, image_order=order)(results())['img'] for order in ('bgr', 'rgb')]
    assert (orders[0] != orders[1]).any()


def test_the_folder_of_the_data_set_and_what_ran_before_do_not_matter():
    here, there = (Corrupt('shot_noise', 1, prefix=folder) for folder in ('/data/val', 'elsewhere'))
    first = here(results())['img']
    here(results(picture(1), '/data/val/b/2.png'))
    np.testing.assert_array_equal(here(results())['img'], first)
    np.testing.assert_array_equal(there(results(path='elsewhere/a/1.png'))['img'], first)


@pytest.mark.parametrize(
    'change', [dict(seed=1), dict(severity=2), dict(prefix='/data/val/a'), dict(corruption='speckle_noise')]
)
def test_each_part_of_the_identity_matters(change):
    base = dict(corruption='gaussian_noise', severity=1, seed=0, prefix='/data/val')
    one, other = (Corrupt(**arguments)(results())['img'] for arguments in (base, {**base, **change}))
    assert (one != other).any()


def test_the_record_tells_clean_from_corrupted():
    image = picture()
    out = Corrupt('contrast', 4, seed=3, image_order='rgb', prefix='/data/val')(results(image.copy()))
    assert out['corruption'] == dict(
        key='a/1.png',
        corruption='contrast',
        severity=4,
        seed=3,
        image_order='rgb',
        clean=digest(image),
        seen=digest(out['img']),
    )
    assert digest(image) != digest(out['img'])
    flat = np.full((40, 40, 3), 90, np.uint8)  # has no contrast to lose
    out = Corrupt('contrast', 4)(results(flat))
    assert out['corruption']['seen'] == out['corruption']['clean']


def test_no_corruption_leaves_the_image_and_records_it():
    image = picture()
    out = Corrupt(None)(results(image))
    assert out['img'] is image
    assert out['corruption']['corruption'] is None
    assert out['corruption']['clean'] == out['corruption']['seen'] == digest(image)


def test_the_digest_depends_on_shape_and_not_on_memory_layout():
    image = picture()
    assert digest(image) == digest(np.asfortranarray(image))
    assert digest(image) != digest(image.reshape(56, 40, 3))


def test_training_draws_anew_from_the_names_and_severities():
    step = Corrupt(['fog', 'contrast'], [1, 3], seed=None, prob=0.6)
    np.random.seed(0)  # noqa: NPY002
    drawn = [step(results())['corruption'] for _ in range(200)]
    kinds = {(one['corruption'], one['severity']) for one in drawn}
    assert kinds == {(None, None), *((name, level) for name in ('fog', 'contrast') for level in (1, 3))}
    share = np.mean([one['corruption'] is not None for one in drawn])
    assert abs(share - 0.6) < 4 * np.sqrt(0.6 * 0.4 / 200)  # four standard deviations of a binomial share
    assert len({one['seen'] for one in drawn if one['corruption'] == 'fog' and one['severity'] == 1}) > 10
    np.random.seed(0)  # noqa: NPY002
    assert [step(results())['corruption'] for _ in range(5)] == drawn[:5]


class Pictures(Dataset):
    def __init__(self):
        self.step = Corrupt('gaussian_noise', 3, prefix='/data/val')

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return self.step(results(picture(index), f'/data/val/{index}.png'))['corruption']['seen']


@pytest.mark.parametrize('method', ['fork', 'spawn'])
def test_workers_give_the_pixels_of_the_main_process(method):
    data = Pictures()
    loader = DataLoader(data, batch_size=2, num_workers=2, multiprocessing_context=method)
    assert [one for batch in loader for one in batch] == [data[index] for index in range(len(data))]


def test_it_can_be_sent_to_another_process():
    step = Corrupt('fog', 2, seed=7)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(step))(results())['img'], step(results())['img'])


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (dict(corruption='fogg', severity=3), "unknown corruption 'fogg'; did you mean fog"),
        (dict(corruption='fog'), 'severity of fog is None; it must be a whole number from 1 to 5'),
        (dict(corruption='fog', severity=0), 'severity of fog is 0'),
        (dict(corruption='fog', severity=6), 'severity of fog is 6'),
        (dict(corruption='fog', severity='3'), "severity of fog is '3'"),
        (dict(corruption='fog', severity=True), 'severity of fog is True'),
        (dict(corruption=None, severity=3), 'severity is 3, but no corruption is named'),
        (dict(corruption='fog', severity=3, image_order='gbr'), "image_order is 'gbr'; it must be one of 'bgr', 'rgb'"),
        (dict(corruption=['fog', 'snow'], severity=3), 'to draw from several in training say seed=None'),
        (dict(corruption='fog', severity=3, prob=0.5), 'say seed=None'),
        (dict(corruption=[], severity=3, seed=None), 'needs one corruption'),
        (dict(corruption='fog', severity=3, seed=None, prob=1.5), 'prob of Corrupt is 1.5'),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Corrupt(**arguments)


def test_wrong_images_are_named():
    with pytest.raises(ValueError, match='needs the decoded 8-bit image, got float32'):
        Corrupt('fog', 3)(results(picture().astype(np.float32)))
    with pytest.raises(ValueError, match="does not lie below prefix '/other'"):
        Corrupt('fog', 3, prefix='/other')(results())


def test_image_keys():
    assert image_key('data/val/bonn/x.png', 'data/val/') == 'bonn/x.png'
    assert image_key('data/val/bonn/x.png', None) == 'x.png'
