"""Which of our modules is imported together with which OpenMMLab module, whatever the order of the imports.

Each of our modules registers its classes when it is imported. Importing them all from ``fan_dense/__init__.py`` would
load torch, mmdet and mmseg into every process that only wants to corrupt an image, and would run into mmcv or mmdet
while they are themselves half imported. So each follows its host: now, if that is there, otherwise when it comes.
"""

import importlib

import wrapt

FOLLOWS = {
    'fan_dense.compat.packages': 'mmengine.utils.package_utils',
    'fan_dense.compat.checkpoint': 'mmengine.runner.checkpoint',
    'fan_dense.models': 'mmengine.model',
    'fan_dense.models.segformer_head': 'mmseg.models',
    'fan_dense.models.timm_models': 'timm.models',
    'fan_dense.datasets.transforms': 'mmcv.transforms',
    'fan_dense.datasets.detection': 'mmdet.datasets',
    'fan_dense.datasets.segmentation': 'mmseg.datasets',
    'fan_dense.evaluation.guard': 'mmengine.hooks',
}


def install() -> None:
    """Import every module of :data:`FOLLOWS` once its host is imported. Call it once."""
    for module, host in FOLLOWS.items():
        wrapt.register_post_import_hook(lambda _, module=module: importlib.import_module(module), host)


class SearchFolder(str):
    """An entry of ``sys.path`` that sets the stack up in worker processes too.

    A process that multiprocessing spawns reads its parent's ``sys.path`` before the script and the data set; reading
    this class imports fan_dense.
    """

    __slots__ = ()
