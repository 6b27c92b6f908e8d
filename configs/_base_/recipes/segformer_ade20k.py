# SegFormer's head on ADE20K: SegFormer's published recipe.
_base_ = [
    '../heads/segformer.py',
    '../datasets/ade20k_512.py',
    '../schedules/ade20k_160k.py',
    '../segmentation_runtime.py',
]

model = dict(data_preprocessor=dict(size=(512, 512)), decode_head=dict(num_classes=150))
