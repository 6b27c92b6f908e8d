"""Which conditions a benchmark is made of, and how it takes their mean. Protocols are data: see the folder protocols.

>>> protocol = read_protocol('cityscapes-c')
>>> len(protocol.conditions()), protocol.severities('shot_noise'), protocol.group('brightness')
(73, (1, 2, 3), 'digital')
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fan_dense import checks
from fan_dense.evaluation.result import Condition

FOLDER = Path(__file__).parent / 'protocols'
AGGREGATES = ('conditions', 'types')
PART = ' (part)'


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """A benchmark.

    Attributes:
        name, title: for people; the name is also how the commands know it.
        source: the publication.
        image_order: 'bgr' or 'rgb', in which the corruptions see the image unless the user says otherwise.
        aggregate: 'conditions': the mean over all pairs of corruption and severity (COCO-C); 'types': the mean over
            corruptions of the mean over the corruption's severities (Cityscapes-C).
        groups: group -> corruption -> severities.

    Raises:
        ValueError: something of it is unknown, empty or there twice.
    """

    name: str
    title: str = ''
    source: str = ''
    image_order: str = 'bgr'
    aggregate: str = 'conditions'
    groups: Mapping[str, Mapping[str, tuple[int, ...]]]

    def __post_init__(self):
        if not self.name:
            raise ValueError('name is empty; a protocol needs one')
        checks.one_of('image_order', self.image_order, checks.IMAGE_ORDERS)
        checks.one_of('aggregate', self.aggregate, AGGREGATES)
        seen = set()
        for group, members in self.groups.items():
            if not members:
                raise ValueError(f'groups.{group} is empty; at least one corruption is expected')
            for corruption, severities in members.items():
                if corruption in seen:
                    raise ValueError(f'{corruption} is there twice, the second time in groups.{group}')
                seen.add(corruption)
                for severity in severities:
                    checks.corruption_and_severity(corruption, severity)
                if not severities or len(set(severities)) < len(severities):
                    raise ValueError(f'severities of {corruption} are {list(severities)}; each once, at least one')
        if not seen:
            raise ValueError('groups is empty; at least one is expected')

    @property
    def corruptions(self) -> tuple[str, ...]:
        return tuple(name for members in self.groups.values() for name in members)

    def severities(self, corruption: str) -> tuple[int, ...]:
        return self.groups[self.group(corruption)][corruption]

    def group(self, corruption: str) -> str:
        for group, members in self.groups.items():
            if corruption in members:
                return group
        raise ValueError(
            f'protocol {self.name} has no corruption {corruption!r}; {checks.nearest(corruption, self.corruptions)}'
        )

    def conditions(self, seed: int = 0, image_order: str | None = None) -> list[Condition]:
        """Clean, then all others in the protocol's order. Clean pixels have no seed: it is ``Condition()``."""
        order = self.image_order if image_order is None else image_order
        return [Condition()] + [
            Condition(corruption=name, severity=severity, seed=seed, image_order=order)
            for name in self.corruptions
            for severity in self.severities(name)
        ]

    def restricted(
        self, corruptions: Iterable[str] | None = None, severities: Iterable[int] | None = None
    ) -> 'Protocol':
        """The part with these corruptions (or groups of them) and severities; None keeps all.

        Raises:
            ValueError: the protocol has no such corruption, group or severity, or nothing remains.
        """
        names = set(self.corruptions) if corruptions is None else self._named(corruptions)
        levels = {level for name in self.corruptions for level in self.severities(name)}
        wanted = levels if severities is None else set(severities)
        if wanted - levels:
            raise ValueError(
                f'protocol {self.name} has no severity {", ".join(sorted(map(repr, wanted - levels)))}, '
                f'only {", ".join(map(str, sorted(levels)))}'
            )
        kept = {
            group: {
                name: tuple(level for level in self.severities(name) if level in wanted)
                for name in members
                if name in names and wanted.intersection(self.severities(name))
            }
            for group, members in self.groups.items()
        }
        kept = {group: members for group, members in kept.items() if members}
        if not kept:
            raise ValueError(
                f'nothing of protocol {self.name} is left with corruptions {", ".join(sorted(names)) or "none"} '
                f'and severities {", ".join(map(str, sorted(wanted))) or "none"}'
            )
        if kept == self.groups:
            return self
        return Protocol(
            name=self.name.removesuffix(PART) + PART,
            title=self.title,
            source=self.source,
            image_order=self.image_order,
            aggregate=self.aggregate,
            groups=kept,
        )

    def _named(self, names: Iterable[str]) -> set[str]:
        found = set()
        for name in names:
            if name not in self.groups and name not in self.corruptions:
                raise ValueError(
                    f'protocol {self.name} has no corruption or group {name!r}; '
                    f'{checks.nearest(name, (*self.groups, *self.corruptions))}'
                )
            found |= set(self.groups.get(name, (name,)))
        return found

    def to_dict(self) -> dict:
        """As in its file; equal protocols give equal dicts."""
        groups = {}
        for group, members in self.groups.items():
            rows = groups[group] = []
            for name, severities in members.items():
                if rows and rows[-1]['severities'] == list(severities):
                    rows[-1]['corruptions'].append(name)
                else:
                    rows.append({'corruptions': [name], 'severities': list(severities)})
        return {
            'name': self.name,
            'title': self.title,
            'source': self.source,
            'image_order': self.image_order,
            'aggregate': self.aggregate,
            'groups': groups,
        }

    @classmethod
    def from_dict(cls, content: dict) -> 'Protocol':
        """Raises a ValueError that names the field, if ``content`` is not a protocol."""
        _fields('the protocol', content, required=('name', 'groups'), known=tuple(cls.__dataclass_fields__))
        for field, value in content.items():
            if not isinstance(value, dict if field == 'groups' else str):
                raise ValueError(f'{field} is {value!r}; {"an object" if field == "groups" else "text"} is expected')
        return cls(**{**content, 'groups': {group: _group(group, rows) for group, rows in content['groups'].items()}})


