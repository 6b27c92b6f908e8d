"""The embedded scenes and CamVid with made-up predictions, which get worse with ``amount``; no network is needed."""

import json

import cv2
import numpy as np
import pycocotools.mask
from pycocotools.coco import COCO

from fan_dense.datasets import camvid
from fan_dense.datasets.detection import instances_of
from fan_dense.datasets.scene_classes import INSTANCE_CLASSES, SEMANTIC_CLASSES
from fan_dense.datasets.scenes import draw_scene
from tests import reference
from tests.evaluation.coco import quietly

NAMES = ('scenes', 'camvid')


def label_maps(name: str, count: int) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Label maps (H, W) with 255 for what is not asked, and the classes."""
    if name == 'scenes':
        return [draw_scene(i, split='val').semantic.astype(np.int64) for i in range(count)], SEMANTIC_CLASSES
    files = sorted((reference.camvid() / 'labels' / 'val').glob('*.png'))[:: 101 // count][:count]
    maps = [cv2.imread(str(file), cv2.IMREAD_GRAYSCALE).astype(np.int64) for file in files]
    return [np.where(one == camvid.VOID, 255, one) for one in maps], camvid.CLASSES


def predicted(labels: np.ndarray, classes: int, amount: float, rng: np.random.Generator) -> np.ndarray:
    """The label map moved aside, with boxes of another class on it."""
    moved = np.roll(labels, int(8 * amount), axis=1)
    moved[moved == 255] = 0
    height, width = labels.shape
    for _ in range(int(10 * amount)):
        y, x = rng.integers(height), rng.integers(width)
        moved[y : y + height // 8, x : x + width // 8] = rng.integers(classes)
    return moved


def instances(name: str, count: int) -> dict:
    """COCO content with masks."""
    if name == 'camvid':
        content = json.loads((reference.camvid() / 'annotations' / 'instances_val.json').read_text())
        images = content['images'][:: 101 // count][:count]
        kept = {image['id'] for image in images}
        return {
            **content,
            'images': images,
            'annotations': [a for a in content['annotations'] if a['image_id'] in kept],
        }
    scenes = [draw_scene(i, split='val') for i in range(count)]
    annotations = []
    for index, scene in enumerate(scenes):
        for one in instances_of(scene):
            x1, y1, x2, y2 = one['bbox']
            area = float(pycocotools.mask.area(one['mask']))
            annotations.append(
                dict(image_id=index, category_id=one['bbox_label'] + 1, bbox=[x1, y1, x2 - x1, y2 - y1], area=area,
                     iscrowd=0, segmentation=one['mask'], id=len(annotations) + 1)
            )  # fmt: skip
    height, width = scenes[0].semantic.shape
    return dict(
        images=[dict(id=i, height=height, width=width, file_name=f'{i}.png') for i in range(count)],
        categories=[dict(id=c + 1, name=one) for c, one in enumerate(INSTANCE_CLASSES)],
        annotations=annotations,
    )


def detected(content: dict, amount: float, rng: np.random.Generator) -> list[dict]:
    """The true objects, moved aside, some not found and some found twice or as another class; box, mask and score."""
    found = []
    with quietly():
        api = COCO()
        api.dataset = content
        api.createIndex()
    for one in content['annotations']:
        for _ in range(rng.integers(1, 3) if rng.random() > 0.3 * amount else 0):
            dx, dy = (int(v) for v in rng.normal(0, 3 * amount, 2))
            mask = np.roll(api.annToMask(one), (dy, dx), axis=(0, 1))
            rle = pycocotools.mask.encode(np.asfortranarray(mask))
            other = rng.random() < 0.2 * amount
            x, y, w, h = one['bbox']
            found.append(
                dict(
                    image_id=one['image_id'],
                    category_id=int(rng.choice([c['id'] for c in content['categories']]))
                    if other
                    else one['category_id'],
                    bbox=[float(x + dx), float(y + dy), float(w), float(h)],
                    segmentation={**rle, 'counts': rle['counts'].decode()},
                    score=float(np.round(rng.random(), 2)),  # some are equal
                )
            )
    return found
