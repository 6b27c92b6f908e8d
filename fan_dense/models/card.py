"""What each architecture costs and gives: a table of all, and a page on one with the configs to use it."""

import dataclasses
import math
from collections.abc import Iterable

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from .catalogue import ARCHITECTURES, Architecture, find
from .san import SAN

FAN_PAPER = 'Zhou et al., Understanding the Robustness in Vision Transformers, ICML 2022, arXiv 2204.12451'
SAN_PAPER = 'Zhao, Jia, Koltun, Exploring Self-attention for Image Recognition, CVPR 2020, arXiv 2004.13621'
HEADER = ('arch', 'parameters', 'GFLOPs', 'channels at 1/stride', 'ImageNet', 'ImageNet-C')


@dataclasses.dataclass(frozen=True)
class Summary:
    """An architecture.

    Attributes:
        name: A key of :data:`~fan_dense.models.catalogue.ARCHITECTURES`.
        parameters: Of the classifier with 1000 classes.
        multiply_adds: Of the same, for an image: of products of matrices and convolutions, as they are published.
        image_size: Height and width of the image.
        channels: Of the backbone's maps.
        strides: Of these.
        imagenet: Published accuracy on ImageNet-1K and ImageNet-C in per cent; None if there is none.
    """

    name: str
    parameters: int
    multiply_adds: int
    image_size: int
    channels: tuple[int, ...]
    strides: tuple[int, ...]
    imagenet: tuple[float, float] | None

    def row(self) -> tuple[str, ...]:
        """Cells under :data:`HEADER`."""
        maps = ', '.join(f'{channels}@{stride}' for channels, stride in zip(self.channels, self.strides))
        size, cost = f'{self.parameters / 1e6:.2f} M', f'{self.multiply_adds / 1e9:.2f}'
        return (f'`{self.name}`', size, cost, maps, *(f'{value:.1f}' for value in self.imagenet or ()))


def summarize(name: str, image_size: int = 224) -> Summary:
    """Count what an architecture costs. Nothing is computed: shapes are enough.

    Raises:
        ValueError: for an unknown name, with the known ones.
    """
    architecture = find(name)
    with torch.device('meta'):
        classifier = architecture.classifier(**architecture.options).eval()
        image = torch.empty(1, 3, image_size, image_size)
    channels, strides = _maps(architecture)
    return Summary(
        name=next(key for key, other in ARCHITECTURES.items() if other is architecture),
        parameters=sum(value.numel() for value in classifier.parameters()),
        multiply_adds=multiply_adds(classifier, image),
        image_size=image_size,
        channels=tuple(channels),
        strides=tuple(strides),
        imagenet=architecture.imagenet,
    )


def multiply_adds(network: nn.Module, image: torch.Tensor) -> int:
    """Multiplications of a forward pass, in products of matrices, convolutions and SAN's weighted sums."""
    counter = FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addcmul_: _weighted_sum})
    with torch.no_grad(), counter:
        network(image)
    return counter.get_total_flops() // 2


def _weighted_sum(*_, out_shape: tuple[int, ...], **__) -> int:
    return 2 * math.prod(out_shape)


def table(summaries: Iterable[Summary]) -> Iterable[str]:
    """Lines of a table in Markdown, one by one as their summaries come."""
    yield _line(HEADER)
    yield _line(['---'] * len(HEADER))
    for summary in summaries:
        yield _line([*summary.row(), *[''] * len(HEADER)][: len(HEADER)])


def card(name: str, image_size: int = 224) -> str:
    """A page on an architecture, in Markdown.

    Raises:
        ValueError: for an unknown name, with the known ones.
    """
    summary, architecture = summarize(name, image_size), find(name)
    size = f'{image_size}x{image_size}'
    lines = [f'# {summary.name}', '', *table([summary]), '']
    lines += [
        f'Parameters and GFLOPs (10^9 multiply-adds, for {size}) are those of the classifier with 1000 classes;',
        'accuracies, in per cent, are the published ones.',
        '',
        'Source: ' + (SAN_PAPER if architecture.backbone is SAN else FAN_PAPER),
    ]
    if architecture.published:
        lines += ['', f"In timm, after `import fan_dense`: `timm.create_model('{architecture.published}')`"]
    for title, config in (('Detection', detection_config(name)), ('Segmentation', segmentation_config(name))):
        lines += ['', f'## {title}', '', '```python', *config.splitlines(), '```']
    return '\n'.join(lines)


def detection_config(name: str) -> str:
    """The model of a config for mmdet: Mask R-CNN on the architecture.

    Raises:
        ValueError: for an unknown name, with the known ones.
    """
    architecture, changes = find(name), {}
    channels, strides = _maps(architecture, **_four_maps(architecture))
    if strides[0] == 16:  # plain: a pyramid is made of its last map
        changes['out_indices'] = (3,)
        neck = dict(_delete_=True, type='SimpleFeaturePyramid', in_channels=channels[3])
    else:
        changes |= dict(last_map='downsample') if strides[3] == 16 else _four_maps(architecture)
        neck = dict(in_channels=_maps(architecture, **changes)[0])
    return _config('mmdet::_base_/models/mask-rcnn_r50_fpn.py', architecture, changes, neck=neck)


def segmentation_config(name: str) -> str:
    """The model of a config for mmseg: SegFormer's head on the architecture.

    Raises:
        ValueError: for an unknown name, with the known ones.
    """
    architecture = find(name)
    changes = _four_maps(architecture)
    head = dict(in_channels=_maps(architecture, **changes)[0], channels=768)
    return _config('mmseg::_base_/models/segformer_mit-b0.py', architecture, changes, decode_head=head)


def _four_maps(architecture: Architecture) -> dict:
    return dict(out_indices=(1, 2, 3, 4)) if architecture.backbone is SAN else {}  # which has one at 1/2, too


def _maps(architecture: Architecture, **changes) -> tuple[list[int], list[int]]:
    """Channels and strides of the backbone's maps."""
    with torch.device('meta'):
        backbone = architecture.backbone(**architecture.options, **changes)
    return [*backbone.out_channels], [*backbone.out_strides]


def _config(base: str, architecture: Architecture, changes: dict, **parts: dict) -> str:
    backbone = dict(_delete_=True, type=architecture.backbone.__name__, **architecture.options, **changes)
    lines = [f"_base_ = '{base}'", "custom_imports = dict(imports=['fan_dense'])", 'model = dict(']
    for part, options in dict(backbone=backbone, **parts).items():
        lines.append(f'    {part}=dict({", ".join(f"{key}={value!r}" for key, value in options.items())}),')
    return '\n'.join([*lines, ')'])


def _line(cells: Iterable[str]) -> str:
    return f'| {" | ".join(cells)} |'
