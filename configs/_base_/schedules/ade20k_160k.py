# 160,000 iterations x batch 16 (8 GPUs x 2) / 20,210 images = 127 epochs, as SegFormer was trained; all else as on
# Cityscapes.
_base_ = './cityscapes_160k.py'

auto_scale_lr = dict(base_batch_size=16)
