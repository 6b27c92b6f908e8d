"""Replay recorded calls of mmcv.ops (arguments, outputs, gradients of a compiled mmcv) on the operators in use here.

    python benchmarks/ops_parity.py DIR

DIR, or its subfolder ``cases``, holds files ``<op>.json`` with the calls and ``<op>.npz`` with their arrays. A line per
file gives the number of cases that agree and the largest difference, a line per case that is out says where. A case
marked informational tells something about the compiled build; it is shown where it differs and never fails the run.
The exit status is 1 if any other case is out or there is none, and 2 without such files.
"""

import argparse
import functools
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

import fan_dense

NUMBER = (int, float)


class Difference(NamedTuple):
    """Largest difference of one output or gradient, and how large it may be."""

    name: str
    value: float
    allowed: float


class Verdict(NamedTuple):
    """What became of one case: nothing wrong, or the reason why it is out."""

    largest: float
    wrong: str


def main(directory: Path) -> int:
    """Print the report of all files in ``directory`` and return the exit status."""
    if (directory / 'cases').is_dir():
        directory = directory / 'cases'
    files = [file for file in sorted(directory.glob('*.json')) if file.with_suffix('.npz').exists()]
    if not files:
        print(f'error: {directory} holds no pair of files <op>.json, <op>.npz with recorded calls', file=sys.stderr)
        return 2
    print(f'{extension_in_use()}, torch {torch.__version__}')
    out = total = 0
    for file in files:
        cases = json.loads(file.read_text())['cases']
        with np.load(file.with_suffix('.npz')) as arrays:
            verdicts = [(case, replay(case, dict(arrays))) for case in cases]
        required = [verdict for case, verdict in verdicts if not case.get('informational')]
        wrong = sum(bool(verdict.wrong) for verdict in required)
        largest = max((verdict.largest for verdict in required), default=0)
        informational = len(verdicts) - len(required)
        print(
            f'{"FAIL" if wrong else "ok":5}{file.stem:24}{len(required) - wrong:3} of {len(required):3} agree, '
            f'largest difference {largest:.1e}' + (f' ({informational} informational)' if informational else '')
        )
        for case, verdict in verdicts:
            if verdict.wrong:
                print(f'     {"info" if case.get("informational") else "OUT"} {case["id"]}: {verdict.wrong}')
        out, total = out + wrong, total + len(required)
    print(f'{total - out} of {total} cases agree' if total else 'no case to check')
    return 1 if out or not total else 0


def extension_in_use() -> str:
    """Which mmcv answers."""
    import mmcv

    origin = importlib.import_module('mmcv._ext').__spec__.origin
    return f'fan_dense {fan_dense.__version__}, mmcv {mmcv.__version__}, mmcv._ext from {origin}'


def replay(case: dict, arrays: dict[str, np.ndarray]) -> Verdict:
    """Run a case and compare it with what was recorded."""
    expects_error = 'raises' in case
    try:
        outputs, grads = call(case, arrays)
    except Exception as error:  # whatever an operator raises is a result here
        said = f'{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ""}'
        same = expects_error and type(error).__name__ == case['raises']['type']
        return Verdict(0 if same else float('inf'), '' if same else f'raises {said}')
    if expects_error:
        return Verdict(0, f'runs; recorded was {case["raises"]["type"]}: {case["raises"]["message"]}')
    differences = list(compare(case, arrays, outputs, grads))
    beyond = [d for d in differences if not d.value <= d.allowed]
    wrong = ', '.join(f'{d.name} off by {d.value:.1e} (allowed {d.allowed:.1e})' for d in beyond)
    return Verdict(max((d.value for d in differences), default=0), wrong)


