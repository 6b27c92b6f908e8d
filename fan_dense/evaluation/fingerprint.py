"""Knowing test data again: digests of what the images are called, how large they are, and of the ground truth."""

import hashlib
from pathlib import Path

from fan_dense.datasets.transforms import image_key
from fan_dense.datasets.wrappers import parts
from fan_dense.evaluation.pipeline import image_folder

_TRUTH = ('instances', 'seg_map_path', 'label_map', 'reduce_zero_label', 'proposals')


def fingerprint(dataset) -> dict[str, str]:
    """'images' and 'truth' -> digest (64 bits) of a built data set.

    Images count by name and by number of bytes; annotations and label maps by their content. The pixels themselves
    are behind each condition's own digest.
    """
    images, truth = hashlib.sha256(), hashlib.sha256()
    for part in parts(dataset):
        folder = image_folder(part)
        for index in range(len(part)):
            info = part.get_data_info(index)
            file = Path(info['img_path'])
            size = file.stat().st_size if file.is_file() else 'made in memory'
            images.update(f'{image_key(info["img_path"], folder)} {size}\n'.encode())
            for name in _TRUTH:
                truth.update(_content(info.get(name)))
    return {'images': images.hexdigest()[:16], 'truth': truth.hexdigest()[:16]}


def _content(value) -> bytes:
    if isinstance(value, str):
        file = Path(value)
        return file.read_bytes() if file.is_file() else b'made in memory'
    return repr(value).encode()
