"""What the recorded outputs of published networks have in common: weights by rule, and how tensors are compared."""

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

BOUNDS = {'float64': 1e-6, 'float32': 1e-4}


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


def difference(got: Tensor, stored: Mapping[str, np.ndarray], name: str) -> float:
    """Largest relative difference of a tensor from a stored one, by its samples and by its statistics.

    Class-attention blocks of dense networks have no class token: its place in the stored tensor is passed over.
    """
    shape, step = tuple(stored[f'{name}__shape'].tolist()), int(stored[f'{name}__k'])
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
    return max((difference(tensors[name], stored, name) for name in names if name in tensors), key=nan_last)


def nan_last(value: float) -> float:
    return math.inf if math.isnan(value) else value
