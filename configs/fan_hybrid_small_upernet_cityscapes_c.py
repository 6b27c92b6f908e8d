# FAN-S-Hybrid: UPerNet on Cityscapes-C.
_base_ = ['./fan_hybrid_small_upernet_cityscapes.py', '_base_/corrupted.py']

test_dataloader = dict(dataset=dict(pipeline=_base_.corrupted_pipeline))
