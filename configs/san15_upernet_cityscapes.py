# SAN-15: UPerNet on Cityscapes.
_base_ = ['_base_/backbones/san15.py', '_base_/recipes/upernet_cityscapes.py']

model = _base_.upernet
