"""Backbones, necks and classifiers. Importing this registers them in mmengine's root registry."""

from .baselines import TimmBackbone
from .classifier import FANClassifier
from .fan import FAN
from .fan_swin import FANSwin, FANSwinClassifier
from .pyramid import SimpleFeaturePyramid
from .san import SAN, SANClassifier

__all__ = [
    'FAN',
    'SAN',
    'FANClassifier',
    'FANSwin',
    'FANSwinClassifier',
    'SANClassifier',
    'SimpleFeaturePyramid',
    'TimmBackbone',
]
