"""Replay recorded outputs of the published networks (weights by rule, inputs by rule) on ours.

    python benchmarks/parity.py DIR

DIR is searched with its subfolders for four kinds of files: outputs of whole networks and of single modules (``.npz``),
gradient norms and state-dict manifests (``.json``). A line per file gives the largest difference in float64 and in
float32, as a fraction of the largest value of the tensor it occurs in; a manifest is right or not. A file of a network
that fan_dense does not have is reported as not covered. The exit status is 1 if any file is out or none was checked.

A network is one row of ``NETWORKS``, a module one row of ``MODULES`` in ``parity_modules.py``.
"""

import argparse
import copy
import functools
import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this runs as a script, too
from benchmarks.parity_modules import check_module
from benchmarks.parity_rule import NotCoveredError, Result, both, filled, gaussian, nan_last, worst_of
from fan_dense.models import FAN, FANClassifier
from fan_dense.models.conversion import convert_fan_state_dict
from fan_dense.models.layers.stem import ConvStem

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


def build_network(model: str, task: str) -> nn.Module:
    """The network that was published as ``model`` for ``task``, a key of ``TASKS`` or the beginning of one."""
    if model not in NETWORKS:
        raise NotCoveredError(f'{model}: no such network yet')
    return next(build for name, build in TASKS.items() if name.startswith(task))(NETWORKS[model])


@functools.lru_cache(maxsize=1)  # files of one network follow each other
def network(model: str, task: str) -> nn.Module:
    return filled(build_network(model, task))


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

    The unit is the norm of the parameter's gradient, or a thousandth of the largest norm, since rounding gives small
    gradients the errors of large ones.
    """
    image = torch.from_numpy(np.float32(gaussian(stored['input_seed'], tuple(stored['input_shape']))))
    floor = 1e-3 * max(entry['l2'] for entry in stored['grads'].values())

    def run(dtype: torch.dtype, shuffled: bool) -> float:
        module = copy.deepcopy(network(stored['model'], stored['task'])).to(dtype)
        if shuffled:
            module.patch_embed.proj[-1].register_forward_hook(_shuffle_gradient)
        outputs = module(image.to(dtype))
        outputs = [outputs] if isinstance(outputs, Tensor) else outputs
        loss = sum(output.square().mean() for output in outputs)
        loss.backward()
        ours = {key: value.grad.double() for key, value in module.named_parameters()}
        if unknown := ours.keys() - stored['grads'].keys():
            raise ValueError(f'no gradient is stored for {", ".join(unknown)}')
        differences = [abs(loss.item() / stored['loss'] - 1)]
        for key, entry in stored['grads'].items():
            grad = ours.get(key, torch.zeros(1, dtype=torch.float64))  # what we do not have has no gradient there
            got = dict(l2=grad.norm(), sum=grad.sum(), absmax=grad.abs().max())
            differences += [abs(got[name].item() - entry[name]) / max(entry['l2'], floor) for name in got]
        return max(differences, key=nan_last)

    bug = len(image) == 1 and isinstance(network(stored['model'], stored['task']).patch_embed, ConvStem)
    return both(lambda dtype: min((run(dtype, shuffled) for shuffled in {False, bug}), key=nan_last))


def _shuffle_gradient(_, __, output: Tensor) -> None:
    """Make the gradient of the stem's output what it was when gradients of batches of one were recorded.

    On the CPU, torch (2.14 still) takes a channels-last gradient of a BatchNorm's contiguous output for a contiguous
    one if the batch is one image and its stride is not the usual one. Finite differences agree with our order.
    """
    output.register_hook(
        lambda grad: grad.permute(0, 2, 3, 1).reshape(grad.shape).contiguous(memory_format=torch.channels_last)
    )


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
