# FAN-T-Hybrid: Cascade Mask R-CNN on COCO-C.
_base_ = ['./fan_hybrid_tiny_cascade_coco_3x.py', '_base_/corrupted.py']

test_dataloader = dict(dataset=dict(pipeline=_base_.corrupted_pipeline))
