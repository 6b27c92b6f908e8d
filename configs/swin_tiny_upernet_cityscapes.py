# Swin-T: UPerNet on Cityscapes.
_base_ = ['_base_/backbones/swin_tiny.py', '_base_/recipes/upernet_cityscapes.py']

model = _base_.upernet
