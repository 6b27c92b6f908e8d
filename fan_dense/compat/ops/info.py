"""What mmcv reports about the compiler of its extension: here there was none."""

import torchvision

COMPILER = f'none (fan_dense stand-in: torchvision {torchvision.__version__} and pure torch)'


def get_compiler_version() -> str:
    """Says that nothing was compiled, and what runs instead."""
    return COMPILER


def get_compiling_cuda_version() -> str:
    """Says that nothing was compiled. (mmengine's environment report shows it as the CUDA version of mmcv.)"""
    return 'not available'
