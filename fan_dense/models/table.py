"""Architectures as rows of a table, and how a config names one or spells out its own."""

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

Row = TypeVar('Row')


def read_arch(network: str, arch: str | Mapping, table: Mapping[str, Mapping], row: type[Row], **changes) -> Row:
    """The architecture that has this name in ``table``, or these keys, with ``changes`` made to it.

    Args:
        network: Name of the network, for messages.
        arch: A name or a mapping.
        table: Name to keys and values that differ from the defaults of ``row``.
        row: A dataclass. Fields without a default must be given.
        **changes: Keys and values that take precedence.

    Raises:
        ValueError: for an unknown name or key, with the known ones, nearest first, or a missing key.
    """
    if isinstance(arch, str) and arch not in table:
        raise ValueError(f'unknown {network} arch {arch!r}; known: {", ".join(nearest_first(arch, table))}')
    values = {**(table[arch] if isinstance(arch, str) else arch), **changes}
    fields = {field.name: field for field in dataclasses.fields(row)}
    for key in values:
        if key not in fields:
            known = ', '.join(nearest_first(key, fields))
            if key in changes:
                raise ValueError(f'{network} has no option {key!r}; its arch has {known}')
            raise ValueError(f'unknown key {key!r} in {network} arch; known: {known}')
    missing = [key for key, field in fields.items() if key not in values and field.default is dataclasses.MISSING]
    if missing:
        raise ValueError(f'{network} arch lacks {", ".join(missing)}: {values}')
    return row(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})


def nearest_first(name: str, known: Iterable[str]) -> list[str]:
    """``known`` sorted by likeness to ``name``."""
    return sorted(known, key=lambda other: -difflib.SequenceMatcher(None, str(name), other).ratio())
