# SegFormer's head on Cityscapes: FAN's published recipe.
_base_ = [
    '../heads/segformer.py',
    '../datasets/cityscapes_1024.py',
    '../schedules/cityscapes_160k.py',
    '../segmentation_runtime.py',
]

model = dict(
    data_preprocessor=dict(size=(1024, 1024)),
    # a 2048x1024 frame is seen as three overlapping squares of the training size
    test_cfg=dict(mode='slide', crop_size=(1024, 1024), stride=(768, 768)),
)
