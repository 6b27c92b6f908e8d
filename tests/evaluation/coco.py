"""Detections and pycocotools' verdict on them, for the tests."""

import contextlib
import copy
import io

import numpy as np
import pycocotools.mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def quietly():
    return contextlib.redirect_stdout(io.StringIO())


def truth(boxes: list[list[tuple]], classes: int, crowds: bool = True) -> dict:
    """COCO content; of each image a list of (class, x, y, w, h, crowd)."""
    annotations = [
        dict(image_id=i, category_id=c + 1, bbox=[x, y, w, h], area=w * h, iscrowd=int(crowd and crowds))
        for i, objects in enumerate(boxes)
        for c, x, y, w, h, crowd in objects
    ]
    return dict(
        images=[dict(id=i, height=100, width=100, file_name=f'{i}.png') for i in range(len(boxes))],
        categories=[dict(id=c + 1, name=f'class {c}') for c in range(classes)],
        annotations=[dict(one, id=n) for n, one in enumerate(annotations, 1)],
    )


def evaluated(content: dict, detections: list[dict], kind: str = 'bbox', limits=(1, 10, 100)) -> COCOeval:
    """pycocotools on its own: loaded, evaluated, accumulated, summarised."""
    with quietly():
        api = COCO()
        api.dataset = copy.deepcopy(content)
        api.createIndex()
        if detections:
            found = api.loadRes(copy.deepcopy(detections))
        else:
            found = COCO()
            found.dataset = {**api.dataset, 'annotations': []}
            found.createIndex()
        evaluation = COCOeval(api, found, kind)
        evaluation.params.maxDets = list(limits)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation


def duplicated(content: dict, detections: list[dict], weights) -> tuple[dict, list[dict]]:
    """Data set and detections in which each image is really there ``weights`` times, under new identities."""
    images, annotations, found = [], [], []
    of_image = {
        image['id']: [a for a in content['annotations'] if a['image_id'] == image['id']] for image in content['images']
    }
    detected = {image['id']: [d for d in detections if d['image_id'] == image['id']] for image in content['images']}
    for image, weight in zip(content['images'], weights):
        for _ in range(weight):
            number = len(images)
            images.append(dict(image, id=number))
            for one in of_image[image['id']]:
                annotations.append(dict(one, id=len(annotations) + 1, image_id=number))
            found += [dict(one, image_id=number) for one in detected[image['id']]]
    return {**content, 'images': images, 'annotations': annotations}, found


def random_case(rng, images=8, classes=3, masks=False, ties=False, crowds=True) -> tuple[dict, list[dict]]:
    """Some objects an image, detections near and far from them; with ``ties`` many of the same score."""
    boxes, detections = [], []
    for i in range(images):
        objects = []
        for _ in range(rng.integers(0, 5)):
            x, y = rng.integers(0, 70, 2).tolist()
            w, h = rng.integers(8, 30, 2).tolist()
            objects.append((int(rng.integers(classes)), x, y, w, h, bool(rng.random() < 0.2)))
        boxes.append(objects)
        for c, x, y, w, h, _ in objects * 2:
            if rng.random() < 0.8:
                dx, dy, dw, dh = rng.integers(-4, 5, 4).tolist()
                c = c if rng.random() < 0.8 else int(rng.integers(classes))
                detections.append(
                    dict(image_id=i, category_id=c + 1, bbox=[max(x + dx, 0), max(y + dy, 0), w + dw, h + dh])
                )
        for _ in range(rng.integers(0, 4)):
            x, y = rng.integers(0, 70, 2).tolist()
            detections.append(dict(image_id=i, category_id=int(rng.integers(classes)) + 1, bbox=[x, y, 12, 12]))
    for one in detections:
        one['score'] = float(rng.integers(1, 5) / 5 if ties else rng.random())
    content = truth(boxes, classes, crowds)
    if masks:
        for one in content['annotations'] + detections:
            one['segmentation'] = ellipse(*one['bbox'])
        for one in detections:
            del one['bbox']
    return content, detections


def ellipse(x, y, w, h) -> dict:
    """Run lengths of the ellipse in a box, on 100 x 100 pixels."""
    rows, columns = np.mgrid[:100, :100] + 0.5
    inside = ((columns - x - w / 2) / (w / 2)) ** 2 + ((rows - y - h / 2) / (h / 2)) ** 2 <= 1
    rle = pycocotools.mask.encode(np.asfortranarray(inside.astype(np.uint8)))
    return {**rle, 'counts': rle['counts'].decode()}
