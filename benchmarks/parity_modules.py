"""Single modules of the published networks, checked against recorded outputs. One row of ``MODULES`` a kind."""

import functools
import json
from collections.abc import Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.parity_rule import NotCoveredError, Result, both, filled, gaussian, worst_of
from fan_dense.models.conversion_swin import TABLES
from fan_dense.models.fan_swin import FANSwinBlock
from fan_dense.models.layers import attention, block, channel, conv, position, san, san_ops, stem, window

Args = Mapping[str, object]


def on_tokens(module: nn.Module, x: Tensor, args: Args) -> dict[str, Tensor]:
    """For a module on maps, given (B, N, C). ``out_aux`` is what goes into the projection, or the output, per head."""
    mixed = []
    if hasattr(module, 'proj'):
        module.proj.register_forward_pre_hook(lambda _, inputs: mixed.append(inputs[0]))
    out = module(x.unflatten(1, (args['H'], args['W'])))
    out = getattr(module, 'downsample', nn.Identity())(out).flatten(1, 2)
    heads = (mixed[0].flatten(1, 2) if mixed else out).unflatten(-1, (getattr(module, 'num_heads', 1), -1))
    order = (0, 2, 3, 1) if 'heads, d, N' in str(args.get('out_aux')) else (0, 2, 1, 3)
    return dict(out=out, out_aux=heads.permute(order))


def on_image(module: nn.Module, x: Tensor, args: Args) -> dict[str, Tensor]:
    return dict(out=module(x)[-1].flatten(1, 2))


def on_stages(module: nn.Module, x: Tensor, args: Args) -> dict[str, Tensor]:
    stem_out = []
    module.stem[1].register_forward_hook(lambda *call: stem_out.append(call[-1]))
    maps = dict(enumerate(module(x)))
    maps = {f'stage{i}': value for i, value in maps.items()} | {'stem': stem_out[0]}
    return {name: value.permute(0, 3, 1, 2) for name, value in maps.items()}


def mlp(args: Args, **options) -> nn.Module:
    return channel.FANMlp(args['in_features'], args['hidden_features'], linear=args.get('linear', False), **options)


def eca(args: Args, **options) -> nn.Module:
    heads = args.get('c_head_num') or args['num_heads']
    return channel.ECAProcessing(args['dim'], heads, args['mlp_hidden_dim'], args['qkv_bias'], **options)


def fan_block(args: Args, **options) -> nn.Module:
    dims = args['dim'], args['num_heads'], args.get('out_dim')
    return block.FANBlock(
        *dims,
        channel_heads=args.get('c_head_num'),
        mlp_ratio=args.get('mlp_ratio', 4),
        qkv_bias=args['qkv_bias'],
        **options,
    )


def class_block(args: Args) -> nn.Module:
    names = ('dim', 'num_heads', 'mlp_ratio', 'qkv_bias', 'eta', 'tokens_norm')
    return block.ClassAttentionBlock(**{name: args[name] for name in names})


def se_mlp(args: Args) -> nn.Module:
    if not args['use_se']:
        return mlp(args)
    return channel.SEProcessing(args['in_features'], 1, args['hidden_features'])


def swin_block(args: Args) -> nn.Module:
    dim, heads, hidden_dim = args['dim'], args['num_heads'], int(args['dim'] * args.get('mlp_ratio', 4))
    size = min(args['window'], *args['input_resolution'])  # as published
    channel_processing = args['mlp_type'] == 'FAN'
    mlp = (
        channel.ECAProcessing(dim, heads, hidden_dim, residual=False)
        if channel_processing
        else block.Mlp(dim, hidden_dim)
    )
    return FANSwinBlock(dim, window.WindowAttention(dim, heads, size, args['shift']), mlp)


def on_grid(module: nn.Module, x: Tensor, args: Args) -> dict[str, Tensor]:
    """For a module on maps, given (B, N, C) of a map or of a single window."""
    size = args.get('input_resolution') or [args['window']] * 2
    return dict(out=module(x.unflatten(1, size)).flatten(1, 2))


