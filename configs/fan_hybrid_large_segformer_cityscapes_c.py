# FAN-L-Hybrid: SegFormer's head on Cityscapes-C.
_base_ = ['./fan_hybrid_large_segformer_cityscapes.py', '_base_/corrupted.py']

test_dataloader = dict(dataset=dict(pipeline=_base_.corrupted_pipeline))
