import numpy as np
import pycocotools.mask
import pytest
import torch

from fan_dense.evaluation import drawing

META = dict(classes=('road', 'car'), palette=[(128, 64, 128), (0, 0, 200)])  # RGB


@pytest.fixture
def image():
    return np.full((60, 600, 3), 100, np.uint8)


def panels(picture, image):
    """The two panels of a picture whose image was not enlarged."""
    top = 2 * round(44 * 0.5)
    height, width = image.shape[:2]
    return picture[top : top + height, :width], picture[top : top + height, -width:]


def test_segmentation_blends_the_colours_of_the_classes(image):
    predicted = torch.zeros(1, 60, 600, dtype=torch.long)
    true = torch.full((1, 60, 600), 255)  # void: not drawn
    true[:, :, 300:] = 1
    sample = dict(pred_sem_seg=dict(data=predicted), gt_sem_seg=dict(data=true))
    left, right = panels(drawing.draw_segmentation(image, sample, META, 'caption'), image)
    np.testing.assert_array_equal(left[30, 30], [114, 82, 114])  # (100 + BGR of road) / 2
    np.testing.assert_array_equal(right[30, 30], [100, 100, 100])
    np.testing.assert_array_equal(right[30, 400], [150, 50, 50])  # (100 + BGR of car) / 2


def test_detections_from_the_threshold_on_beside_the_ground_truth(image):
    boxes = torch.tensor([[100.0, 10, 160, 50], [300, 10, 360, 50]])
    masks = torch.zeros(2, 60, 600, dtype=torch.bool)
    for mask, (x1, y1, x2, y2) in zip(masks, boxes.int().tolist()):
        mask[y1:y2, x1:x2] = True
    found = dict(bboxes=boxes, scores=torch.tensor([0.9, 0.1]), labels=torch.tensor([1, 1]), masks=masks)
    polygon = [[400, 10, 460, 10, 460, 50, 400, 50]]
    instances = [dict(bbox=[400, 10, 460, 50], bbox_label=1, mask=polygon)]
    picture = drawing.draw_detections(image, dict(pred_instances=found), dict(instances=instances), META, 'x', 0.3)
    left, right = panels(picture, image)
    np.testing.assert_array_equal(left[40, 130], [150, 50, 50])
    np.testing.assert_array_equal(left[40, 330], [100, 100, 100])  # too unsure
    np.testing.assert_array_equal(right[40, 430], [150, 50, 50])
    np.testing.assert_array_equal(left[30, 100], [200, 0, 0])  # the box


def test_boxes_without_masks_and_images_without_objects(image):
    none = dict(bboxes=torch.zeros(0, 4), scores=torch.zeros(0), labels=torch.zeros(0, dtype=torch.long))
    instances = [dict(bbox=[400, 10, 460, 50], bbox_label=1)]
    left, right = panels(
        drawing.draw_detections(image, dict(pred_instances=none), dict(instances=instances), META, 'x', 0.3), image
    )
    assert (left == 100).all()
    assert (right != 100).any()


def test_a_small_image_is_enlarged_pixel_by_pixel():
    small = np.random.default_rng(0).integers(0, 256, (3, 100, 3), dtype=np.uint8)
    large = drawing.enlarged(small)
    assert large.shape == (15, 500, 3)
    np.testing.assert_array_equal(large[::5, ::5], small)
    np.testing.assert_array_equal(large[4::5, 4::5], small)


def test_masks_of_all_kinds():
    expected = np.zeros((20, 30), bool)
    expected[4:10, 5:15] = True
    rle = pycocotools.mask.encode(np.asfortranarray(expected, np.uint8))
    column_runs = np.flatnonzero(np.diff(expected.T.ravel(), prepend=0, append=0))
    uncompressed = dict(size=[20, 30], counts=np.diff(column_runs, prepend=0, append=600).tolist())
    polygon = [[5, 4, 15, 4, 15, 10, 5, 10]]
    for mask in (expected, torch.from_numpy(expected), rle, uncompressed, polygon):
        np.testing.assert_array_equal(drawing.bitmap(mask, (20, 30)), expected)


def test_a_long_legend_takes_more_rows(image):
    classes = tuple(f'class number {i}' for i in range(40))
    meta = dict(classes=classes, palette=[(i, 2 * i, 3 * i) for i in range(40)])
    labels = (torch.arange(600) // 15).expand(1, 60, 600)
    picture = drawing.draw_segmentation(image, dict(pred_sem_seg=dict(data=labels)), meta, 'x')
    rows = picture.shape[0] - 60 - 2 * 22
    assert rows % 22 == 0
    assert rows // 22 > 1


def test_colours_of_a_data_set_without_a_palette():
    assert drawing.colours(META) == [(128, 64, 128), (200, 0, 0)]  # BGR
    for palette in ({}, {'palette': None}, {'palette': 'random'}, {'palette': [(1, 2, 3)]}):
        made = drawing.colours(dict(classes=('a', 'b', 'c'), **palette))
        assert len(set(made)) == 3
