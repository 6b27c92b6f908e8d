"""Versions of the packages that figures depend on."""

import functools
from importlib import metadata

PACKAGES = (
    'fan_dense',
    'torch',
    'torchvision',
    'timm',
    'mmengine',
    'mmcv',
    'mmcv-lite',
    'mmdet',
    'mmsegmentation',
    'numpy',
    'opencv-python',
)


@functools.cache
def installed() -> dict[str, str]:
    """Package -> version, of those that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
