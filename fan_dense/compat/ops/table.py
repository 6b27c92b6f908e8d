"""The 112 functions that mmcv 2.x asks of ``mmcv._ext``, and where each comes from (docs/operators.md says more)."""

from typing import NamedTuple

TORCHVISION, TORCH, ABSENT = 'torchvision', 'pure torch', 'absent'


class Family(NamedTuple):
    """Functions of one file of mmcv.ops, and our module with those functions (none where they are absent)."""

    mmcv: str
    source: str
    module: str | None
    names: tuple[str, ...]


def _family(mmcv: str, source: str, module: str | None, names: str) -> Family:
    return Family(mmcv, source, module, tuple(names.split()))


FAMILIES = (
    _family(
        'active_rotated_filter', TORCH, 'rotated_filter', 'active_rotated_filter_forward active_rotated_filter_backward'
    ),
    _family('assign_score_withk', ABSENT, None, 'assign_score_withk_forward assign_score_withk_backward'),
    _family('ball_query', ABSENT, None, 'ball_query_forward stack_ball_query_forward'),
    _family('bbox', TORCH, 'bbox', 'bbox_overlaps'),
    _family('bezier_align', TORCH, 'bezier_align', 'bezier_align_forward bezier_align_backward'),
    _family('bias_act', ABSENT, None, 'bias_act'),
    _family('border_align', TORCH, 'border_align', 'border_align_forward border_align_backward'),
    _family('box_iou_quadri', TORCH, 'rotated_boxes', 'box_iou_quadri'),
    _family('box_iou_rotated', TORCH, 'rotated_boxes', 'box_iou_rotated'),
    _family('carafe', TORCH, 'carafe', 'carafe_naive_forward carafe_naive_backward carafe_forward carafe_backward'),
    _family('chamfer_distance', ABSENT, None, 'chamfer_distance_forward chamfer_distance_backward'),
    _family('contour_expand', TORCH, 'text_regions', 'contour_expand'),
    _family('convex_iou', ABSENT, None, 'convex_iou convex_giou'),
    _family('correlation', ABSENT, None, 'correlation_forward correlation_backward'),
    _family(
        'deform_conv',
        TORCHVISION,
        'deform_conv',
        'deform_conv_forward deform_conv_backward_input deform_conv_backward_parameters',
    ),
    _family('deform_roi_pool', TORCH, 'deform_roi_pool', 'deform_roi_pool_forward deform_roi_pool_backward'),
    _family('diff_iou_rotated', ABSENT, None, 'diff_iou_rotated_sort_vertices_forward'),
    _family('filtered_lrelu', ABSENT, None, 'filtered_lrelu filtered_lrelu_act_'),
    _family(
        'focal_loss',
        TORCH,
        'focal_loss',
        'sigmoid_focal_loss_forward sigmoid_focal_loss_backward softmax_focal_loss_forward softmax_focal_loss_backward',
    ),
    _family(
        'furthest_point_sample',
        ABSENT,
        None,
        'furthest_point_sampling_forward furthest_point_sampling_with_dist_forward',
    ),
    _family('fused_bias_leakyrelu', TORCH, 'stylegan', 'fused_bias_leakyrelu'),
    _family('gather_points', ABSENT, None, 'gather_points_forward gather_points_backward'),
    _family(
        'group_points',
        ABSENT,
        None,
        'group_points_forward group_points_backward stack_group_points_forward stack_group_points_backward',
    ),
    _family('info', TORCH, 'info', 'get_compiler_version get_compiling_cuda_version'),
    _family('iou3d', ABSENT, None, 'iou3d_boxes_overlap_bev_forward iou3d_nms3d_forward iou3d_nms3d_normal_forward'),
    _family('knn', ABSENT, None, 'knn_forward'),
    _family('masked_conv', TORCH, 'masked_conv', 'masked_im2col_forward masked_col2im_forward'),
    _family('min_area_polygons', ABSENT, None, 'min_area_polygons'),
    _family(
        'modulated_deform_conv',
        TORCHVISION,
        'deform_conv',
        'modulated_deform_conv_forward modulated_deform_conv_backward',
    ),
    _family(
        'multi_scale_deform_attn', TORCH, 'multi_scale_deform_attn', 'ms_deform_attn_backward ms_deform_attn_forward'
    ),
    _family('nms', TORCHVISION, 'nms', 'nms'),
    _family('nms', TORCH, 'nms', 'softnms nms_match'),
    _family('nms', TORCH, 'rotated_boxes', 'nms_rotated nms_quadri'),
    _family('pixel_group', TORCH, 'text_regions', 'pixel_group'),
    _family(
        'points_in_boxes',
        TORCH,
        'points_in_boxes',
        'points_in_boxes_part_forward points_in_boxes_cpu_forward points_in_boxes_all_forward',
    ),
    _family('points_in_polygons', ABSENT, None, 'points_in_polygons_forward'),
    _family('prroi_pool', ABSENT, None, 'prroi_pool_forward prroi_pool_backward prroi_pool_coor_backward'),
    _family('psa_mask', TORCH, 'psa_mask', 'psamask_forward psamask_backward'),
    _family('riroi_align_rotated', ABSENT, None, 'riroi_align_rotated_forward riroi_align_rotated_backward'),
    _family('roi_align', TORCHVISION, 'roi_align', 'roi_align_forward roi_align_backward'),
    _family('roi_align_rotated', TORCH, 'roi_align_rotated', 'roi_align_rotated_forward roi_align_rotated_backward'),
    _family('roi_pool', TORCH, 'roi_pool', 'roi_pool_forward roi_pool_backward'),
    _family('roiaware_pool3d', ABSENT, None, 'roiaware_pool3d_forward roiaware_pool3d_backward'),
    _family('roipoint_pool3d', ABSENT, None, 'roipoint_pool3d_forward'),
    _family(
        'rotated_feature_align',
        TORCH,
        'rotated_feature_align',
        'rotated_feature_align_forward rotated_feature_align_backward',
    ),
    _family('scatter_points', ABSENT, None, 'dynamic_point_to_voxel_forward dynamic_point_to_voxel_backward'),
    _family(
        'sparse_ops',
        ABSENT,
        None,
        'get_indice_pairs_2d_forward get_indice_pairs_3d_forward get_indice_pairs_4d_forward '
        'get_indice_pairs_2d_backward get_indice_pairs_3d_backward indice_conv_forward indice_conv_backward '
        'fused_indice_conv_forward indice_maxpool_forward indice_maxpool_backward',
    ),
    _family(
        'sync_bn',
        TORCH,
        'sync_bn',
        'sync_bn_forward_mean sync_bn_forward_var sync_bn_forward_output sync_bn_backward_param sync_bn_backward_data',
    ),
    _family('three_interpolate', ABSENT, None, 'three_interpolate_forward three_interpolate_backward'),
    _family('three_nn', ABSENT, None, 'three_nn_forward'),
    _family('tin_shift', ABSENT, None, 'tin_shift_forward tin_shift_backward'),
    _family('upfirdn2d', TORCH, 'stylegan', 'upfirdn2d'),
    _family('voxelize', TORCH, 'voxelize', 'dynamic_voxelize_forward hard_voxelize_forward'),
)
