"""The classes of the street scenes. Names and colours are those of Cityscapes.

A bicycle includes who rides it; a traffic sign may be a traffic light; poles are ignored.
"""

PALETTE = {
    'road': (128, 64, 128),
    'sidewalk': (244, 35, 232),
    'building': (70, 70, 70),
    'traffic sign': (220, 220, 0),
    'vegetation': (107, 142, 35),
    'terrain': (152, 251, 152),
    'sky': (70, 130, 180),
    'person': (220, 20, 60),
    'car': (0, 0, 142),
    'truck': (0, 0, 70),
    'bicycle': (119, 11, 32),
}
SEMANTIC_CLASSES = tuple(PALETTE)
SEMANTIC_PALETTE = [list(colour) for colour in PALETTE.values()]
INSTANCE_CLASSES = ('person', 'bicycle', 'car', 'truck', 'traffic sign')
INSTANCE_PALETTE = [PALETTE[name] for name in INSTANCE_CLASSES]
IGNORE = 255
ROAD, SIDEWALK, BUILDING, _, VEGETATION, TERRAIN, SKY = range(7)
