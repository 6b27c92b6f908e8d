# SAN-15: UPerNet on ADE20K.
_base_ = ['_base_/backbones/san15.py', '_base_/recipes/upernet_ade20k.py']

model = _base_.upernet
