"""Networks of timm as backbones: the baselines that mmdet and mmseg have not, ConvNeXt and DeiT."""

import contextlib
import sys
from collections.abc import Mapping, Sequence

import torch
from mmengine.registry import MODELS
from torch import Tensor, nn

from .backbone import Backbone
from .loading import Converted, unwrap
from .table import nearest_first


@MODELS.register_module()
class TimmBackbone(Backbone):
    """A network of timm. Its maps are what timm calls intermediate features: ConvNeXt's stages, a ViT's blocks.

    Layers that no map depends on do not exist, nor do norms behind the maps. ``out_channels`` and ``out_strides``
    describe the maps in the order they are given.

    Args:
        model_name: As in ``timm.create_model``.
        out_indices: The maps to give.
        in_channels: Channels of the image.
        options: More arguments of ``timm.create_model``, such as ``drop_path_rate``. A ViT takes images of any size
            with ``dict(dynamic_img_size=True, dynamic_img_pad=True)``.
        norm_eval: Keep BatchNorm layers in evaluation mode while training.
        frozen_stages: -1 for nothing; 0 to freeze the stem; n for all that the first n maps depend on as well. What is
            frozen stays in evaluation mode.
        with_cp: Recompute blocks in the backward pass rather than keep their activations.
        init_cfg: ``dict(type='Pretrained', checkpoint=...)`` loads timm's classifiers, and files of their
            authors' whose names timm can translate.

    Raises:
        ValueError: for a network that timm has not or that gives no maps, or an option or value that does not fit.
    """

    def __init__(
        self,
        model_name: str,
        out_indices: Sequence[int] = (0, 1, 2, 3),
        in_channels: int = 3,
        options: Mapping | None = None,
        norm_eval: bool = False,
        frozen_stages: int = -1,
        with_cp: bool = False,
        init_cfg: dict | list | None = None,
    ):
        arguments = dict(options or {}, in_chans=in_channels)
        network = _create(model_name, **arguments)
        features = network.feature_info
        super().__init__(out_indices, len(features), frozen_stages, len(features), norm_eval, init_cfg)
        self.network = network
        self.model_name = model_name
        self.arguments = arguments
        self.network.prune_intermediate_layers(list(self.out_indices), prune_norm=True)
        self.network.set_grad_checkpointing(with_cp)
        self.describe([(feature['num_chs'], feature['reduction']) for feature in features])
        self.freeze()

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        """Image (B, 3, H, W) to the chosen maps (B, C, H/stride, W/stride)."""
        indices = sorted(set(self.out_indices))  # timm gives maps in their own order
        maps = self.network.forward_intermediates(
            image, indices=indices, norm=False, output_fmt='NCHW', intermediates_only=True
        )
        return tuple(maps[indices.index(index)] for index in self.out_indices)

    def convert(self, weights: Mapping, prefix: str | None = None) -> Converted:
        weights, dropped = unwrap(weights, prefix)
        weights = {key.removeprefix('network.'): value for key, value in weights.items()}
        with torch.device('meta'):
            whole = _create(self.model_name, **self.arguments)
        translate = getattr(sys.modules[type(whole).__module__], 'checkpoint_filter_fn', None)
        if translate is not None:
            with contextlib.suppress(KeyError):  # weights of another network, of which the report tells
                weights = translate(weights, whole)
        known = {f'network.{key}' for key in whole.state_dict()}
        return Converted(
            {f'network.{key}': value for key, value in weights.items()},
            dropped,
            optional=known.__contains__,
            new=lambda key: key.endswith('.num_batches_tracked'),
        )

    def freeze(self) -> None:
        if self.frozen_stages >= 0:
            names = self._frozen_names()
            for name, parameter in self.network.named_parameters():
                parameter.requires_grad_(name not in names)

    def frozen(self) -> list[nn.Module]:
        found = []
        for module in self.network.modules():
            parameters = list(module.parameters())
            if parameters and not any(parameter.requires_grad for parameter in parameters):
                found.append(module)
        return found

    def _frozen_names(self) -> set[str]:
        """Names of the parameters in the stem and in what the first ``frozen_stages`` maps depend on."""
        from timm.models import group_parameters

        groups = group_parameters(self.network, self.network.group_matcher(coarse=True))  # the stem is group 0
        ends = tuple(f'{feature["module"]}.' for feature in self.network.feature_info[: self.frozen_stages])
        last = max(
            group for group, names in groups.items() if not group or any(name.startswith(ends) for name in names)
        )
        return {name for group, names in groups.items() if group <= last for name in names}


def _create(model_name: str, **arguments) -> nn.Module:
    import timm  # which takes seconds, and registers our own classifiers when it is imported

    if not timm.is_model(model_name):
        near = ', '.join(nearest_first(model_name, timm.list_models())[:3])
        raise ValueError(f'timm has no model {model_name!r}; the nearest names: {near}')
    try:
        network = timm.create_model(model_name, **arguments)
    except TypeError as error:
        raise ValueError(f'{model_name} of timm does not take these options: {error}') from None
    if not hasattr(network, 'forward_intermediates'):
        raise ValueError(f'{model_name} of timm gives no intermediate features, and cannot be a backbone')
    return network
