# Cascade Mask R-CNN on COCO, 36 epochs, multi-scale: FAN's published recipe.
_base_ = [
    '../heads/cascade.py',
    '../datasets/coco_multiscale.py',
    '../schedules/coco_36e.py',
    '../detection_runtime.py',
]
