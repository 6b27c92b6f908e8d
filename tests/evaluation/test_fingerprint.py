import cv2
import numpy as np
import pytest
from mmengine.dataset import BaseDataset, ConcatDataset

import fan_dense  # noqa: F401
from fan_dense.evaluation.fingerprint import fingerprint


class Folder(BaseDataset):
    METAINFO = dict(classes=('a',))

    def load_data_list(self):
        root = self.data_prefix['img_path']
        boxes = [dict(bbox=[0, 0, 4, 4], bbox_label=0)]
        return [dict(img_path=f'{root}/{i}.png', seg_map_path=f'{root}/l{i}.png', instances=boxes) for i in range(2)]


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / 'data'
    folder.mkdir()
    for index in range(2):
        image = np.random.default_rng(index).integers(0, 256, (20, 30, 3), dtype=np.uint8)
        cv2.imwrite(str(folder / f'{index}.png'), image)
        cv2.imwrite(str(folder / f'l{index}.png'), image[..., 0])
    return folder


def build(root):
    return Folder(data_root=str(root), data_prefix=dict(img_path=''), pipeline=[])


def test_it_does_not_depend_on_where_the_data_lie(root):
    before = fingerprint(build(root))
    assert fingerprint(build(root.rename(root.parent / 'moved'))) == before


def test_images_and_truth_are_told_apart(root):
    before = fingerprint(build(root))
    label = cv2.imread(str(root / 'l1.png'), cv2.IMREAD_GRAYSCALE)
    label[0, 0] ^= 1
    cv2.imwrite(str(root / 'l1.png'), label)
    relabelled = fingerprint(build(root))
    assert relabelled['truth'] != before['truth']
    assert relabelled['images'] == before['images']
    cv2.imwrite(str(root / '0.png'), np.zeros((20, 30, 3), np.uint8))
    assert fingerprint(build(root))['images'] != before['images']
    assert fingerprint(build(root))['truth'] == relabelled['truth']


def test_the_parts_of_a_wrapper_count(root):
    one, both = build(root), ConcatDataset([build(root), build(root)])
    assert fingerprint(both) != fingerprint(one)


def test_other_boxes_are_another_truth(root, monkeypatch):
    before = fingerprint(build(root))
    dataset = build(root)
    info = dataset.get_data_info
    monkeypatch.setattr(dataset, 'get_data_info', lambda index: {**info(index), 'instances': []})
    assert fingerprint(dataset)['truth'] != before['truth']
