"""What the names of the configs mean: BACKBONE_HEAD_DATA[_RECIPE][_c].py, and which backbones are paired with what."""

from typing import NamedTuple

SIZES = {'tiny': 'T', 'small': 'S', 'base': 'B', 'large': 'L'}
# name in a file's name -> in words
BACKBONES = {
    **{f'fan_hybrid_{size}': f'FAN-{letter}-Hybrid' for size, letter in SIZES.items()},
    **{f'fan_vit_{size}': f'FAN-{letter}-ViT' for size, letter in SIZES.items() if size != 'large'},
    **{f'fan_swin_{size}': f'FAN-Swin-{letter}' for size, letter in SIZES.items() if size != 'large'},
    'san10': 'SAN-10',
    'san15': 'SAN-15',
    'resnet50': 'ResNet-50',
    'convnext_tiny': 'ConvNeXt-T',
    'swin_tiny': 'Swin-T',
    'mit_b2': 'MiT-B2',
    'deit_small': 'DeiT-S',
}
# head, data and recipe in a file's name -> in words
RECIPES = {
    'maskrcnn_coco_1x': 'Mask R-CNN on COCO, 12 epochs',
    'maskrcnn_coco_3x': 'Mask R-CNN on COCO, 36 epochs, multi-scale',
    'cascade_coco_3x': 'Cascade Mask R-CNN on COCO, 36 epochs, multi-scale',
    'segformer_cityscapes': "SegFormer's head on Cityscapes",
    'upernet_cityscapes': 'UPerNet on Cityscapes',
    'segformer_ade20k': "SegFormer's head on ADE20K",
    'upernet_ade20k': 'UPerNet on ADE20K',
}
# short names for FAN-S-Hybrid with the published recipe
SHORT = {
    'fan_maskrcnn_coco': 'fan_hybrid_small_maskrcnn_coco_3x',
    'fan_maskrcnn_coco_c': 'fan_hybrid_small_maskrcnn_coco_3x_c',
    'fan_segformer_cityscapes': 'fan_hybrid_small_segformer_cityscapes',
    'fan_segformer_cityscapes_c': 'fan_hybrid_small_segformer_cityscapes_c',
    'fan_upernet_cityscapes': 'fan_hybrid_small_upernet_cityscapes',
}


class Member(NamedTuple):
    """A config of the family, by keys of :data:`BACKBONES` and :data:`RECIPES`."""

    backbone: str
    recipe: str

    @property
    def name(self) -> str:
        return f'{self.backbone}_{self.recipe}'

    @property
    def family(self) -> str:
        """The backbone's, without its size."""
        if self.backbone.startswith('fan'):
            return self.backbone.rpartition('_')[0]
        return self.backbone.rstrip('0123456789')

    @property
    def head(self) -> str:
        return self.recipe.partition('_')[0]

    @property
    def data(self) -> str:
        return self.recipe.split('_')[1]


# SAN with one detector and one segmenter, all others with everything
FAMILY = [
    member
    for member in (Member(backbone, recipe) for recipe in RECIPES for backbone in BACKBONES)
    if member.family != 'san' or member.head in ('maskrcnn', 'upernet')
]
