# UPerNet on ADE20K; all else as with SegFormer's head.
_base_ = [
    '../heads/upernet.py',
    '../datasets/ade20k_512.py',
    '../schedules/ade20k_160k.py',
    '../segmentation_runtime.py',
]

model = dict(
    data_preprocessor=dict(size=(512, 512)), decode_head=dict(num_classes=150), auxiliary_head=dict(num_classes=150)
)