def call(case: dict, arrays: dict[str, np.ndarray]) -> tuple[list, dict[str, Tensor | None]]:
    """Outputs, flattened, and the gradients of the tensors in ``wrt``."""
    module, _, path = case['target'].partition(':')
    target = functools.reduce(getattr, path.split('.'), importlib.import_module(module))
    leaves = {}
    if 'init' in case:
        target = target(*decode(case['init']['args'], arrays), **decode(case['init']['kwargs'], arrays)).eval()
        load_state(target, decode(case.get('state', {}), arrays))
        leaves = {f'state.{key}': parameter for key, parameter in target.named_parameters()}
    args, kwargs = decode(case['args'], arrays), decode(case['kwargs'], arrays)
    leaves |= {f'args.{i}': arg for i, arg in enumerate(args)} | {f'kwargs.{key}': arg for key, arg in kwargs.items()}
    for name in case.get('wrt', []):
        leaves[name].requires_grad_()
    outputs = list(flatten(target(*args, **kwargs)))
    if not case.get('wrt'):
        return outputs, {}
    differentiable = [output for output in outputs if isinstance(output, Tensor) and output.requires_grad]
    grads = torch.autograd.grad(
        differentiable, [leaves[name] for name in case['wrt']], decode(case['grad_outputs'], arrays), allow_unused=True
    )
    return outputs, dict(zip(case['wrt'], grads))


def load_state(module: nn.Module, state: dict[str, Tensor]) -> None:
    """Give a module the recorded parameters, in their dtype. None of them asks for a gradient."""
    floating = [tensor.dtype for tensor in state.values() if tensor.is_floating_point()]
    module.to(floating[0] if floating else torch.get_default_dtype()).requires_grad_(False)
    module.load_state_dict(state)


def decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The object that a JSON value stands for."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if '$t' in value:
        tensor = torch.from_numpy(arrays[value['$t']].copy())
        return tensor.contiguous(memory_format=getattr(torch, value.get('memory_format', 'contiguous_format')))
    if '$np' in value:
        return arrays[value['$np']].copy()
    if '$tuple' in value:
        return tuple(decode(value['$tuple'], arrays))
    return {key: decode(item, arrays) for key, item in value.items()}


def flatten(value: Any) -> Iterator[Any]:
    """The leaves of nested lists, tuples and dicts, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from flatten(item)
    else:
        yield value


def compare(case: dict, arrays: dict, outputs: list, grads: dict[str, Tensor | None]) -> Iterator[Difference]:
    """Differences of all outputs and gradients from what was recorded."""
    expected = list(flatten(decode(case['outputs'], arrays)))
    if len(outputs) != len(expected):
        yield Difference(f'{len(outputs)} outputs instead of {len(expected)}: the structure', float('inf'), 0)
        return
    if case['compare'] == 'set':
        outputs, expected = ([side[0][..., -1], side[-1].sort()[0]] for side in (outputs, expected))
    atol = case.get('atol', {})
    for i, (output, recorded) in enumerate(zip(outputs, expected)):
        yield Difference(f'out.{i}', distance(output, recorded), allowed(atol.get(f'out.{i}'), recorded, case))
    for name, recorded in case.get('grads', {}).items():
        recorded = decode(recorded, arrays)
        yield Difference(
            f'grad.{name}', distance(grads[name], recorded), allowed(atol.get(f'grad.{name}'), recorded, case)
        )


def allowed(atol: float | None, recorded: Any, case: dict) -> float:
    """The recorded tolerance; for a number outside a tensor, which has none, that of a float32 of its size."""
    if case['compare'] != 'allclose':
        return 0
    if isinstance(recorded, float) and atol is None:
        return 2e-6 * max(1, abs(recorded))
    return atol or 0


def distance(got: Any, recorded: Any) -> float:
    """Largest absolute difference; infinite where kind, dtype or shape differ, or where only one is nan."""
    if isinstance(got, NUMBER) and isinstance(recorded, NUMBER):
        got, recorded = np.float64(got), np.float64(recorded)
    if type(got) is not type(recorded):
        return float('inf')
    if got is None or isinstance(got, str):
        return 0 if got == recorded else float('inf')
    if got.dtype != recorded.dtype or got.shape != recorded.shape:
        return float('inf')
    if isinstance(got, Tensor):
        got, recorded = got.detach().cpu().numpy(), recorded.numpy()
    got, recorded = got.astype(np.float64), recorded.astype(np.float64)
    same = (got == recorded) | (np.isnan(got) & np.isnan(recorded))
    gaps = np.abs(np.where(same, 0, got) - np.where(same, 0, recorded))
    return float(np.nan_to_num(gaps, nan=np.inf).max(initial=0))


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('directory', type=Path, metavar='DIR')
    sys.exit(main(parser.parse_args().directory))
