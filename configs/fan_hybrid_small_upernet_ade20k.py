# FAN-S-Hybrid: UPerNet on ADE20K.
_base_ = ['_base_/backbones/fan_hybrid_small.py', '_base_/recipes/upernet_ade20k.py']

model = _base_.upernet
