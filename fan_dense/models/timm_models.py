"""The published classifiers as models of timm, under their published names, and their backbones as feature extractors.

    import fan_dense, timm
    timm.create_model('fan_small_12_p4_hybrid', num_classes=10)
    timm.create_model('fan_small_12_p4_hybrid', features_only=True, out_indices=(1, 2))

timm's training and validation scripts find them when they are started by ``python -m fan_dense``. In timm's usage
``drop_rate`` is dropout before the last layer; ``proj_drop_rate`` is what our networks call so. All other options of
our networks are options here, too. Features are the maps of the backbone, of which only what the chosen ones need
exists. Whatever timm loads may be a published checkpoint.
"""

import dataclasses
import fnmatch
from collections.abc import Mapping, Sequence

from timm.data import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD
from timm.models import (
    FeatureInfo,
    build_model_with_cfg,
    generate_default_cfgs,
    register_model,
    register_model_deprecations,
    resolve_pretrained_cfg,
)
from torch import Tensor, nn

from .catalogue import ARCHITECTURES, find
from .classifier import FANClassifier
from .fan import FAN, init_linear
from .fan_swin import FANSwin, FANSwinClassifier
from .loading import check_fit, sort_keys
from .san import SAN, SANClassifier


@dataclasses.dataclass(frozen=True)
class Family:
    """What timm wants to know of one of our networks.

    Attributes:
        pooling: timm's name of how features are pooled for the last layer.
        linear: Name of that layer.
        undecayed: Patterns of the names of parameters without weight decay, beside norms and biases.
        layers: timm's patterns of layers from input to output, for learning rates that decay with depth.
        stages: The same, coarsely.
        data: The preparation of images, as timm has it for the networks that these descend from.
    """

    pooling: str
    linear: str
    undecayed: tuple[str, ...]
    layers: dict
    stages: dict
    data: dict


JOIN = (99999,)  # timm's mark of parameters that belong to the layer before
FAN_LAYERS = dict(
    stem=r'cls_token|pos_embed|patch_embed',
    blocks=r'blocks\.(\d+)',
    cls_attn_blocks=[(r'cls_attn_blocks\.(\d+)', None), (r'norm', JOIN)],
)
FAN_FAMILY = Family(
    pooling='token',
    linear='head',
    undecayed=('pos_embed.*', 'cls_token', '*.temperature'),
    layers=FAN_LAYERS,
    stages=FAN_LAYERS,
    data=dict(crop_pct=1.0, interpolation='bicubic', min_input_size=(3, 16, 16)),
)
FAN_SWIN_FAMILY = Family(
    pooling='avg',
    linear='head',
    undecayed=('*.relative_position_bias_table', '*.temperature'),
    layers=dict(
        stem=r'patch_embed',
        layers=[(r'layers\.(\d+)\.blocks\.(\d+)', None), (r'layers\.(\d+)\.downsample', JOIN), (r'norm', JOIN)],
    ),
    stages=dict(stem=r'patch_embed', layers=[(r'layers\.(\d+)', None), (r'norm', JOIN)]),
    data=dict(crop_pct=0.9, interpolation='bicubic'),
)
SAN_FAMILY = Family(
    pooling='avg',
    linear='fc',
    undecayed=(),
    layers=dict(
        stem=r'(?:conv|bn)_in', layers=[(r'layer(\d+)\.(\d+)', None), (r'conv(\d+)', (0,)), (r'bn(\d+)', JOIN)]
    ),
    stages=dict(stem=r'(?:conv|bn)_in', layers=r'(?:conv|layer|bn)(\d+)'),
    data=dict(crop_pct=0.875, interpolation='bilinear', min_input_size=(3, 32, 32)),
)


class _Model:
    """What timm asks of any model. A subclass has the attribute ``family``."""

    family: Family

    def __init__(self, in_chans: int = 3, proj_drop_rate: float = 0.0, **options):
        dropout = dict(drop_rate=proj_drop_rate) if proj_drop_rate else {}  # SAN has no such option
        super().__init__(in_channels=in_chans, **dropout, **options)
        self.in_chans = in_chans

    def no_weight_decay(self) -> set[str]:
        names = [name for name, _ in self.named_parameters()]
        return {name for pattern in self.family.undecayed for name in fnmatch.filter(names, pattern)}

    def group_matcher(self, coarse: bool = False) -> dict:
        return self.family.stages if coarse else self.family.layers

    def set_grad_checkpointing(self, enable: bool = True) -> None:
        for module in self.modules():
            if hasattr(module, 'with_cp'):
                module.with_cp = enable

    def load_state_dict(self, state_dict: Mapping[str, Tensor], strict: bool = True, assign: bool = False):
        """As in torch, but of published weights as well as our own.

        Raises:
            CheckpointMismatch: with ``strict``, if they are of another network.
        """
        own, converted = self.state_dict(), self.convert(state_dict, prefix='')
        report = sort_keys(converted, own)
        weights = {key: value for key, value in converted.weights.items() if key not in {*report.dropped}}
        if strict:
            check_fit(converted, own, 'the state dict')
            weights |= {key: own[key] for key in report.missing}
        return super().load_state_dict(weights, strict, assign)


