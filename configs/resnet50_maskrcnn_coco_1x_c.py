# ResNet-50: Mask R-CNN on COCO-C.
_base_ = ['./resnet50_maskrcnn_coco_1x.py', '_base_/corrupted.py']

test_dataloader = dict(dataset=dict(pipeline=_base_.corrupted_pipeline))
