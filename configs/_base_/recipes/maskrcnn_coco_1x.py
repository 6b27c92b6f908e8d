# Mask R-CNN on COCO, 12 epochs, short side 800.
_base_ = [
    '../heads/maskrcnn.py',
    '../datasets/coco.py',
    '../schedules/coco_12e.py',
    '../detection_runtime.py',
]
