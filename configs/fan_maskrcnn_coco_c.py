# Short for FAN-S-Hybrid with the published recipe.
_base_ = './fan_hybrid_small_maskrcnn_coco_3x_c.py'
