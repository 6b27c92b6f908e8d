"""The published FAN-ViT and FAN-Hybrid networks as rows of a table."""

import dataclasses
import itertools
from collections.abc import Mapping

from .layers.channel import CHANNEL_PROCESSING, HEADLESS
from .table import nearest_first, read_arch

HYBRID = dict(stem='hybrid', stem_dims=(128, 256))
# Rows differ from :class:`FANArch`'s defaults. FAN-ViT reads blocks 4, 7, 11 of 12, as published for small; base and
# large, which were not published for dense prediction, read the same fractions of their depth.
ARCHS = {
    'hybrid-tiny': dict(HYBRID, embed_dims=192, depth=8, num_heads=8, stem_depths=(3, 3)),
    'hybrid-small': dict(HYBRID, embed_dims=384, depth=10, num_heads=8, stem_depths=(3, 3)),
    'hybrid-base': dict(HYBRID, embed_dims=448, depth=16, num_heads=8, stem_depths=(3, 3)),
    # NOTE The published large model reads block 18, not its last, 21.
    'hybrid-large': dict(HYBRID, embed_dims=480, depth=22, num_heads=10, stem_depths=(3, 5), taps=(18,)),
    # Published as a classifier only. Read where the 528 channels at 1/16 end; the 768 at 1/32 are the last map.
    'hybrid-xlarge': dict(
        HYBRID, embed_dims=(528, 768), depth=(20, 3), num_heads=(11, 16), stem_depths=(3, 7), taps=(19,)
    ),
    'vit-tiny': dict(embed_dims=192, depth=12, num_heads=4),
    'vit-small': dict(embed_dims=384, depth=12, num_heads=8),
    'vit-base': dict(embed_dims=448, depth=18, num_heads=8),
    'vit-large': dict(embed_dims=480, depth=24, num_heads=10),
    'vit-small-se': dict(embed_dims=384, depth=12, num_heads=8, channel='se'),
}


@dataclasses.dataclass(frozen=True)
class FANArch:
    """Shape of a FAN. ``embed_dims``, ``depth`` and ``num_heads`` are tuples where the width changes on the way.

    Attributes:
        embed_dims: Channels C of the tokens.
        depth: Number of blocks.
        num_heads: Heads of the token mixing; they divide C.
        stem: ``'conv'`` (patches of 16 by four convolutions, FAN-ViT) or ``'hybrid'`` (two ConvNeXt stages).
        stem_depths: Blocks of the two ConvNeXt stages (hybrid only).
        stem_dims: Channels of the two ConvNeXt stages (hybrid only).
        mlp_ratio: Hidden channels of the MLPs, as a multiple of C.
        qkv_bias: Biases of query, key and value projections.
        channel: Channel processing: ``'eca'`` (efficient channel attention, the published networks), ``'ca'`` (channel
            self-attention), ``'se'`` (squeeze-and-excitation) or ``'mlp'`` (none: a ViT with class attention).
        channel_heads: Its heads; they divide C. None: as ``num_heads``. ``'se'`` and ``'mlp'`` have none.
        taps: Blocks whose tokens are maps, one for hybrid, three for conv. None: the last; 5/12, 8/12 and 12/12 of
            the depth.
    """

    embed_dims: int | tuple[int, ...]
    depth: int | tuple[int, ...]
    num_heads: int | tuple[int, ...]
    stem: str = 'conv'
    stem_depths: tuple[int, int] | None = None
    stem_dims: tuple[int, int] | None = None
    mlp_ratio: float = 4.0
    qkv_bias: bool = True
    channel: str = 'eca'
    channel_heads: int | None = None
    taps: tuple[int, ...] | None = None

    def __post_init__(self):
        if len({len(_tuple(value)) for value in (self.embed_dims, self.depth, self.num_heads)}) > 1:
            raise ValueError(f'FAN arch: embed_dims, depth and num_heads must be equally long: {self}')
        if self.stem not in ('conv', 'hybrid'):
            raise ValueError(f"FAN arch: stem must be 'conv' or 'hybrid', not {self.stem!r}")
        if self.channel not in CHANNEL_PROCESSING:
            known = ', '.join(nearest_first(self.channel, CHANNEL_PROCESSING))
            raise ValueError(f'FAN arch: unknown channel processing {self.channel!r}; known: {known}')
        if self.channel in HEADLESS and self.channel_heads is not None:
            raise ValueError(f'FAN arch: channel={self.channel!r} has no heads, channel_heads is {self.channel_heads}')
        for key in ('stem_depths', 'stem_dims'):
            value = getattr(self, key)
            if (value is None) if self.stem == 'conv' else (value is not None and len(value) == 2):
                continue
            raise ValueError(f"FAN arch: {key} must be two numbers for stem='hybrid' and absent otherwise, not {value}")
        for dim, heads in set(self.blocks()):
            for count in (heads, heads if self.channel_heads is None else self.channel_heads):
                if type(count) is not int or count < 1 or dim % count:
                    raise ValueError(f'FAN arch: {count} heads do not divide {dim} channels')
        taps, depth, count = self.tapped(), len(self.blocks()), 1 if self.stem == 'hybrid' else 3
        if len(taps) != count or list(taps) != sorted(set(taps)) or not 0 <= taps[0] <= taps[-1] < depth:
            raise ValueError(f'FAN arch: taps must be {count} increasing block indices below {depth}, not {taps}')

    def blocks(self) -> list[tuple[int, int]]:
        """(channels, heads) of each block."""
        sections = zip(*(_tuple(value) for value in (self.embed_dims, self.num_heads, self.depth)), strict=True)
        return [(dim, heads) for dim, heads, depth in sections for _ in range(depth)]

    def tapped(self) -> tuple[int, ...]:
        """The blocks to read."""
        depth = len(self.blocks())
        if self.taps is not None:
            return _tuple(self.taps)
        return (depth - 1,) if self.stem == 'hybrid' else tuple(round(depth * k / 12) - 1 for k in (5, 8, 12))

    def maps(self) -> list[tuple[int, int]]:
        """(channels, stride) of the four maps, the last one being the final tokens."""
        layout = self.blocks()
        shrunk = sum(narrow != wide for (narrow, _), (wide, _) in itertools.pairwise(layout))
        tapped = [(layout[block][0], 16) for block in self.tapped()]
        return [*zip(self.stem_dims or (), (4, 8)), *tapped, (layout[-1][0], 16 * 2**shrunk)]


def resolve_arch(arch: str | Mapping, **changes) -> FANArch:
    """The architecture of that name, or with those keys, with ``changes`` made to it.

    Raises:
        ValueError: for an unknown name or key, with the known ones, nearest first, or values that do not fit.
    """
    return read_arch('FAN', arch, ARCHS, FANArch, **changes)


def _tuple(value) -> tuple:
    return (value,) if isinstance(value, int) else tuple(value)
