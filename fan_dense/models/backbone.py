"""What our backbones have in common: a choice of maps, frozen stages, pretrained weights under published names."""

from collections.abc import Mapping, Sequence

from mmengine.model import BaseModule
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from .loading import Converted, LoadReport, load


class Backbone(BaseModule):
    """Base of a backbone. A subclass says which modules are :meth:`frozen` and how it is to :meth:`convert` weights.

    Args:
        out_indices: The maps to give, some of 0 to ``num_maps`` - 1, or from the last, -1, backwards.
        num_maps: Maps that the network has.
        frozen_stages: -1 for nothing, 0 for the stem, n for the first n stages as well, up to ``num_stages``.
        num_stages: Stages that the network has.
        norm_eval: Keep BatchNorm layers in evaluation mode while training.
        init_cfg: As in mmengine, except that ``dict(type='Pretrained', checkpoint=...)``, perhaps with ``prefix``,
            ``map_location`` or ``ema``, calls :meth:`load_published`.

    Raises:
        ValueError: for a map or stage that there is not.
    """

    def __init__(
        self,
        out_indices: Sequence[int],
        num_maps: int,
        frozen_stages: int,
        num_stages: int,
        norm_eval: bool,
        init_cfg: dict | list | None,
    ):
        cfgs = [init_cfg] if isinstance(init_cfg, Mapping) else list(init_cfg or [])
        super().__init__([cfg for cfg in cfgs if cfg['type'] != 'Pretrained'])
        self.pretrained = [cfg for cfg in cfgs if cfg['type'] == 'Pretrained']
        if not out_indices or any(index not in range(-num_maps, num_maps) for index in out_indices):
            raise ValueError(f'out_indices must be some of {", ".join(map(str, range(num_maps)))}, not {out_indices!r}')
        if frozen_stages not in range(-1, num_stages + 1):
            raise ValueError(f'frozen_stages must be between -1 and {num_stages}, not {frozen_stages!r}')
        self.out_indices = tuple(index % num_maps for index in out_indices)
        self.frozen_stages = frozen_stages
        self.norm_eval = norm_eval

    def describe(self, maps: Sequence[tuple[int, int]]) -> None:
        """Set ``out_channels`` and ``out_strides`` from (channels, stride) of all maps. To be called once."""
        self.maps = list(maps)
        self.out_channels, self.out_strides = zip(*(self.maps[index] for index in self.out_indices))

    def frozen(self) -> list[nn.Module]:
        """The modules that ``frozen_stages`` names, if it is not negative."""
        raise NotImplementedError

    def convert(self, weights: Mapping, prefix: str | None = None) -> Converted:
        """Published weights, or ours, under the names of this network, and what is to be expected of them.

        Args:
            weights: As in :func:`~fan_dense.models.loading.unwrap`.
            prefix: As in :func:`~fan_dense.models.loading.unwrap`.
        """
        raise NotImplementedError

    def load_published(
        self, checkpoint: str, prefix: str | None = None, map_location: str = 'cpu', ema: bool = False
    ) -> LoadReport:
        """Load a published checkpoint, or one of ours, and report on every key. See :func:`~.loading.load`.

        Args:
            checkpoint: Path or URL.
            prefix: As in :func:`~fan_dense.models.loading.unwrap`.
            map_location: As in ``torch.load``.
            ema: Take averaged weights (``state_dict_ema``).

        Raises:
            CheckpointMismatch: if it is of another network. Nothing is loaded then.
        """
        return load(self, checkpoint, lambda weights: self.convert(weights, prefix), map_location, ema)

    def init_weights(self) -> None:
        """Apply ``init_cfg``. Layers have their initial weights from the start.

        Raises:
            CheckpointMismatch: if a pretrained checkpoint is of another network.
        """
        super().init_weights()
        for cfg in self.pretrained:
            self.load_published(**{key: value for key, value in cfg.items() if key != 'type'})

    def freeze(self) -> None:
        """Switch gradients off in what is frozen. To be called at the end of the constructor."""
        if self.frozen_stages >= 0:
            for module in self.frozen():
                module.requires_grad_(False)

    def train(self, mode: bool = True) -> 'Backbone':
        super().train(mode)
        if self.frozen_stages >= 0:
            for module in self.frozen():
                module.eval()
        if self.norm_eval:
            for module in self.modules():
                if isinstance(module, _BatchNorm):
                    module.eval()
        return self
