"""Multi-scale deformable attention (Zhu et al., Deformable DETR, 2021), by mmcv's own function in pure torch.

mmcv calls the extension for CUDA tensors and that function for all others. Shapes: value (N, sum of H W, heads, D),
spatial shapes (L, 2) as H, W, sampling locations (N, Q, heads, L, P, 2) as x, y in units of the map, attention weights
(N, Q, heads, L, P), output (N, Q, heads D).
"""

from torch import Tensor

from fan_dense.compat.ops.common import gradients


def ms_deform_attn_forward(
    value: Tensor,
    value_spatial_shapes: Tensor,
    value_level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    im2col_step: int,
) -> Tensor:
    """Output (N, Q, heads D). The levels follow each other in ``value``; ``im2col_step`` is for compiled kernels."""
    return _attention(value_spatial_shapes)(value, sampling_locations, attention_weights)


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
    inputs = [value, sampling_locations, attention_weights]
    grads = gradients(_attention(value_spatial_shapes), inputs, grad_output)
    for buffer, grad in zip((grad_value, grad_sampling_loc, grad_attn_weight), grads):
        buffer.copy_(grad)


def _attention(spatial_shapes: Tensor):
    from mmcv.ops.multi_scale_deform_attn import multi_scale_deformable_attn_pytorch  # mmcv.ops imports us first

    shapes = spatial_shapes.tolist()
    return lambda value, locations, weights: multi_scale_deformable_attn_pytorch(value, shapes, locations, weights)