class _Classifier(_Model):
    """A classifier of ours, which has ``forward_features`` and ``pool``."""

    def __init__(self, num_classes: int = 1000, drop_rate: float = 0.0, global_pool: str | None = None, **options):
        super().__init__(num_classes=max(num_classes, 1), **options)
        self.head_drop = nn.Dropout(drop_rate)
        self.num_features = self.head_hidden_size = self.get_classifier().in_features
        self.num_classes = num_classes
        self._pool_by(self.family.pooling if global_pool is None else global_pool)
        if num_classes == 0:
            self.reset_classifier(0)

    def forward(self, image: Tensor) -> Tensor:
        return self.forward_head(self.forward_features(image))

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        x = self.head_drop(self.pool(x) if self.global_pool else x)
        return x if pre_logits else self.get_classifier()(x)

    def get_classifier(self) -> nn.Module:
        return self.get_submodule(self.family.linear)

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        if global_pool is not None:
            self._pool_by(global_pool)
        self.num_classes = num_classes
        layer = nn.Linear(self.num_features, num_classes) if num_classes else nn.Identity()
        init_linear(layer)
        setattr(self, self.family.linear, layer.to(next(self.parameters())).train(self.training))

    def _pool_by(self, global_pool: str) -> None:
        if global_pool not in ('', self.family.pooling):
            raise ValueError(f"global_pool must be {self.family.pooling!r}, or '' for none, not {global_pool!r}")
        self.global_pool = global_pool


class _Features(_Model):
    """A backbone of ours: image to a list of maps (B, C, H/stride, W/stride)."""

    def __init__(self, out_indices: int | Sequence[int] | None = None, **options):
        if isinstance(out_indices, int):  # so many of the last
            out_indices = range(-out_indices, 0)
        super().__init__(**options, **({} if out_indices is None else dict(out_indices=out_indices)))
        maps = enumerate(self.maps)
        info = [dict(num_chs=channels, reduction=stride, module=f'map{index}') for index, (channels, stride) in maps]
        self.feature_info = FeatureInfo(info, self.out_indices)

    def forward(self, image: Tensor) -> list[Tensor]:
        return list(super().forward(image))


class TimmFAN(_Classifier, FANClassifier):
    family = FAN_FAMILY


class TimmFANFeatures(_Features, FAN):
    family = FAN_FAMILY

    def __init__(self, pos_floor: bool = True, **options):
        """``pos_floor`` is on by default as in the classifier, of which these are the features."""
        super().__init__(pos_floor=pos_floor, **options)


class TimmFANSwin(_Classifier, FANSwinClassifier):
    family = FAN_SWIN_FAMILY


class TimmFANSwinFeatures(_Features, FANSwin):
    family = FAN_SWIN_FAMILY


class TimmSAN(_Classifier, SANClassifier):
    family = SAN_FAMILY


class TimmSANFeatures(_Features, SAN):
    family = SAN_FAMILY


NAMES = [architecture.published for architecture in ARCHITECTURES.values() if architecture.published]
# backbone -> classifier and feature extractor
CLASSES = {
    FAN: (TimmFAN, TimmFANFeatures),
    FANSwin: (TimmFANSwin, TimmFANSwinFeatures),
    SAN: (TimmSAN, TimmSANFeatures),
}
FIRST_CONV = {
    'fan_*_hybrid': 'patch_embed.backbone.stem.0',
    'fan_swin_*': 'patch_embed.proj',
    'fan_*': 'patch_embed.proj.0.0',
    'san*': 'conv_in',
}
# what the published classifiers set beside the architecture
DEFAULTS = {
    **{name: dict(drop_path_rate=0.1) for name in NAMES if 'swin' in name},
    'fan_large_16_p4_hybrid': dict(head_init_scale=0.001),
}


def _create(name: str, pretrained: bool = False, features_only: bool = False, **options) -> nn.Module:
    """The model published as ``name``, with timm's options and ours.

    Raises:
        ValueError: for ``pretrained`` without a file or URL, and for unknown or unfit options, in one line.
    """
    cfg = resolve_pretrained_cfg(name, options.get('pretrained_cfg'), options.get('pretrained_cfg_overlay'))
    if pretrained and not (cfg.has_weights or cfg.state_dict):
        raise ValueError(
            f'timm has no weights of {name} to fetch: give a published file as checkpoint_path '
            '(--initial-checkpoint), or for other classes as pretrained_cfg_overlay=dict(file=...)'
        )
    architecture = find(name)
    classifier, features = CLASSES[architecture.backbone]
    options = {**architecture.options, **options}
    if features_only:
        kwargs_filter = ('num_classes', 'global_pool', 'drop_rate')  # of the last layer, which timm always gives
        return build_model_with_cfg(features, name, pretrained, kwargs_filter=kwargs_filter, **options)
    return build_model_with_cfg(classifier, name, pretrained, **DEFAULTS.get(name, {}) | options)


def _default_cfg(name: str) -> dict:
    family = CLASSES[find(name).backbone][0].family
    return dict(
        family.data,
        mean=IMAGENET_DEFAULT_MEAN,
        std=IMAGENET_DEFAULT_STD,
        input_size=(3, 224, 224),
        num_classes=1000,
        first_conv=next(conv for pattern, conv in FIRST_CONV.items() if fnmatch.fnmatchcase(name, pattern)),
        classifier=family.linear,
    )


def _entrypoint(name: str):
    def create(pretrained: bool = False, **options) -> nn.Module:
        return _create(name, pretrained, **options)

    create.__name__ = create.__qualname__ = name
    return create


default_cfgs = generate_default_cfgs({name: _default_cfg(name) for name in NAMES})  # timm looks for it by this name
globals().update({name: register_model(_entrypoint(name)) for name in NAMES})
# the one published name that is not in lower case
register_model_deprecations(__name__, {'fan_xlarge_16_p4_hybrid': 'fan_Xlarge_16_p4_hybrid'})
