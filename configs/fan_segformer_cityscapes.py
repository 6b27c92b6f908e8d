# FAN-S-Hybrid with SegFormer's head on Cityscapes.
_base_ = [
    '_base_/models/fan_segformer.py',
    '_base_/datasets/cityscapes_1024.py',
    '_base_/schedules/cityscapes_160k.py',
    '_base_/segmentation_runtime.py',
]

checkpoints = 'https://github.com/zhoudaquan/fully_attentional_network_ckpt/releases/download/v1.0.0'
model = dict(
    data_preprocessor=dict(size=(1024, 1024)),
    backbone=dict(init_cfg=dict(type='Pretrained', checkpoint=f'{checkpoints}/fan_hybrid_small.pth.tar')),
    # a 2048x1024 frame is seen as three overlapping squares of the training size
    test_cfg=dict(mode='slide', crop_size=(1024, 1024), stride=(768, 768)),
)
