"""Safe loading of mmengine's and timm's checkpoints."""
