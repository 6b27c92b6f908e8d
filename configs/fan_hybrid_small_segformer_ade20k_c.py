# FAN-S-Hybrid: SegFormer's head on corrupted ADE20K.
_base_ = ['./fan_hybrid_small_segformer_ade20k.py', '_base_/corrupted.py']

test_dataloader = dict(dataset=dict(pipeline=_base_.corrupted_pipeline))
