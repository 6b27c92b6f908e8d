# FAN-S-Hybrid with Mask R-CNN on COCO 2017.
_base_ = [
    '_base_/models/fan_mask_rcnn.py',
    '_base_/datasets/coco_multiscale.py',
    '_base_/schedules/coco_36e.py',
    '_base_/detection_runtime.py',
]

checkpoints = 'https://github.com/zhoudaquan/fully_attentional_network_ckpt/releases/download/v1.0.0'
model = dict(backbone=dict(init_cfg=dict(type='Pretrained', checkpoint=f'{checkpoints}/fan_hybrid_small.pth.tar')))
