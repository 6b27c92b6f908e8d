"""Street scenes as a data set of mmdet: boxes and instance masks."""

import pycocotools.mask
from mmdet.datasets import BaseDetDataset
from mmdet.registry import DATASETS

from fan_dense.datasets import loading  # noqa: F401 (registers the loading step)
from fan_dense.datasets.scene_classes import INSTANCE_CLASSES, INSTANCE_PALETTE
from fan_dense.datasets.scene_files import SceneSet
from fan_dense.datasets.scenes import SIZE, Scene


@DATASETS.register_module()
class StreetScenes(BaseDetDataset):
    """The first ``length`` scenes of a split, drawn when asked for; nothing is read from disk.

    Pipelines are those of any other data set. To evaluate with ``CocoMetric`` and no annotation file, ``PackDetInputs``
    must keep ``instances`` among its ``meta_keys``.

    Args:
        length: number of scenes.
        split: name of the split; any name gives scenes of its own.
        size: (height, width) in pixels.
        seed: another seed, other scenes.
        metainfo: may name fewer ``classes``; instances of the others are left out.
        pipeline, test_mode, indices, lazy_init, max_refetch: as in ``mmengine.dataset.BaseDataset``.
    """

    METAINFO = dict(classes=INSTANCE_CLASSES, palette=INSTANCE_PALETTE)

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
        )

    def load_data_list(self) -> list[dict]:
        unknown = set(self.metainfo['classes']) - set(INSTANCE_CLASSES)
        if unknown:
            raise ValueError(f'StreetScenes has no class {sorted(unknown)}, only {", ".join(INSTANCE_CLASSES)}')
        height, width = self.scenes.size
        return [
            dict(
                img_id=index,
                img_path=self.scenes.image_path(index),
                seg_map_path=self.scenes.label_path(index),
                height=height,
                width=width,
            )
            for index in range(self.length)
        ]

    def get_data_info(self, idx: int) -> dict:
        """File names, size and instances of one scene."""
        info = super().get_data_info(idx)
        scene = self.scenes.draw(info['img_id'])
        return {**info, 'instances': instances_of(scene, self.metainfo['classes'])}


def instances_of(scene: Scene, classes=INSTANCE_CLASSES) -> list[dict]:
    """Instances as mmdet's ``LoadAnnotations`` expects them: box (x1, y1, x2, y2), index into ``classes``, RLE mask."""
    found = []
    for box, label, mask in zip(scene.boxes.tolist(), scene.labels.tolist(), scene.masks):
        name = INSTANCE_CLASSES[label]
        if name in classes:
            rle = pycocotools.mask.encode(mask.astype('uint8', order='F'))
            rle['counts'] = rle['counts'].decode()
            found.append(dict(bbox=box, bbox_label=list(classes).index(name), mask=rle, ignore_flag=0))
    return found
