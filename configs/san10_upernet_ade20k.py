# SAN-10: UPerNet on ADE20K.
_base_ = ['_base_/backbones/san10.py', '_base_/recipes/upernet_ade20k.py']

model = _base_.upernet
