# FAN-B-Hybrid: SegFormer's head on Cityscapes-C.
_base_ = ['./fan_hybrid_base_segformer_cityscapes.py', '_base_/corrupted.py']

test_dataloader = dict(dataset=dict(pipeline=_base_.corrupted_pipeline))
