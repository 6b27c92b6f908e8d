backbone = dict(type='SAN', arch='san10', out_indices=(1, 2, 3, 4))
upernet = dict(
    backbone=backbone, decode_head=dict(in_channels=[256, 512, 1024, 2048]), auxiliary_head=dict(in_channels=1024)
)
