"""Building blocks of the networks.

Feature maps are channels-last, (B, H, W, C), so that no module has to be told H and W.
"""
