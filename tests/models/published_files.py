"""Files in the form in which the authors published theirs, made of a network's weights or of a reference manifest."""

import json
import re
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.parity_rule import weight
from tests.reference import reference


def manifest(name: str) -> dict:
    """Key to shape and dtype of a published network; ``name`` begins with cls_, det_, seg_ or san."""
    folder = 'san' if name.startswith('san') else 'fan'
    return json.loads(reference(folder, 'manifest', f'{name}.json').read_text())['keys']


def ruled(name: str) -> dict[str, Tensor]:
    """Weights of a manifest with the values that the rule of the reference data gives them; integers are 0."""
    return {
        key: weight(key, tuple(row['shape']))
        if 'float' in row['dtype']
        else torch.zeros(row['shape'], dtype=torch.long)
        for key, row in manifest(name).items()
    }


def shaped(name: str) -> dict[str, Tensor]:
    """Weights of a manifest that take no space: every value of a tensor is one and the same."""
    return {
        key: torch.ones((), dtype=torch.float if 'float' in row['dtype'] else torch.long).expand(row['shape'])
        for key, row in manifest(name).items()
    }


def old_names(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """FAN's other names in such files: of the position encoding, and of one projection for q, k and v."""
    renamed = {}
    for key, value in weights.items():
        if re.match(r'cls_attn_blocks\.\d\.attn\.[kv]\.', key):
            continue
        if re.match(r'cls_attn_blocks\.\d\.attn\.q\.', key):
            value = torch.cat([weights[key.replace('.q.', f'.{part}.')] for part in 'qkv'])
            key = key.replace('.q.', '.qkv.')
        renamed[key.replace('pos_embed.', 'pos_embeder.')] = value
    return renamed


def save(weights: Mapping[str, Tensor], path: Path, prefix: str = 'module.', **others) -> str:
    """The path, after a file like those of timm's training was written there; ``others`` are kept in it too."""
    content = dict(
        epoch=299,
        arch='fan',
        state_dict={f'{prefix}{key}': value for key, value in weights.items()},
        optimizer=dict(state={}, param_groups=[dict(lr=4e-3, betas=(0.9, 0.999), params=[0])]),
        version=2,
        args=Namespace(model='fan', lr=4e-3, img_size=384, mean=None, aug=[0.1, 'rand-m9']),
        amp_scaler=dict(scale=65536.0),
        metric=83.5,
        **others,
    )
    torch.save(content, path)
    return str(path)
