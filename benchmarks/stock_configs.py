"""The stock configs that stock_models.py runs: the best-known models, then one of each operator and kind."""

from typing import NamedTuple


class Stock(NamedTuple):
    """A config of mmdet or mmseg, and how to try it.

    Attributes:
        name: In the table.
        config: As mmengine finds it, ``package::folder/file``.
        size: Height and width of the images.
        classes: How many of the model's classes the labels use.
        ignored: Whether the labels of a segmentation have ignored pixels.
        options: Changes to the config.
        note: What is changed, and why.
        absent: Why the model does not run here.
    """

    name: str
    config: str
    size: int = 128
    classes: int = 2
    ignored: bool = True
    options: dict = {}
    note: str = ''
    absent: str = ''


MMPRETRAIN = 'its backbone is in mmpretrain, which is not among the requirements'
TRANSFORMERS = 'its language model is in transformers, which is not among the requirements'

NAMED = (
    Stock('Faster R-CNN', 'mmdet::faster_rcnn/faster-rcnn_r50_fpn_1x_coco'),
    Stock('Mask R-CNN', 'mmdet::mask_rcnn/mask-rcnn_r50_fpn_1x_coco'),
    Stock('Cascade R-CNN', 'mmdet::cascade_rcnn/cascade-rcnn_r50_fpn_1x_coco'),
    Stock('RetinaNet', 'mmdet::retinanet/retinanet_r50_fpn_1x_coco'),
    Stock('FCOS', 'mmdet::fcos/fcos_r50-caffe_fpn_gn-head_1x_coco'),
    Stock('ATSS', 'mmdet::atss/atss_r50_fpn_1x_coco'),
    Stock('RTMDet', 'mmdet::rtmdet/rtmdet_tiny_8xb32-300e_coco'),
    Stock('Deformable DETR', 'mmdet::deformable_detr/deformable-detr_r50_16xb2-50e_coco'),
    # 900 queries are chosen among the pixels of four feature maps
    Stock('DINO', 'mmdet::dino/dino-4scale_r50_8xb2-12e_coco', size=224),
    Stock('Mask2Former', 'mmdet::mask2former/mask2former_r50_8xb2-lsj-50e_coco'),
    Stock('SegFormer', 'mmseg::segformer/segformer_mit-b0_8xb2-160k_ade20k-512x512'),
    Stock('UPerNet', 'mmseg::upernet/upernet_r50_4xb2-40k_cityscapes-512x1024'),
    Stock('DeepLabV3+', 'mmseg::deeplabv3plus/deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024'),
    Stock('PSPNet', 'mmseg::pspnet/pspnet_r50-d8_4xb2-40k_cityscapes-512x1024'),
    Stock('Mask2Former, semantic', 'mmseg::mask2former/mask2former_r50_8xb2-90k_cityscapes-512x1024'),
)
# of mmdet, by what they have that others have not
DETECTORS = (
    Stock('BoxInst', 'mmdet::boxinst/boxinst_r50_fpn_ms-90k_coco', absent='needs scikit-image'),
    Stock('CARAFE', 'mmdet::carafe/mask-rcnn_r50_fpn-carafe_1x_coco', size=64),
    Stock('Cascade RPN', 'mmdet::cascade_rpn/cascade-rpn_faster-rcnn_r50-caffe_fpn_1x_coco'),
    Stock('CenterNet', 'mmdet::centernet/centernet_r18-dcnv2_8xb16-crop512-140e_coco'),
    Stock('CenterNet, updated', 'mmdet::centernet/centernet-update_r50-caffe_fpn_ms-1x_coco'),
    Stock('CentripetalNet', 'mmdet::centripetalnet/centripetalnet_hourglass104_16xb6-crop511-210e-mstest_coco'),
    Stock('CondInst', 'mmdet::condinst/condinst_r50_fpn_ms-poly-90k_coco_instance'),
    Stock('ConvNeXt', 'mmdet::convnext/mask-rcnn_convnext-t-p4-w7_fpn_amp-ms-crop-3x_coco', absent=MMPRETRAIN),
    Stock('CrowdDet', 'mmdet::crowddet/crowddet-rcnn_r50_fpn_8xb2-30e_crowdhuman', size=64, classes=1),
    Stock('DCN', 'mmdet::dcn/faster-rcnn_r50-dconv-c3-c5_fpn_1x_coco'),
    Stock('DCN, RoI pooling', 'mmdet::dcn/faster-rcnn_r50_fpn_dpool_1x_coco'),
    Stock('DCNv2', 'mmdet::dcnv2/faster-rcnn_r50-mdconv-c3-c5_fpn_1x_coco'),
    Stock('DCNv2, RoI pooling', 'mmdet::dcnv2/faster-rcnn_r50_fpn_mdpool_1x_coco'),
    Stock('DETR', 'mmdet::detr/detr_r50_8xb2-150e_coco'),
    Stock('DetectoRS', 'mmdet::detectors/detectors_cascade-rcnn_r50_1x_coco'),
    Stock('DyHead', 'mmdet::dyhead/atss_r50_fpn_dyhead_1x_coco'),
    Stock('FoveaBox', 'mmdet::foveabox/fovea_r50_fpn_gn-head-align_4xb4-2x_coco'),
    Stock('GFL', 'mmdet::gfl/gfl_r50_fpn_1x_coco'),
    Stock('GLIP', 'mmdet::glip/glip_atss_swin-t_a_fpn_dyhead_pretrain_obj365', absent=TRANSFORMERS),
    Stock('Grid R-CNN', 'mmdet::grid_rcnn/grid-rcnn_r50_fpn_gn-head_1x_coco', size=64),
    Stock('Grounding DINO', 'mmdet::grounding_dino/grounding_dino_r50_scratch_8xb2_1x_coco', absent=TRANSFORMERS),
    Stock('Guided anchoring', 'mmdet::guided_anchoring/ga-retinanet_r50-caffe_fpn_1x_coco'),
    Stock('HRNet', 'mmdet::hrnet/faster-rcnn_hrnetv2p-w18-1x_coco'),
    Stock('HTC without semantics', 'mmdet::htc/htc-without-semantic_r50_fpn_1x_coco', size=64),
    Stock('Libra R-CNN', 'mmdet::libra_rcnn/libra-faster-rcnn_r50_fpn_1x_coco'),
    Stock('Mask2Former, panoptic', 'mmdet::mask2former/mask2former_r50_8xb2-lsj-50e_coco-panoptic'),
    Stock('MaskFormer', 'mmdet::maskformer/maskformer_r50_ms-16xb1-75e_coco'),
    Stock('NAS-FCOS', 'mmdet::nas_fcos/nas-fcos_r50-caffe_fpn_nashead-gn-head_4xb4-1x_coco'),
    Stock('NAS-FPN', 'mmdet::nas_fpn/retinanet_r50_nasfpn_crop640-50e_coco'),
    Stock('PAA', 'mmdet::paa/paa_r50_fpn_1x_coco', absent='needs scikit-learn'),
    Stock('PISA', 'mmdet::pisa/faster-rcnn_r50_fpn_pisa_1x_coco'),
    Stock('PVT', 'mmdet::pvt/retinanet_pvt-t_fpn_1x_coco'),
    Stock('Panoptic FPN', 'mmdet::panoptic_fpn/panoptic-fpn_r50_fpn_1x_coco'),
    Stock('PointRend, instances', 'mmdet::point_rend/point-rend_r50-caffe_fpn_ms-1x_coco'),
    Stock('QueryInst', 'mmdet::queryinst/queryinst_r50_fpn_1x_coco'),
    Stock('RTMDet-Ins', 'mmdet::rtmdet/rtmdet-ins_tiny_8xb32-300e_coco'),
    Stock('RepPoints', 'mmdet::reppoints/reppoints-moment_r50_fpn_1x_coco'),
    Stock('SABL', 'mmdet::sabl/sabl-retinanet_r50_fpn_1x_coco'),
    Stock('SOLOv2', 'mmdet::solov2/solov2_r50_fpn_1x_coco'),
    Stock('SSD', 'mmdet::ssd/ssd300_coco', size=300),
    Stock('Soft-NMS', 'mmdet::faster_rcnn/faster-rcnn_r50_fpn_soft-nms_1x_coco'),
    Stock('Sparse R-CNN', 'mmdet::sparse_rcnn/sparse-rcnn_r50_fpn_1x_coco', size=64),
    Stock('Swin', 'mmdet::swin/mask-rcnn_swin-t-p4-w7_fpn_1x_coco'),
    Stock('TOOD', 'mmdet::tood/tood_r50_fpn_1x_coco'),
    Stock('VarifocalNet', 'mmdet::vfnet/vfnet_r50_fpn_1x_coco'),
    Stock('YOLACT', 'mmdet::yolact/yolact_r50_1xb8-55e_coco'),
    Stock('YOLOF', 'mmdet::yolof/yolof_r50-c5_8xb8-1x_coco'),
    Stock('YOLOX', 'mmdet::yolox/yolox_tiny_8xb8-300e_coco'),
    Stock('YOLOv3', 'mmdet::yolo/yolov3_mobilenetv2_8xb24-320-300e_coco'),
    Stock('timm backbone', 'mmdet::timm_example/retinanet_timm-tv-resnet50_fpn_1x_coco', absent=MMPRETRAIN),
)
CLASS_WEIGHTS = 'no ignored pixels: the class-weighted loss of mmseg 1.2.2 takes them for a class'
SEGMENTERS = (
    Stock('BiSeNetV2', 'mmseg::bisenetv2/bisenetv2_fcn_4xb4-160k_cityscapes-1024x1024'),
    Stock('CCNet', 'mmseg::ccnet/ccnet_r50-d8_4xb2-40k_cityscapes-512x1024'),
    Stock(
        'ConvNeXt, semantic', 'mmseg::convnext/convnext-tiny_upernet_8xb2-amp-160k_ade20k-512x512', absent=MMPRETRAIN
    ),
    Stock('DANet', 'mmseg::danet/danet_r50-d8_4xb2-40k_cityscapes-512x1024'),
    Stock('DPT', 'mmseg::dpt/dpt_vit-b16_8xb2-160k_ade20k-512x512'),
    Stock('FCN', 'mmseg::fcn/fcn_r50-d8_4xb2-40k_cityscapes-512x1024'),
    Stock('Fast-SCNN', 'mmseg::fastscnn/fast_scnn_8xb4-160k_cityscapes-512x1024'),
    Stock('HRNet, semantic', 'mmseg::hrnet/fcn_hr18s_4xb2-40k_cityscapes-512x1024'),
    Stock('K-Net', 'mmseg::knet/knet-s3_r50-d8_fcn_8xb2-adamw-80k_ade20k-512x512'),
    Stock('MaskFormer, semantic', 'mmseg::maskformer/maskformer_r50-d32_8xb2-160k_ade20k-512x512'),
    Stock('OCRNet', 'mmseg::ocrnet/ocrnet_hr18s_4xb2-40k_cityscapes-512x1024'),
    Stock('PIDNet', 'mmseg::pidnet/pidnet-s_2xb6-120k_1024x1024-cityscapes', ignored=False, note=CLASS_WEIGHTS),
    Stock('PSANet', 'mmseg::psanet/psanet_r50-d8_4xb2-40k_cityscapes-512x1024'),
    Stock('PointRend', 'mmseg::point_rend/pointrend_r50_4xb2-80k_cityscapes-512x1024'),
    Stock('PoolFormer', 'mmseg::poolformer/fpn_poolformer_s36_8x4_512x512_40k_ade20k', absent=MMPRETRAIN),
    Stock('SAN', 'mmseg::san/san-vit-b16_voc12aug-640x640', absent='mmseg cannot build it without its CLIP weights'),
    Stock('STDC', 'mmseg::stdc/stdc1_4xb12-80k_cityscapes-512x1024'),
    Stock('SegNeXt', 'mmseg::segnext/segnext_mscan-t_1xb16-adamw-160k_ade20k-512x512'),
    Stock('Segmenter', 'mmseg::segmenter/segmenter_vit-t_mask_8xb1-160k_ade20k-512x512'),
    Stock('Swin, semantic', 'mmseg::swin/swin-tiny-patch4-window7-in1k-pre_upernet_8xb2-160k_ade20k-512x512'),
    Stock('U-Net', 'mmseg::unet/unet-s5-d16_fcn_4xb4-160k_cityscapes-512x1024'),
    Stock('ViT', 'mmseg::vit/vit_deit-s16_upernet_8xb2-80k_ade20k-512x512'),
    Stock('VPD', 'mmseg::vpd/vpd_sd_4xb8-25k_nyu-480x480', absent='needs the packages of stable diffusion'),
)
CONFIGS = {stock.name: stock for stock in NAMED + DETECTORS + SEGMENTERS}
