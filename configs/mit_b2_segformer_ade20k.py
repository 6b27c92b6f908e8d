# MiT-B2: SegFormer's head on ADE20K.
_base_ = ['_base_/backbones/mit_b2.py', '_base_/recipes/segformer_ade20k.py']

model = _base_.segformer
