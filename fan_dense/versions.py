"""Versions of the packages that figures depend on."""

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


def installed() -> dict[str, str]:
    """Package -> version, of those that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
