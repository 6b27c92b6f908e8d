"""Every architecture of every network by one name, with what it was published as and how well it classified.

Sources: "Understanding the Robustness in Vision Transformers" (arXiv 2204.12451) for FAN and FAN-Swin, "Exploring
Self-attention for Image Recognition" (CVPR 2020) for SAN.
"""

import dataclasses
from collections.abc import Mapping

from torch import nn

from . import arch, fan_swin, san
from .classifier import FANClassifier
from .fan import FAN
from .table import nearest_first


@dataclasses.dataclass(frozen=True)
class Architecture:
    """A backbone and the classifier that it is the trunk of.

    Attributes:
        backbone: Its class.
        classifier: The class of the classifier.
        options: What either is built with, as in a config.
        published: Name of the published classifier; None if it was published as something else.
        imagenet: Its published accuracy, in per cent, on ImageNet-1K and on ImageNet-C, if there is one.
    """

    backbone: type[nn.Module]
    classifier: type[nn.Module]
    options: Mapping[str, str]
    published: str | None = None
    imagenet: tuple[float, float] | None = None


PUBLISHED_FAN = {
    'hybrid-tiny': 'fan_tiny_8_p4_hybrid',
    'hybrid-small': 'fan_small_12_p4_hybrid',
    'hybrid-base': 'fan_base_16_p4_hybrid',
    'hybrid-large': 'fan_large_16_p4_hybrid',
    'hybrid-xlarge': 'fan_Xlarge_16_p4_hybrid',
    'vit-tiny': 'fan_tiny_12_p16_224',
    'vit-small': 'fan_small_12_p16_224',
    'vit-base': 'fan_base_18_p16_224',
    'vit-large': 'fan_large_24_p16_224',
    'vit-small-se': 'fan_small_12_p16_224_se_attn',
}
IMAGENET = {
    'hybrid-tiny': (80.1, 57.4),
    'hybrid-small': (83.5, 64.7),
    'hybrid-base': (83.9, 66.4),
    'hybrid-large': (84.3, 68.3),
}


def _fan(name: str) -> Architecture:
    return Architecture(FAN, FANClassifier, dict(arch=name), PUBLISHED_FAN[name], IMAGENET.get(name))


def _fan_swin(name: str) -> Architecture:
    # NOTE tiny-seg is in the published segmentation code, where nothing uses it
    published = None if name == 'tiny-seg' else f'fan_swin_{name}_patch4_window7_224'
    return Architecture(fan_swin.FANSwin, fan_swin.FANSwinClassifier, dict(arch=name), published)


def _san(name: str, attention: str) -> Architecture:
    options = dict(arch=name, attention=attention)
    return Architecture(san.SAN, san.SANClassifier, options, f'{name}_{attention}')


ARCHITECTURES = {
    **{name: _fan(name) for name in arch.ARCHS},
    **{f'swin-{name}': _fan_swin(name) for name in fan_swin.ARCHS},
    **{f'{name}-{attention}': _san(name, attention) for name in san.ARCHS for attention in san.RELATIONS},
}


def find(name: str) -> Architecture:
    """The architecture of that name, ours or the published one.

    Raises:
        ValueError: for an unknown name, with the known ones, nearest first.
    """
    published = {row.published: row for row in ARCHITECTURES.values() if row.published}
    known = ARCHITECTURES | published
    if name not in known:
        raise ValueError(f'unknown architecture {name!r}; known: {", ".join(nearest_first(name, ARCHITECTURES))}')
    return known[name]
