"""Backbones, necks and classifiers. Importing this registers them in mmengine's root registry."""

from .classifier import FANClassifier
from .fan import FAN
from .pyramid import SimpleFeaturePyramid

__all__ = ['FAN', 'FANClassifier', 'SimpleFeaturePyramid']
