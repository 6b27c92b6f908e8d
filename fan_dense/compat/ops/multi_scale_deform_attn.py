"""Multi-scale deformable attention (Zhu et al., Deformable DETR, 2021), by mmcv's own function in pure torch.

mmcv calls the extension for CUDA tensors and that function for all others. Shapes: value (N, sum of H W, heads, D),
spatial shapes (L, 2) as H, W, sampling locations (N, Q, heads, L, P, 2) as x, y in units of the map, attention weights
(N, Q, heads, L, P), output (N, Q, heads D).
"""

from functools import partial

from torch import Tensor

from fan_dense.compat.ops.common import at_least_float32, gradients


def ms_deform_attn_forward(
    value: Tensor,
    value_spatial_shapes: Tensor,
    value_level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    im2col_step: int,
) -> Tensor:
    """Output (N, Q, heads D). The levels follow each other in ``value``; ``im2col_step`` is for compiled kernels."""
    return _attend(value, sampling_locations, attention_weights, value_spatial_shapes)


def ms_deform_attn_backward(
    value: Tensor,
    value_spatial_shapes: Tensor,
    value_level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    grad_output: Tensor,
    grad_value: Tensor,
    grad_sampling_loc: Tensor,
    grad_attn_weight: Tensor,
    im2col_step: int,
) -> None:
    """Fill the three gradients."""
    grads = gradients(
        partial(_attend, spatial_shapes=value_spatial_shapes),
        [value, sampling_locations, attention_weights],
        grad_output,
    )
    for buffer, grad in zip((grad_value, grad_sampling_loc, grad_attn_weight), grads):
        buffer.copy_(grad)


def _attend(value: Tensor, locations: Tensor, weights: Tensor, spatial_shapes: Tensor) -> Tensor:
    from mmcv.ops.multi_scale_deform_attn import multi_scale_deformable_attn_pytorch  # mmcv.ops imports us first

    wide, locations, weights = at_least_float32(value, locations, weights)
    return multi_scale_deformable_attn_pytorch(wide, spatial_shapes.tolist(), locations, weights).to(value.dtype)
