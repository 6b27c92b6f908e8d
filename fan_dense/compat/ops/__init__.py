"""The functions of ``mmcv._ext`` (mmcv 2.1.0), on torchvision's compiled operators or in pure torch."""


def extension() -> dict:
    """Name -> function for every name that mmcv asks of its compiled extension."""
    return {}
