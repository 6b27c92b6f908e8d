"""The published networks by name: how each is built and filled, and which of its tensors were recorded."""

import functools
import re
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from benchmarks.parity_rule import NotCoveredError, filled
from fan_dense.models import FAN, SAN, FANClassifier, FANSwin, FANSwinClassifier, SANClassifier
from fan_dense.models.conversion import convert_fan_state_dict
from fan_dense.models.conversion_swin import convert_swin_state_dict
from fan_dense.models.layers.san import PatchwiseAttention
from fan_dense.models.loading import unwrap
from fan_dense.models.san import ARCHS as SAN_ARCHS

# published name -> arch
FAN_ARCHS = {
    'fan_tiny_12_p16_224': 'vit-tiny',
    'fan_small_12_p16_224': 'vit-small',
    'fan_small_12_p16_224_se_attn': 'vit-small-se',
    'fan_base_18_p16_224': 'vit-base',
    'fan_large_24_p16_224': 'vit-large',
    'fan_tiny_8_p4_hybrid': 'hybrid-tiny',
    'fan_small_12_p4_hybrid': 'hybrid-small',
    'fan_base_16_p4_hybrid': 'hybrid-base',
    'fan_base_12_p4_hybrid': 'hybrid-base',
    'fan_large_16_p4_hybrid': 'hybrid-large',
    'fan_large_12_p4_hybrid': 'hybrid-large',
    'fan_Xlarge_16_p4_hybrid': 'hybrid-xlarge',
}
TASKS = {
    'classification': FANClassifier,
    'segmentation': functools.partial(FAN, last_map='tokens'),
    'detection': functools.partial(FAN, last_map='downsample'),
}
# published name -> network, of those that were published for one task
NETWORKS = {
    'FANSwinTransformer': functools.partial(FANSwin, 'tiny-seg'),
    **{
        f'fan_swin_{arch}_patch4_window7_224': functools.partial(FANSwinClassifier, arch)
        for arch in ('tiny', 'small', 'base', 'large')
    },
    **{
        f'{arch}_{attention}': functools.partial(SANClassifier, arch, attention=attention)
        for arch in SAN_ARCHS
        for attention in ('pairwise', 'patchwise')
    },
}


def build_network(model: str, task: str) -> nn.Module:
    """The network that was published as ``model`` for ``task``, a key of ``TASKS`` or the beginning of one."""
    if model in NETWORKS:
        return NETWORKS[model]()
    if model not in FAN_ARCHS:
        raise NotCoveredError(f'{model}: no such network yet')
    return next(build for name, build in TASKS.items() if name.startswith(task))(FAN_ARCHS[model])


@functools.lru_cache(maxsize=1)  # files of one network follow each other
def network(model: str, task: str) -> nn.Module:
    """:func:`build_network` in evaluation mode, with the weights of the rule."""
    module = filled(build_network(model, task))
    for layer in module.modules():
        if isinstance(layer, PatchwiseAttention):  # or their outputs would overflow, says the rule
            for value in layer.conv_w[-1].parameters():
                value.data = (value.data.double() / layer.window[0] ** 2).float()
    return module


def manifest_name(stored: Mapping) -> str:
    """Published name of the network that a manifest is of."""
    if stored['factory'] != 'san':
        return stored['factory']
    arch = [name for name, row in SAN_ARCHS.items() if list(row['depths']) == stored['layers']]
    return f'{arch[0] if arch else stored["layers"]}_{("pairwise", "patchwise")[stored["sa_type"]]}'


def convert(module: nn.Module, published: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """Published weights under our names, and the keys that were left out."""
    if isinstance(module, FANSwin):
        return convert_swin_state_dict(published, dense=not isinstance(module, FANSwinClassifier))
    if isinstance(module, SAN):
        return unwrap(published)
    return convert_fan_state_dict(published, dense=not isinstance(module, FANClassifier))


@torch.no_grad()
def record(module: nn.Module, image: Tensor) -> dict[str, Tensor]:
    """Outputs, intermediate tensors and running statistics of a forward pass, under the names of the stored ones."""
    tensors = {}

    def keep(name: str, layout: Callable[[Tensor], Tensor]):
        return lambda _, __, output: tensors.__setitem__(name, layout(output))

    watch = next(watch for kind, watch in WATCHED.items() if isinstance(module, kind))
    for name, (layer, layout) in watch(module).items():
        layer.register_forward_hook(keep(name, layout))
    out = module(image)
    tensors |= {'logits': out} if isinstance(out, Tensor) else {f'out{i}': x for i, x in enumerate(out)}
    for key, value in module.state_dict().items():
        if match := re.fullmatch(r'blocks\.(\d+)\..*\.bn\.(running_\w+)', key):
            key = f'block{match[1]}_bn_{match[2]}'
        tensors.setdefault(key.replace('.', '_'), value)
    return tensors


def tokens(x: Tensor | list[Tensor]) -> Tensor:
    """(B, H, W, C) or (B, N, C), the last of several, to (B, N, C)."""
    return (x[-1] if isinstance(x, list) else x).flatten(1, -2)


def watched_in_fan(module: nn.Module) -> dict[str, tuple[nn.Module, Callable]]:
    return {
        'patch_embed': (module.patch_embed, tokens),
        'pos_embed': (module.pos_embed, lambda x: x.permute(2, 0, 1)[None]),
        **{f'block{i}': (layer.downsample, tokens) for i, layer in enumerate(module.blocks)},
        **{f'cls_attn_block{i}': (layer, tokens) for i, layer in enumerate(module.cls_attn_blocks)},
        **({'norm': (module.norm, tokens)} if isinstance(module, FANClassifier) else {}),
    }


def watched_in_fan_swin(module: nn.Module) -> dict[str, tuple[nn.Module, Callable]]:
    watched = {'patch_embed': (module.patch_embed, tokens)}
    for i, stage in enumerate(module.layers):
        watched |= {f'layer{i}_block{j}': (block, tokens) for j, block in enumerate(stage.blocks)}
        watched[f'layer{i}_downsample'] = stage.downsample, tokens
    return watched | ({'norm': (module.norm, tokens)} if isinstance(module, FANSwinClassifier) else {})


def watched_in_san(module: nn.Module) -> dict[str, tuple[nn.Module, Callable]]:
    watched = {}
    for i in module.stages:
        _, blocks, _ = module.stage(i)
        watched[f'layer{i}'] = blocks[-1], torch.clone
        watched[f'layer{i}_block0_sam'] = blocks[0].sam, torch.clone
    return watched


WATCHED = {FAN: watched_in_fan, FANSwin: watched_in_fan_swin, SAN: watched_in_san}
