"""Corruptions that a model was trained with: its robustness to them is not zero-shot. No torch, no OpenMMLab."""

from collections.abc import Mapping

from fan_dense.corruptions import names

# Augmentations of albumentations and others that do what a corruption of the benchmarks does.
LIKE = {
    'GaussNoise': 'gaussian_noise',
    'ISONoise': 'gaussian_noise',
    'ShotNoise': 'shot_noise',
    'SaltAndPepper': 'impulse_noise',
    'MultiplicativeNoise': 'speckle_noise',
    'Defocus': 'defocus_blur',
    'GlassBlur': 'glass_blur',
    'MotionBlur': 'motion_blur',
    'ZoomBlur': 'zoom_blur',
    'GaussianBlur': 'gaussian_blur',
    'RandomSnow': 'snow',
    'RandomFog': 'fog',
    'Spatter': 'spatter',
    'ElasticTransform': 'elastic_transform',
    'Downscale': 'pixelate',
    'ImageCompression': 'jpeg_compression',
    'JpegCompression': 'jpeg_compression',
}


def training_corruptions(node) -> list[str]:
    """Names of the benchmarks' corruptions that a pipeline, data set or data loader (its config) contains, sorted.

    Transforms are found at any depth. Those that change brightness, contrast and saturation a little
    (``PhotoMetricDistortion``) are part of the published recipes and do not count.

    >>> training_corruptions([dict(type='Corrupt', corruption=['snow', 'fog']), dict(type='Albu', transforms=[
    ...     dict(type='MotionBlur', blur_limit=7)])])
    ['fog', 'motion_blur', 'snow']
    """
    found = set()
    for step in _steps(node):
        kind = str(step['type']).rpartition('.')[2]
        if kind == 'Corrupt':
            chosen = step.get('corruption')
            found.update([chosen] if isinstance(chosen, str) else chosen or [])
        elif kind in LIKE:
            found.add(LIKE[kind])
    return sorted(found & set(names('all')))


def _steps(node):
    if isinstance(node, Mapping):
        if 'type' in node:
            yield node
        node = node.values()
    if not isinstance(node, str) and hasattr(node, '__iter__'):
        for inner in node:
            yield from _steps(inner)
