# ResNet-50: SegFormer's head on Cityscapes.
_base_ = ['_base_/backbones/resnet50.py', '_base_/recipes/segformer_cityscapes.py']

model = _base_.segformer
