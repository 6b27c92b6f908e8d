# Short for FAN-S-Hybrid with the published recipe.
_base_ = './fan_hybrid_small_segformer_cityscapes_c.py'
