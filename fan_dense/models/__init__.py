"""Backbones, necks and classifiers. Importing this registers them in mmengine's root registry."""

from .fan import FAN

__all__ = ['FAN']
