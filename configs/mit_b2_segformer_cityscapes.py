# MiT-B2: SegFormer's head on Cityscapes.
_base_ = ['_base_/backbones/mit_b2.py', '_base_/recipes/segformer_cityscapes.py']

model = _base_.segformer
