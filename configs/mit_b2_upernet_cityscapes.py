# MiT-B2: UPerNet on Cityscapes.
_base_ = ['_base_/backbones/mit_b2.py', '_base_/recipes/upernet_cityscapes.py']

model = _base_.upernet
