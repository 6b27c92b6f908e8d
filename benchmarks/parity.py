"""Replay recorded outputs of the published networks (weights by rule, inputs by rule) on ours.

    python benchmarks/parity.py DIR

DIR is searched with its subfolders for five kinds of files: outputs of whole networks, of single modules and of SAN's
operators (``.npz``), gradient norms and state-dict manifests (``.json``). A line per file gives the largest difference
in float64 and in float32, as a fraction of the largest value of the tensor it occurs in; a manifest is right or not. A
file of a network that fan_dense does not have is reported as not covered. The exit status is 1 if any file is out or
none was checked.

A network is one row of a table in ``parity_networks.py``, a module one row of ``MODULES`` in ``parity_modules.py``.
"""

import argparse
import copy
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this runs as a script, too
from benchmarks.parity_modules import check_module, check_operators
from benchmarks.parity_networks import build_network, convert, manifest_name, network, record
from benchmarks.parity_rule import NotCoveredError, Result, both, gaussian, nan_last, worst_of
from fan_dense.models.layers.stem import ConvStem


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


def check_gradients(stored: Mapping) -> Result:
    """Norm, sum and largest value of the gradient of each parameter.

    The unit is the norm of the parameter's gradient, or a thousandth of the largest norm, since rounding gives small
    gradients the errors of large ones; for the sum, it is the largest sum that values of that norm can have.
    """
    image = torch.from_numpy(np.float32(gaussian(stored['input_seed'], tuple(stored['input_shape']))))
    names = stored['model'], stored.get('task', 'classification')
    floor = 1e-3 * max(entry['l2'] for entry in stored['grads'].values())

    def run(dtype: torch.dtype, shuffled: bool) -> float:
        module = copy.deepcopy(network(*names)).to(dtype)
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
            unit = max(entry['l2'], floor)
            units = dict(l2=unit, sum=unit * math.sqrt(grad.numel()), absmax=unit)
            differences += [abs(got[name].item() - entry[name]) / units[name] for name in got]
        return max(differences, key=nan_last)

    bug = len(image) == 1 and isinstance(getattr(network(*names), 'patch_embed', None), ConvStem)
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
        module = build_network(manifest_name(stored), stored['task'])
        published = {key: torch.empty(entry['shape']) for key, entry in stored['keys'].items()}
    weights, dropped = convert(module, published)
    ours, parameters = module.state_dict(), dict(module.named_parameters())
    wrong = list(weights.keys() ^ ours.keys())
    wrong += [key for key in weights.keys() & ours.keys() if weights[key].shape != ours[key].shape]
    wrong += [key for key in weights if (key in parameters) != (stored['keys'][key]['kind'] == 'param')]
    count = sum(value.numel() for value in parameters.values())
    count += sum(published[key].numel() for key in dropped if stored['keys'][key]['kind'] == 'param')
    if count != stored['num_params']:
        wrong.append(f'{count} parameters instead of {stored["num_params"]}')
    return Result(0, 0, ', '.join(wrong))


def check(file: Path) -> Result:
    """Check a file, whatever its kind."""
    if file.suffix == '.npz':
        with np.load(file, allow_pickle=False) as arrays:
            stored = dict(arrays)
        kinds = {'meta__model': check_outputs, 'meta__module': check_module, 'meta__kernel': check_operators}
    else:
        stored = json.loads(file.read_text())
        kinds = {'grads': check_gradients, 'keys': check_manifest}
    for key, kind in kinds.items():
        if key in stored:
            return kind(stored)
    raise NotCoveredError('none of the five kinds of files')


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
