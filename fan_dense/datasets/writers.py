"""Street scenes on disk, in the layouts of COCO and of Cityscapes. Pictures are PNG: what is read is what was drawn."""

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pycocotools.mask

from fan_dense.datasets.scene_classes import IGNORE, INSTANCE_CLASSES, SEMANTIC_CLASSES
from fan_dense.datasets.scene_files import SceneSet, encode
from fan_dense.files import write_atomically

LAYOUTS = ('coco', 'cityscapes')
CITY = 'scenes'
# index of our classes among the 19 of Cityscapes
TRAIN_IDS = {
    'road': 0, 'sidewalk': 1, 'building': 2, 'traffic sign': 7, 'vegetation': 8, 'terrain': 9, 'sky': 10, 'person': 11,
    'car': 13, 'truck': 14, 'bicycle': 18,
}  # fmt: skip


def write_scenes(
    target: Path,
    scenes: SceneSet,
    length: int,
    *,
    layout: str,
    overwrite: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Write the first ``length`` scenes of a set below ``target``; ``progress`` hears (written, of how many).

    COCO: ``{split}2017/000000000012.png``, ``annotations/instances_{split}2017.json`` with masks as RLE, written last.
    Cityscapes: ``leftImg8bit/{split}/scenes/scenes_000012_leftImg8bit.png`` and
    ``gtFine/{split}/scenes/scenes_000012_gtFine_labelTrainIds.png``, which ``CityscapesDataset`` reads with its own 19
    classes or, given ``metainfo=dict(classes=SEMANTIC_CLASSES)``, with ours.

    Raises:
        ValueError: there is no such layout.
        FileExistsError: the split is there already, and ``overwrite`` is off.
    """
    if layout not in LAYOUTS:
        raise ValueError(f'layout is {layout!r}; it must be one of {", ".join(LAYOUTS)}')
    folders = (
        (target / f'{scenes.split}2017',)
        if layout == 'coco'
        else tuple(target / kind / scenes.split / CITY for kind in ('leftImg8bit', 'gtFine'))
    )
    for folder in folders:
        if folder.exists() and any(folder.iterdir()):
            if not overwrite:
                raise FileExistsError(f'{folder} is not empty: --overwrite replaces the scenes in it')
            for old in folder.glob('*.png'):  # of a longer set, some would stay
                old.unlink()
        folder.mkdir(parents=True, exist_ok=True)
    write = _write_coco if layout == 'coco' else _write_cityscapes
    write(target, folders, scenes, length, progress)


def _write_coco(target: Path, folders, scenes: SceneSet, length: int, progress) -> None:
    height, width = scenes.size
    images, annotations = [], []
    for index in range(length):
        name = f'{index:012d}.png'
        scene = scenes.draw(index)
        (folders[0] / name).write_bytes(encode(scene.image))
        images.append(dict(id=index, file_name=name, height=height, width=width))
        for (x1, y1, x2, y2), label, mask in zip(scene.boxes.tolist(), scene.labels.tolist(), scene.masks):
            rle = pycocotools.mask.encode(np.asfortranarray(mask, np.uint8))
            annotations.append(
                dict(
                    id=len(annotations) + 1,
                    image_id=index,
                    category_id=label + 1,
                    bbox=[x1, y1, x2 - x1, y2 - y1],
                    area=int(mask.sum()),
                    iscrowd=0,
                    segmentation=dict(size=rle['size'], counts=rle['counts'].decode()),
                )
            )
        progress(index + 1, length)
    content = dict(
        info=dict(description=f'street scenes, split {scenes.split}, seed {scenes.seed}'),
        images=images,
        annotations=annotations,
        categories=[dict(id=k, name=name) for k, name in enumerate(INSTANCE_CLASSES, start=1)],
    )
    write_atomically(target / 'annotations' / f'instances_{scenes.split}2017.json', json.dumps(content))


def _write_cityscapes(target: Path, folders, scenes: SceneSet, length: int, progress) -> None:
    train_ids = np.full(256, IGNORE, np.uint8)
    train_ids[: len(SEMANTIC_CLASSES)] = [TRAIN_IDS[name] for name in SEMANTIC_CLASSES]
    for index in range(length):
        scene = scenes.draw(index)
        stem = f'{CITY}_{index:06d}'
        (folders[0] / f'{stem}_leftImg8bit.png').write_bytes(encode(scene.image))
        (folders[1] / f'{stem}_gtFine_labelTrainIds.png').write_bytes(encode(cv2.LUT(scene.semantic, train_ids)))
        progress(index + 1, length)
