"""The two ends of a convolution at selected positions (M,) of one image; the product with the weight is up to mmcv."""

import torch
from torch import Tensor
from torch.nn import functional


def masked_im2col_forward(
    im: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    col: Tensor,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
) -> None:
    """Fill ``col`` (C kernel_h kernel_w, M) with the patches of ``im`` (1, C, H, W) at the positions."""
    padded = functional.pad(im[0], (pad_w, kernel_w, pad_h, kernel_h))
    rows = mask_h_idx[:, None, None] + torch.arange(kernel_h, device=im.device)[:, None]
    columns = mask_w_idx[:, None, None] + torch.arange(kernel_w, device=im.device)
    patches = padded[:, rows, columns]  # C, M, kernel_h, kernel_w
    col.copy_(patches.permute(0, 2, 3, 1).reshape(col.shape))


def masked_col2im_forward(
    col: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, im: Tensor, height: int, width: int, channels: int
) -> None:
    """Write the columns (channels, M) to their positions in ``im`` (1, channels, height, width)."""
    inside = (mask_h_idx < height) & (mask_w_idx < width)
    im[0, :, mask_h_idx[inside], mask_w_idx[inside]] = col[:, inside]