def read_protocol(name_or_path: str | Path) -> Protocol:
    """A protocol of this package by its name, or one of the user's own by the path of its JSON file.

    Raises:
        ValueError: there is no such protocol or file, or the file holds no protocol.
    """
    if str(name_or_path) in protocol_names():
        return _read(FOLDER / f'{name_or_path}.json')
    path = Path(name_or_path)
    if not path.is_file():
        hint = 'there is no such file' if path.suffix == '.json' else checks.nearest(str(path), protocol_names())
        raise ValueError(f'unknown protocol {str(name_or_path)!r}; {hint}')
    protocol = _read(path)
    if protocol.name in protocol_names() and protocol != read_protocol(protocol.name):
        raise ValueError(f'protocol {path}: name {protocol.name!r} is that of another protocol, choose one of its own')
    return protocol


def protocol_names() -> tuple[str, ...]:
    """Names of the protocols of this package."""
    return tuple(sorted(path.stem for path in FOLDER.glob('*.json')))


def _read(path: Path) -> Protocol:
    try:
        return Protocol.from_dict(json.loads(path.read_bytes()))
    except (ValueError, RecursionError) as error:  # json's and unicode's are ValueErrors too
        raise ValueError(f'protocol {path}: {error}') from error


def _group(group: str, rows: object) -> dict[str, tuple[int, ...]]:
    """Corruption -> severities, of the rows of a group in a file."""
    _list(f'groups.{group}', rows)
    members = {}
    for index, row in enumerate(rows):
        where = f'groups.{group}[{index}]'
        _fields(where, row, required=('corruptions', 'severities'), known=('corruptions', 'severities'))
        for field in row:
            _list(f'{where}.{field}', row[field])
        for name in row['corruptions']:
            if not isinstance(name, str):
                raise ValueError(f'{where}.corruptions has {name!r}; names of corruptions are expected')
            if name in members:
                raise ValueError(f'{name} is there twice, the second time in {where}')
            members[name] = tuple(row['severities'])
    return members


def _list(where: str, value: object) -> None:
    if not isinstance(value, list):
        raise ValueError(f'{where} is {value!r}; a list is expected')


def _fields(where: str, value: object, *, required: tuple[str, ...], known: tuple[str, ...]) -> None:
    if not isinstance(value, dict):
        raise ValueError(f'{where} is {value!r}; an object is expected')
    for field in required:
        if field not in value:
            raise ValueError(f'{where} has no field {field!r}')
    for field in value:
        if field not in known:
            raise ValueError(f'{where} has an unknown field {field!r}; {checks.nearest(field, known)}')
