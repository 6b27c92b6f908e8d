# MiT-B2: SegFormer's head on Cityscapes-C.
_base_ = ['./mit_b2_segformer_cityscapes.py', '_base_/corrupted.py']

test_dataloader = dict(dataset=dict(pipeline=_base_.corrupted_pipeline))
