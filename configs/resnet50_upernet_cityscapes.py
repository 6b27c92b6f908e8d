# ResNet-50: UPerNet on Cityscapes.
_base_ = ['_base_/backbones/resnet50.py', '_base_/recipes/upernet_cityscapes.py']

model = _base_.upernet
