# FAN-T-Hybrid: UPerNet on Cityscapes.
_base_ = ['_base_/backbones/fan_hybrid_tiny.py', '_base_/recipes/upernet_cityscapes.py']

model = _base_.upernet
