# Mask R-CNN on a FAN-Hybrid small enough to train from scratch on a CPU. Same networks, fewer and narrower layers.
_base_ = '../heads/maskrcnn.py'

width = 64
norm_cfg = dict(type='BN', requires_grad=True)  # without norms the heads take far longer from scratch
model = dict(
    backbone=dict(
        type='FAN',
        arch=dict(stem='hybrid', stem_depths=(1, 2), stem_dims=(32, 64), embed_dims=96, depth=4, num_heads=4),
        last_map='downsample',
        last_channels=128,
    ),
    neck=dict(in_channels=[32, 64, 96, 128], out_channels=width, norm_cfg=norm_cfg),
    # objects are 10 to 100 pixels large: anchors of 16 to 256
    rpn_head=dict(in_channels=width, feat_channels=width, anchor_generator=dict(scales=[4])),
    roi_head=dict(
        bbox_roi_extractor=dict(out_channels=width),
        bbox_head=dict(
            type='ConvFCBBoxHead',
            num_shared_convs=2,
            num_shared_fcs=1,
            in_channels=width,
            conv_out_channels=width,
            fc_out_channels=256,
            norm_cfg=norm_cfg,
            reg_class_agnostic=True,  # boxes and masks of all classes from the same outputs: each one teaches them
        ),
        mask_roi_extractor=dict(out_channels=width),
        mask_head=dict(num_convs=2, in_channels=width, conv_out_channels=width, norm_cfg=norm_cfg, class_agnostic=True),
    ),
    # a handful of objects in an image rather than COCO's dozens
    train_cfg=dict(rpn_proposal=dict(nms_pre=200, max_per_img=100), rcnn=dict(sampler=dict(num=64))),
    test_cfg=dict(rpn=dict(nms_pre=200, max_per_img=100), rcnn=dict(max_per_img=50)),
)
