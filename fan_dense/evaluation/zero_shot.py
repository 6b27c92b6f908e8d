"""Corruptions that a model was trained with: its robustness to them is not zero-shot. No torch, no OpenMMLab."""

import ast
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


def stated(text: str) -> dict:
    """The settings in the text of a config as checkpoints carry it (``Config.pretty_text``), which is not run.

    >>> stated("train_cfg = dict(max_iters=2)\\nseeds = [1, 2]")
    {'train_cfg': {'max_iters': 2}, 'seeds': [1, 2]}
    """
    try:
        lines = ast.parse(text).body
    except (SyntaxError, ValueError):  # an object that has no text
        return {}
    return {ast.unparse(line.targets[0]): _value(line.value) for line in lines if isinstance(line, ast.Assign)}


def _value(node: ast.expr):
    match node:
        case ast.Constant():
            return node.value
        case ast.List() | ast.Tuple():
            return [_value(one) for one in node.elts]
        case ast.Dict():
            return {_value(key): _value(value) for key, value in zip(node.keys, node.values)}
        case ast.Call():  # dict(a=1), or dict({'a-b': 1}) of what is no name
            settings = [_value(one) for one in node.args if isinstance(one, ast.Dict)]
            return {keyword.arg: _value(keyword.value) for keyword in node.keywords} | (settings[0] if settings else {})
    return None


def _steps(node):
    if isinstance(node, Mapping):
        if 'type' in node:
            yield node
        node = node.values()
    if not isinstance(node, str) and hasattr(node, '__iter__'):
        for inner in node:
            yield from _steps(inner)
