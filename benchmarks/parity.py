"""Replay recorded outputs of the published networks (weights by rule, inputs by rule) on ours.

    python benchmarks/parity.py DIR

DIR is searched with its subfolders for four kinds of files: outputs of whole networks and of single modules (``.npz``),
gradient norms and state-dict manifests (``.json``). A line per file gives the largest difference in float64 and in
float32, as a fraction of the largest value of the tensor it occurs in; a manifest is right or not. A file of a network
that fan_dense does not have is reported as not covered. The exit status is 1 if any file is out or none was checked.

A network is one row of ``NETWORKS``, a module one row of ``MODULES``.
"""

import argparse
import copy
import functools
import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from fan_dense.models import FAN, FANClassifier
from fan_dense.models.conversion import convert_fan_state_dict
from fan_dense.models.layers import attention, block, channel, conv, position, stem

BOUNDS = {'float64': 1e-6, 'float32': 1e-4}

# published name -> arch
NETWORKS = {
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


class NotCoveredError(Exception):
    """A file about something that fan_dense does not have."""


class Result(NamedTuple):
    """Largest relative difference of a file in each precision, or what is wrong with it."""

    float64: float
    float32: float
    wrong: str = ''

    @property
    def out(self) -> bool:
        return bool(self.wrong) or not (self.float64 <= BOUNDS['float64'] and self.float32 <= BOUNDS['float32'])


# weights and inputs


def gaussian(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal values whose seed is the name: the first 8 bytes of its SHA-256, little-endian."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], 'little')
    return np.random.Generator(np.random.PCG64(seed)).standard_normal(shape)


def weight(key: str, shape: tuple[int, ...]) -> Tensor:
    """The float32 value of a state-dict entry; depends on its name and shape only."""
    last, a = key.rpartition('.')[2], gaussian(key, shape)
    if last == 'running_var':
        a = 1 + 0.1 * np.abs(a)
    elif last in ('running_mean', 'cls_token', 'relative_position_bias_table', 'bias'):
        a = 0.1 * a
    elif last in ('gamma', 'gamma1', 'gamma2', 'temperature') or len(shape) == 1:
        a = 1 + 0.1 * a
    else:
        a = a / math.sqrt(math.prod(shape[1:]))
    return torch.from_numpy(np.asarray(a, np.float32))


def filled(module: nn.Module) -> nn.Module:
    """The module in evaluation mode, with the weights of the rule."""
    state = module.state_dict()
    state.update({key: weight(key, value.shape) for key, value in state.items() if value.is_floating_point()})
    module.load_state_dict(state)
    return module.eval()


def build_network(model: str, task: str) -> nn.Module:
    """The network that was published as ``model`` for ``task``, a key of ``TASKS`` or the beginning of one."""
    if model not in NETWORKS:
        raise NotCoveredError(f'{model}: no such network yet')
    return next(build for name, build in TASKS.items() if name.startswith(task))(NETWORKS[model])


@functools.lru_cache(maxsize=1)  # files of one network follow each other
def network(model: str, task: str) -> nn.Module:
    return filled(build_network(model, task))


# comparison


def difference(got: Tensor, stored: Mapping[str, np.ndarray], name: str) -> float:
    """Largest relative difference of a tensor from a stored one, by its samples and by its statistics.

    Class-attention blocks of dense networks have no class token: its place in the stored tensor is passed over.
    """
    shape, step = tuple(stored[f'{name}__shape']), int(stored[f'{name}__k'])
    expected = torch.from_numpy(stored[name]).double().flatten()
    index = torch.arange(math.prod(shape))[::step]
    got = got.detach().double()
    if name.startswith('cls_attn_block') and got.shape[1] == shape[1] - 1:
        got = torch.cat([torch.full_like(got[:, :1], torch.nan), got], 1)
        seen = index // shape[2] % shape[1] > 0
    else:
        seen = torch.ones_like(index, dtype=torch.bool)
    if tuple(got.shape) != shape:
        raise ValueError(f'{name} is {tuple(got.shape)} instead of {shape}')
    scale = expected.abs().max().clamp(min=torch.finfo(torch.float32).tiny)
    worst = ((got.flatten()[index] - expected)[seen].abs().max() / scale).item()
    if step > 1 and seen.all():
        mean, std, low, high, norm = stored[f'{name}__stats']
        ours = torch.stack([got.mean(), got.std(correction=0), got.min(), got.max()])
        theirs = torch.tensor([mean, std, low, high])
        worst = max(worst, ((ours - theirs).abs().max() / theirs.abs().max()).item(), abs(got.norm().item() / norm - 1))
    return worst


def both(run: Callable[[torch.dtype], float]) -> Result:
    """``run`` in float64 and in float32."""
    return Result(run(torch.float64), run(torch.float32))


def worst_of(tensors: Mapping[str, Tensor], stored: Mapping[str, np.ndarray]) -> float:
    """Largest difference over all stored tensors; each of them must be there."""
    names = [key.removesuffix('__shape') for key in stored if key.endswith('__shape')]
    missing = [name for name in names if name not in tensors and not name.startswith('in_')]
    if missing:
        raise ValueError(f'nothing to compare with {", ".join(missing)}')
    # nan compares as neither larger nor smaller, and must not vanish in a maximum
    return max((difference(tensors[name], stored, name) for name in names if name in tensors), key=_nan_last)


def _nan_last(value: float) -> float:
    return math.inf if math.isnan(value) else value


# whole networks


def check_outputs(stored: Mapping[str, np.ndarray]) -> Result:
    """Outputs and intermediate tensors of a network, in evaluation or training mode."""
    model, task = str(stored['meta__model']), str(stored['meta__task'])
    shape = tuple(int(size) for size in stored['meta__input_shape'])
    image = torch.from_numpy(np.float32(gaussian(str(stored['meta__input_seed']), shape)))
    training = 'train mode' in str(stored['meta__note'])

    def run(dtype: torch.dtype) -> float:
        module = copy.deepcopy(network(model, task)).to(dtype).train(training)
        return worst_of(record(module, image.to(dtype)), stored)

    return both(run)


@torch.no_grad()
def record(module: nn.Module, image: Tensor) -> dict[str, Tensor]:
    """Outputs, intermediate tensors and running statistics of a forward pass, under the names of the stored ones."""
    tensors = {}

    def keep(name: str, layout: Callable[[Tensor], Tensor]):
        return lambda _, __, output: tensors.__setitem__(name, layout(output))

    tokens = functools.partial(torch.flatten, start_dim=1, end_dim=-2)
    module.patch_embed.register_forward_hook(keep('patch_embed', lambda maps: tokens(maps[-1])))
    module.pos_embed.register_forward_hook(
        keep('pos_embed', lambda x: x.permute(2, 0, 1).expand(len(image), -1, -1, -1))
    )
    for i, layer in enumerate(module.blocks):
        layer.downsample.register_forward_hook(keep(f'block{i}', tokens))
    for i, layer in enumerate(module.cls_attn_blocks):
        layer.register_forward_hook(keep(f'cls_attn_block{i}', tokens))
    if isinstance(module, FANClassifier):
        module.norm.register_forward_hook(keep('norm', tokens))
        tensors['logits'] = module(image)
    else:
        tensors |= {f'out{i}': output for i, output in enumerate(module(image))}
    for key, value in module.state_dict().items():
        if match := re.fullmatch(r'blocks\.(\d+)\..*\.bn\.(running_\w+)', key):
            key = f'block{match[1]}_bn_{match[2]}'
        tensors.setdefault(key.replace('.', '_'), value)
    return tensors


def check_gradients(stored: Mapping) -> Result:
    """Norm, sum and largest value of the gradient of each parameter.

    The unit is the norm of the parameter's gradient, or what rounding makes of larger ones where that is zero or tiny.
    """
    image = torch.from_numpy(np.float32(gaussian(stored['input_seed'], tuple(stored['input_shape']))))
    floor = 1e-3 * max(entry['l2'] for entry in stored['grads'].values())

    def run(dtype: torch.dtype) -> float:
        module = copy.deepcopy(network(stored['model'], stored['task'])).to(dtype)
        outputs = module(image.to(dtype))
        outputs = [outputs] if isinstance(outputs, Tensor) else outputs
        loss = sum(output.square().mean() for output in outputs)
        loss.backward()
        worst = abs(loss.item() / stored['loss'] - 1)
        ours = {key: value.grad.double() for key, value in module.named_parameters()}
        for key, entry in stored['grads'].items():
            grad = ours.pop(key, torch.zeros(1, dtype=torch.float64))  # what we do not have has no gradient there
            unit = max(entry['l2'], floor)
            got = dict(l2=grad.norm(), sum=grad.sum(), absmax=grad.abs().max())
            worst = max(worst, *(abs(got[name].item() - entry[name]) / unit for name in got), key=_nan_last)
        if ours:
            raise ValueError(f'no gradient is stored for {", ".join(ours)}')
        return worst

    return both(run)


def check_manifest(stored: Mapping) -> Result:
    """Names, shapes, kinds and number of all state-dict entries, after conversion."""
    with torch.device('meta'):
        module = build_network(stored['factory'], stored['task'])
        published = {key: torch.empty(entry['shape']) for key, entry in stored['keys'].items()}
    weights, dropped = convert_fan_state_dict(published, dense=not isinstance(module, FANClassifier))
    ours, parameters = module.state_dict(), dict(module.named_parameters())
    wrong = list(weights.keys() ^ ours.keys())
    wrong += [key for key in weights.keys() & ours.keys() if weights[key].shape != ours[key].shape]
    wrong += [key for key in weights if (key in parameters) != (stored['keys'][key]['kind'] == 'param')]
    count = sum(value.numel() for value in parameters.values())
    count += sum(published[key].numel() for key in dropped)
    if count != stored['num_params']:
        wrong.append(f'{count} parameters instead of {stored["num_params"]}')
    return Result(0, 0, ', '.join(wrong))


# single modules

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
        if keys != json.loads(str(stored['meta__keys'])):
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


# command


def check(file: Path) -> Result:
    """Check a file, whatever its kind."""
    if file.suffix == '.npz':
        with np.load(file, allow_pickle=False) as arrays:
            stored = dict(arrays)
        kinds = {'meta__model': check_outputs, 'meta__module': check_module}
    else:
        stored = json.loads(file.read_text())
        kinds = {'grads': check_gradients, 'keys': check_manifest}
    for key, kind in kinds.items():
        if key in stored:
            return kind(stored)
    raise NotCoveredError('none of the four kinds of files')


def main(directory: Path) -> int:
    """Print the report of all files in ``directory`` and return the exit status."""
    files = sorted(file for file in directory.rglob('*') if file.suffix in ('.npz', '.json'))
    if not files:
        sys.exit(f'{directory}: no .npz or .json files there')
    checked = out = 0
    for file in files:
        name = file.relative_to(directory)
        try:
            result = check(file)
        except NotCoveredError as reason:
            print(f'-    {name}: not covered ({reason})')
            continue
        except Exception as error:  # whatever a network raises is a result here
            result = Result(math.nan, math.nan, f'{type(error).__name__}: {error}')
        checked, out = checked + 1, out + result.out
        figures = f'float64 {result.float64:.1e}, float32 {result.float32:.1e}'
        print(f'{"FAIL" if result.out else "ok":5}{name}: {result.wrong or figures}', flush=True)
    print(f'{checked - out} of {checked} files agree, {len(files) - checked} are not covered')
    return 1 if out or not checked else 0


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('directory', type=Path, metavar='DIR')
    sys.exit(main(parser.parse_args().directory))
