"""Files of published weights: which architecture they are of, and the same weights under our names."""

import functools
import re
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from fan_dense import versions
from fan_dense.compat.download import fetch, sha256, split_digest

from .backbone import Backbone
from .catalogue import ARCHITECTURES, find
from .conversion_dense import CLASSIFIER_HEADS, convert_model, kind
from .fan import FAN
from .loading import CheckpointMismatch, LoadReport, check_fit, choose, naming, read_checkpoint, sort_keys, unwrap

DENSE = ('segformer', 'mask-rcnn', 'cascade')
KINDS = ('classifier', 'backbone', *DENSE)


class Conversion(NamedTuple):
    """A converted file.

    Attributes:
        content: What to save: ``state_dict``, and ``meta`` with the ``arch``, the ``kind`` (one of :data:`KINDS`), the
            ``source`` and its ``source_sha256``, the ``entry`` of the file that was taken, the version of
            ``fan_dense``, and ``dataset_meta`` where the file tells the classes.
        report: What became of each key.
        config: What the config of a model for it says, a line for each part.
    """

    content: dict
    report: LoadReport
    config: list[str]


def convert_file(source: str, *, to: str | None = None, arch: str | None = None, ema: bool = False) -> Conversion:
    """The weights of a published file under our names.

    Args:
        source: Path or URL, as in :func:`~fan_dense.compat.download.fetch`.
        to: What to make of it, one of :data:`KINDS`: what it is of, or its backbone alone. By default what it is of.
        arch: A name as in :func:`~fan_dense.models.catalogue.find`. By default the one whose weights have these names
            and shapes.
        ema: As in :func:`~fan_dense.models.loading.choose`.

    Raises:
        CheckpointMismatch: It is of another network, kind or arch, or of none that was published.
        ValueError: for an unknown arch or kind.
    """
    if arch is not None:
        row = find(arch)
        arch = next(name for name, other in ARCHITECTURES.items() if other is row)
    if to is not None and to not in KINDS:
        raise ValueError(f'unknown kind {to!r}; known: {", ".join(KINDS)}')
    location, _ = split_digest(source)
    path = fetch(source)
    content = read_checkpoint(str(path))
    with naming(location):
        weights, entry = choose(content, ema)
        if to != 'backbone':  # which every kind has
            found = kind(weights)
            if to not in (None, found):
                raise CheckpointMismatch(f'is of a {found}, not of a {to}')
            to = found
        arch = arch or recognise(weights)
        build, options = _network(arch, to, weights)
        with torch.device('meta'):  # names and shapes are all that is needed
            network = build(**options)
        own, heads = network.state_dict(), {}
        if to in DENSE:
            converted = convert_model(weights, network)
            heads = {key: value for key, value in converted.weights.items() if not key.startswith('backbone.')}
            own = {f'backbone.{key}': value for key, value in own.items()} | heads
        else:
            converted = network.convert(weights)
    report = check_fit(converted, own, location, entry)
    meta = dict(
        arch=arch,
        kind=to,
        source=location,
        source_sha256=sha256(path),
        entry=entry,
        fan_dense=versions.installed().get('fan_dense'),
        **_dataset(content),
    )
    state = {key: converted.weights[key] for key in report.loaded}
    config = [_call('model' if to == 'classifier' else 'backbone', build.__name__, options), *_decode_head(heads)]
    return Conversion(dict(state_dict=state, meta=meta), report, config)


def recognise(weights: Mapping[str, Tensor]) -> str:
    """The key of :data:`~fan_dense.models.catalogue.ARCHITECTURES` whose backbone has these names and shapes.

    Raises:
        CheckpointMismatch: There is none.
    """
    reports = {}
    for name in ARCHITECTURES:
        network = _backbone(name)
        reports[name] = sort_keys(network.convert(weights), network.state_dict())
        if reports[name].fits:
            return name
    nearest = max(reports, key=lambda name: (reports[name].share, -len(reports[name].wrong)))
    report = reports[nearest]
    raise CheckpointMismatch(
        f'is of no published arch: the nearest is {nearest}, of whose values it has {report.share:.1%}, '
        f'and {len(report.wrong)} keys are wrong'
    )


@functools.cache
def _backbone(name: str) -> Backbone:
    network = ARCHITECTURES[name]
    with torch.device('meta'):
        return network.backbone(**network.options)


def _network(arch: str, to: str, weights: Mapping[str, Tensor]) -> tuple[type[Backbone], dict]:
    """The class and arguments of the network for these weights."""
    network = ARCHITECTURES[arch]
    weights, _ = unwrap(weights)
    if to == 'classifier':
        head = next(weights[key] for key in CLASSIFIER_HEADS if key in weights)
        return network.classifier, dict(network.options, num_classes=len(head))
    downsample = weights.get('learnable_downsample.weight')
    if network.backbone is FAN and downsample is not None:
        return FAN, dict(network.options, last_map='downsample', last_channels=len(downsample))
    return network.backbone, dict(network.options)


def _dataset(content: object) -> dict:
    """What the file says of the classes, as mmengine keeps it; mmseg 0.x and mmdet 2.x have capitals."""
    meta = content.get('meta') if isinstance(content, Mapping) else None
    if not isinstance(meta, Mapping):
        return {}
    classes = {key.lower(): meta[key] for key in ('CLASSES', 'PALETTE') if meta.get(key) is not None}
    classes = meta.get('dataset_meta') or classes
    return dict(dataset_meta=classes) if classes else {}


def _decode_head(heads: Mapping[str, Tensor]) -> list[str]:
    """What the config says of a SegFormer head."""
    projections = [key for key in heads if re.fullmatch(r'decode_head\.convs\.\d+\.conv\.weight', key)]
    if not projections:
        return []
    linear = 'decode_head.convs.0.conv.bias' in heads
    options = dict(
        in_channels=[heads[key].shape[1] for key in sorted(projections)],
        channels=len(heads[projections[0]]),
        num_classes=len(heads['decode_head.conv_seg.bias']),
    )
    return [_call('decode_head', 'LinearSegformerHead' if linear else 'SegformerHead', options)]


def _call(place: str, kind: str, options: Mapping) -> str:
    arguments = ', '.join(f'{key}={value!r}' for key, value in dict(type=kind, **options).items())
    return f'{place}=dict({arguments})'
