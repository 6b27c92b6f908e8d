"""Data sets of mmseg: street scenes, and the 11 classes of CamVid."""

import os

from mmseg.datasets import BaseSegDataset
from mmseg.registry import DATASETS

from fan_dense.datasets import camvid, loading  # noqa: F401 (registers the loading step)
from fan_dense.datasets.scene_classes import IGNORE, SEMANTIC_CLASSES, SEMANTIC_PALETTE
from fan_dense.datasets.scene_files import SceneSet
from fan_dense.datasets.scenes import SIZE


@DATASETS.register_module()
class StreetScenesSemantic(BaseSegDataset):
    """The first ``length`` scenes of a split, drawn when asked for; nothing is read from disk.

    Args:
        length: number of scenes.
        split: name of the split; any name gives scenes of its own.
        size: (height, width) in pixels.
        seed: another seed, other scenes.
        metainfo: may name fewer ``classes``; pixels of the others are ignored.
        pipeline, test_mode, indices, lazy_init, max_refetch: as in ``mmseg.datasets.BaseSegDataset``.
    """

    METAINFO = dict(classes=SEMANTIC_CLASSES, palette=SEMANTIC_PALETTE)

    def __init__(
        self,
        length: int,
        split: str = 'train',
        size: tuple[int, int] = SIZE,
        seed: int = 0,
        metainfo: dict | None = None,
        pipeline=(),
        test_mode: bool = False,
        indices=None,
        lazy_init: bool = False,
        max_refetch: int = 1000,
    ):
        if length < 1:
            raise ValueError(f'length is {length}; at least one scene is expected')
        self.length = length
        self.scenes = SceneSet(split, size, seed)
        super().__init__(
            metainfo=metainfo,
            pipeline=list(pipeline),
            test_mode=test_mode,
            indices=indices,
            lazy_init=lazy_init,
            max_refetch=max_refetch,
            ignore_index=IGNORE,
        )

    def load_data_list(self) -> list[dict]:
        return [
            dict(
                img_id=index,
                img_path=self.scenes.image_path(index),
                seg_map_path=self.scenes.label_path(index),
                label_map=self.label_map,
                reduce_zero_label=self.reduce_zero_label,
                seg_fields=[],
            )
            for index in range(self.length)
        ]


@DATASETS.register_module()
class CamVidDataset(BaseSegDataset):
    """CamVid's 11 classes; the label maps' void, 11, is ignored.

    Args:
        img_suffix: '.png' as the SegNet tutorial has it, or '.jpg'; None takes what is in the folder.
        seg_map_suffix: as in ``mmseg.datasets.BaseSegDataset``, like all further arguments.
    """

    METAINFO = dict(classes=camvid.CLASSES, palette=camvid.PALETTE)

    def __init__(self, img_suffix: str | None = None, seg_map_suffix: str = '.png', **kwargs):
        super().__init__(img_suffix=img_suffix, seg_map_suffix=seg_map_suffix, **kwargs)

    @classmethod
    def get_label_map(cls, new_classes=None) -> dict[int, int]:
        """Class index in the files -> in training."""
        return {**(super().get_label_map(new_classes) or {}), camvid.VOID: IGNORE}

    def load_data_list(self) -> list[dict]:
        if self.img_suffix is None:
            names = os.listdir(self.data_prefix['img_path'])
            self.img_suffix = '.jpg' if any(name.endswith('.jpg') for name in names) else '.png'
        return super().load_data_list()
