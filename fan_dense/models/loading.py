"""Weights of published networks into ours: unwrapping the file, a report on every key, and when to refuse."""

import contextlib
import dataclasses
import logging
import re
from collections.abc import Callable, Mapping

from mmengine.logging import print_log
from torch import Tensor, nn

LEAST_SHARE = 0.95
# where a file keeps its weights, and an average of them over the training (EMA)
ENTRIES = ('state_dict', 'model')
EMA_ENTRIES = ('state_dict_ema', 'model_ema')


class CheckpointMismatch(ValueError):
    """A checkpoint that belongs to another network, or holds no weights."""


def choose(checkpoint: object, ema: bool = False) -> tuple[dict, str]:
    """The weights in a checkpoint, and a word on where they were.

    Args:
        checkpoint: What the file holds: the weights, or a dict with them as ``state_dict`` or ``model``, and perhaps
            averages of them as ``state_dict_ema`` or ``model_ema``. ``module.`` (a data-parallel model) and
            ``_orig_mod.`` (a compiled one) before their names are left out.
        ema: Take the averages. By default the others, if there are any.

    Raises:
        CheckpointMismatch: if there are no weights, or no averages that are asked for.
    """
    found, inner = [], checkpoint
    while isinstance(inner, Mapping):
        entries = [entry for entry in ENTRIES + EMA_ENTRIES if isinstance(inner.get(entry), Mapping)]
        if not entries:
            break
        wanted = [entry for entry in entries if (entry in EMA_ENTRIES) == ema]
        entry = (wanted or entries)[0]
        others = [other for other in entries if (other in EMA_ENTRIES) != (entry in EMA_ENTRIES)]
        found.append(f'{entry} (and not {", ".join(others)})' if others else entry)
        inner = inner[entry]
    if not isinstance(inner, Mapping) or not any(isinstance(value, Tensor) for value in inner.values()):
        raise CheckpointMismatch('holds no weights')
    if ema and not any(entry.startswith(EMA_ENTRIES) for entry in found):
        raise CheckpointMismatch(f'holds no averaged weights ({" or ".join(EMA_ENTRIES)})')
    weights = {re.sub(r'^((module|_orig_mod)\.)+', '', key): value for key, value in inner.items()}
    return weights, '.'.join(found)


def unwrap(checkpoint: object, prefix: str | None = None) -> tuple[dict[str, Tensor], list[str]]:
    """The backbone's weights in a checkpoint.

    Args:
        checkpoint: As in :func:`choose`.
        prefix: Take only keys that start so, without it. By default ``'backbone.'`` if there are such keys, as in the
            checkpoints of detectors and segmentors.

    Returns:
        The weights, and the keys of others that were left out.

    Raises:
        CheckpointMismatch: if there are none.
    """
    everything, _ = choose(checkpoint)
    if prefix is None:
        prefix = 'backbone.' if any(key.startswith('backbone.') for key in everything) else ''
    taken = {key for key, value in everything.items() if key.startswith(prefix) and isinstance(value, Tensor)}
    if not taken:
        raise CheckpointMismatch(f'holds no weights whose names begin with {prefix!r}')
    weights = {key.removeprefix(prefix): value for key, value in everything.items() if key in taken}
    return weights, [key for key in everything if key not in taken]


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """What became of each key.

    Attributes:
        loaded: In the network now.
        missing: Of the network, not in the checkpoint, as is to be expected: new maps. They keep their initial values.
        lacking: Of the network, not in the checkpoint, though others of its kind have them. They keep their initial
            values too.
        dropped: Of the checkpoint, rightly not in this network: the classifier's, blocks that no map needs.
        wrong: Of the checkpoint, with another shape than in the network or of no network of this arch.
        share: Fraction of the network's values that were loaded, of those that such a checkpoint has.
        entry: Where in the file the weights were.
    """

    loaded: list[str]
    missing: list[str]
    lacking: list[str]
    dropped: list[str]
    wrong: list[str]
    share: float
    entry: str = ''

    @property
    def fits(self) -> bool:
        """Whether the checkpoint is of the network."""
        return not self.wrong and self.share >= LEAST_SHARE

    def __str__(self) -> str:
        source = f', from {self.entry}' if self.entry else ''
        lines = [f'loaded {len(self.loaded)} keys, {self.share:.1%} of the values{source}']
        kinds = dict(missing='missing, as expected', lacking='LACKING', dropped='dropped', wrong='WRONG')
        for name, title in kinds.items():
            if keys := getattr(self, name):
                lines.append(f'{title} ({len(keys)}): {", ".join(keys)}')
        return '\n'.join(lines)