# beginning of what the file says the module is -> how to build it from the recorded arguments, how to run it
MODULES = {
    'TokenMixing': (lambda args: attention.TokenMixing(args['dim'], args['num_heads'], args['qkv_bias']), on_tokens),
    'ChannelProcessing (classification FAN-Swin)': (functools.partial(eca, residual=False), on_tokens),
    'ChannelProcessing': (eca, on_tokens),
    'Mlp of FAN': (mlp, on_tokens),
    'FANMlp of FAN-Swin': (functools.partial(mlp, residual=False), on_tokens),
    'SEMlp': (se_mlp, on_tokens),
    'DWConv': (lambda args: conv.DepthwiseConvs(args['in_features']), on_tokens),
    'FANBlock_SE': (functools.partial(fan_block, channel='se'), on_tokens),
    'FANBlock': (fan_block, on_tokens),
    'OverlapPatchEmbed': (lambda args: conv.Downsample(args['in_chans'], args['embed_dim']), on_tokens),
    'ClassAttentionBlock': (class_block, lambda module, x, args: dict(out=module(x))),
    'SwinTransformerBlock': (swin_block, on_grid),
    'WindowAttention': (lambda args: window.WindowAttention(args['dim'], args['num_heads'], args['window']), on_grid),
    'PatchMerging': (lambda args: window.PatchMerging(args['dim']), on_grid),
    'ConvPatchEmbed': (lambda args: stem.ConvStem(args['patch_size'], args['embed_dim']), on_image),
    'HybridEmbed': (lambda args: stem.HybridStem(args['depths'], args['dims'], args['embed_dim']), on_image),
    'hybrid ConvNeXt': (lambda args: stem.ConvNeXt(args['depths'], args['dims']), on_stages),
    'ConvNeXtBlock': (  # alone, on a contiguous map, it was recorded with the usual variance
        lambda args: stem.ConvNeXtBlock(args['dim'], norm=nn.LayerNorm),
        lambda module, x, args: dict(out=module(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)),
    ),
}


def check_module(stored: Mapping[str, np.ndarray]) -> Result:
    """Output of a single module."""
    name, args = str(stored['meta__module']), json.loads(str(stored['meta__args']))
    if name.startswith('PositionalEncodingFourier'):
        return check_position(stored, args)
    row = next((row for beginning, row in MODULES.items() if name.startswith(beginning)), None)
    if row is None:
        raise NotCoveredError(f'{name}: no such module yet')
    build, replay = row
    x = torch.from_numpy(stored['in_x'])

    @torch.no_grad()
    def run(dtype: torch.dtype) -> float:
        module = filled(build(args)).to(dtype)
        keys = {key: list(value.shape) for key, value in module.state_dict().items()}
        published = {
            key: shape for key, shape in json.loads(str(stored['meta__keys'])).items() if not TABLES.match(key)
        }
        if keys != published:
            raise ValueError(f'the state-dict is {keys}')
        return worst_of(replay(module, x.to(dtype), args), stored)

    return both(run)


def check_position(stored: Mapping[str, np.ndarray], args: Args) -> Result:
    """Fourier features, and their projection, for several grids and both sets of frequencies."""
    names = [key.removesuffix('__shape') for key in stored if key.endswith('__shape')]

    @torch.no_grad()
    def run(dtype: torch.dtype) -> float:
        tensors = {}
        for name in names:
            kind, size, what = name.split('_')
            grid = tuple(int(side) for side in size.split('x'))
            options = dict(hidden_dim=args['hidden_dim'], temperature=args['temperature'], floor=kind == 'floor')
            if what == 'raw':
                out = position.fourier_features(*grid, **options)
            else:
                module = filled(position.PositionEncoding(args['dim'], **options)).to(dtype)
                out = module(torch.empty(1, *grid, 1, dtype=dtype))
            tensors[name] = out.permute(2, 0, 1)[None]
        return worst_of(tensors, stored)

    return both(run)


def check_operators(stored: Mapping[str, np.ndarray]) -> Result:
    """Outputs and gradients of SAN's operators."""
    case, padding = str(stored['meta__case']), int(stored['meta__padding'])
    options = tuple(int(stored[f'meta__{name}']) for name in ('kernel', 'stride', 'dilation'))

    def pad(x: Tensor) -> Tensor:
        return F.pad(x, (padding,) * 4) if stored['meta__pad_mode'] == 'zero' else san_ops.reflect_pad(x, padding)

    def run(dtype: torch.dtype) -> float:
        x1, x2, w = (torch.from_numpy(stored[name]).to(dtype).requires_grad_() for name in ('x1', 'x2', 'w'))
        weights = w.unflatten(3, tuple(stored['meta__out_hw'].tolist()))
        outputs = {
            'subtraction': (dict(x1=x1), san.subtraction(pad(x1), pad(x1), options).flatten(3)),
            'subtraction2': (dict(x1=x1, x2=x2), san.subtraction(pad(x1), pad(x2), options).flatten(3)),
            'aggregation': (dict(x1=x1, w=w), san_ops.aggregate(weights, pad(x1), *options)),
        }
        tensors = dict(x1=x1, x2=x2, w=w) | {name: out for name, (_, out) in outputs.items()}
        for name, (inputs, out) in outputs.items():
            cotangent = torch.from_numpy(np.float32(gaussian(f'san_op/{case}/g_{name}', tuple(out.shape))))
            grads = torch.autograd.grad(out, list(inputs.values()), cotangent.to(dtype))
            tensors |= {f'grad_{name}_{key}': grad for key, grad in zip(inputs, grads)}
        return worst_of(tensors, stored)

    return both(run)
