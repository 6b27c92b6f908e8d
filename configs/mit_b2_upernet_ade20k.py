# MiT-B2: UPerNet on ADE20K.
_base_ = ['_base_/backbones/mit_b2.py', '_base_/recipes/upernet_ade20k.py']

model = _base_.upernet