@dataclasses.dataclass(frozen=True)
class Converted:
    """A checkpoint under the names of our network.

    Attributes:
        weights: Name to value.
        dropped: Keys of the checkpoint that no network of the kind has.
        optional: Whether a name belongs to the arch, though this choice of maps may do without.
        new: Whether a name of the network is one that such checkpoints are without.
    """

    weights: Mapping[str, Tensor]
    dropped: list[str]
    optional: Callable[[str], object]
    new: Callable[[str], object]


def read_checkpoint(checkpoint: str, map_location: str = 'cpu') -> object:
    """What a checkpoint holds, from a path or URL as in :func:`~fan_dense.compat.download.fetch`."""
    from mmengine.runner.checkpoint import CheckpointLoader  # which may be importing this package right now

    return CheckpointLoader.load_checkpoint(checkpoint, map_location)


@contextlib.contextmanager
def naming(name: str):
    """Begin the message of every :class:`CheckpointMismatch` with the name of the checkpoint."""
    try:
        yield
    except CheckpointMismatch as error:
        raise CheckpointMismatch(f'{name} {error}') from None


def load(
    network: nn.Module,
    checkpoint: str,
    convert: Callable[[Mapping[str, Tensor]], Converted],
    map_location: str = 'cpu',
    ema: bool = False,
) -> LoadReport:
    """Load a checkpoint into ``network``, and log a report on every key.

    Args:
        network: Where to.
        checkpoint: Path or URL, as in :func:`~fan_dense.compat.download.fetch`; ``#sha256=HEX`` at its end asks for
            that very file.
        convert: What makes names of the network of the weights in the file.
        map_location: As in ``torch.load``.
        ema: As in :func:`choose`.

    Raises:
        CheckpointMismatch: if any key is wrong, or under 95 % of the values are there that such a checkpoint has.
            Nothing is loaded then.
    """
    content = read_checkpoint(checkpoint, map_location)
    with naming(checkpoint):
        weights, entry = choose(content, ema)
        converted = convert(weights)
    report = check_fit(converted, network.state_dict(), checkpoint, entry)
    network.load_state_dict({key: converted.weights[key] for key in report.loaded}, strict=False)
    level = logging.WARNING if report.lacking else logging.INFO
    print_log(f'{checkpoint}: {report}', logger='current', level=level)
    return report


def check_fit(converted: Converted, own: Mapping[str, Tensor], name: str, entry: str = '') -> LoadReport:
    """Report on a converted checkpoint called ``name``, from ``entry``, for a network with the state-dict ``own``.

    Raises:
        CheckpointMismatch: if any key is wrong or under 95 % of the values are there.
    """
    report = sort_keys(converted, own, entry)
    if not report.fits:
        raise CheckpointMismatch(f'{name} {_complaint(report, converted.weights, own)}; is it of another arch?')
    return report


def sort_keys(converted: Converted, own: Mapping[str, Tensor], entry: str = '') -> LoadReport:
    """Report on a converted checkpoint, from ``entry`` in its file, for a network with the state-dict ``own``."""
    weights = converted.weights
    optional = [key for key in weights if key not in own and converted.optional(key)]
    loaded = [key for key in weights if key in own and weights[key].shape == own[key].shape]
    expected = {key: value.numel() for key, value in own.items() if not converted.new(key)}
    missing, accounted = [key for key in own if key not in weights], {*loaded, *optional}
    return LoadReport(
        loaded=loaded,
        missing=[key for key in missing if key not in expected],
        lacking=[key for key in missing if key in expected],
        dropped=[*converted.dropped, *optional],
        wrong=[key for key in weights if key not in accounted],
        share=sum(expected.get(key, 0) for key in loaded) / sum(expected.values()),
        entry=entry,
    )


def _complaint(report: LoadReport, weights: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> str:
    text = f'does not fit: it has {report.share:.1%} of the values'
    if not report.wrong:
        return text
    key = report.wrong[0]
    expected = f'instead of {tuple(own[key].shape)}' if key in own else 'which the network lacks'
    return f'{text} and {len(report.wrong)} wrong keys, the first {key} {tuple(weights[key].shape)} {expected}'
