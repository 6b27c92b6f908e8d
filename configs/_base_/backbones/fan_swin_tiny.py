# FAN-Swin-T. No checkpoint of it was published: it begins with what an ordinary Swin has in common with it.
checkpoint = 'https://github.com/SwinTransformer/storage/releases/download/v1.0.0/swin_tiny_patch4_window7_224.pth'
backbone = dict(type='FANSwin', arch='tiny', init_cfg=dict(type='Pretrained', checkpoint=checkpoint))
segformer = dict(backbone=backbone, decode_head=dict(in_channels=[96, 192, 384, 768]))
