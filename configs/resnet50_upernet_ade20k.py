# ResNet-50: UPerNet on ADE20K.
_base_ = ['_base_/backbones/resnet50.py', '_base_/recipes/upernet_ade20k.py']

model = _base_.upernet
