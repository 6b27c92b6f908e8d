# ResNet-50: SegFormer's head on ADE20K.
_base_ = ['_base_/backbones/resnet50.py', '_base_/recipes/segformer_ade20k.py']

model = _base_.segformer
