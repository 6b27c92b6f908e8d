"""The loading step that refuses broken image files by name."""

import mmcv
import mmengine.fileio as fileio
import numpy as np
from mmcv.transforms import TRANSFORMS, LoadImageFromFile

from fan_dense.datasets.check import DataError, MissingDataError, check_image


@TRANSFORMS.register_module()
class LoadIntactImage(LoadImageFromFile):
    """``LoadImageFromFile`` that never passes on part of an image.

    OpenCV decodes a truncated JPEG to an image that is grey from some row on, and training goes on with it. The label
    map, if there is one, is checked as well.

    Raises:
        MissingDataError: the file does not exist.
        DataError: the file is empty, truncated or no image.
    """

    def __init__(
        self,
        to_float32: bool = False,
        color_type: str = 'color',
        imdecode_backend: str = 'cv2',
        ignore_empty: bool = False,
        backend_args: dict | None = None,
    ):
        super().__init__(to_float32, color_type, imdecode_backend, ignore_empty=ignore_empty, backend_args=backend_args)

    def transform(self, results: dict) -> dict | None:
        path, labels = results['img_path'], results.get('seg_map_path')
        try:
            image = mmcv.imfrombytes(self._read(path), flag=self.color_type, backend=self.imdecode_backend)
            if image is None:
                raise DataError(f'image {path} cannot be decoded: not an image, or damaged')
            if labels and '://' not in labels:
                self._read(labels)
        except (MissingDataError, DataError):
            if self.ignore_empty:
                return None
            raise
        results['img'] = image.astype(np.float32) if self.to_float32 else image
        results['img_shape'] = results['ori_shape'] = image.shape[:2]
        return results

    def _read(self, path: str) -> bytes:
        try:
            data = fileio.get(path, self.backend_args)
        except FileNotFoundError:
            raise MissingDataError(f'image {path} does not exist') from None
        check_image(data, path)
        return data
