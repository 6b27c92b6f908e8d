"""The folder of a sweep: one model under one protocol. What is in it is written whole, as soon as it is there.

sweep.json               what is measured: model, data, protocol, seed; see :class:`Identity`
conditions/*.json        scores of each condition, :class:`~fan_dense.evaluation.result.ConditionResult`
records/*.npz            what each image contributed to them, :mod:`fan_dense.evaluation.records`
summary.json             the figures of the protocol, :class:`~fan_dense.evaluation.metrics.Summary`
timing.json              where the time went
worst/                   images on which the model lost most, and worst.json about them
"""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from fan_dense import configuration
from fan_dense.evaluation import confidence, records
from fan_dense.evaluation.metrics import Summary, summarise
from fan_dense.evaluation.protocol import Protocol
from fan_dense.evaluation.result import Condition, ConditionResult
from fan_dense.files import write_atomically

FORMAT = 1
SWEEP = 'sweep.json'
# may differ between a run and its continuation
_LOOSE = ('name', 'config', 'checkpoint', 'versions')


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What a sweep measures; results of one folder agree in all of it.

    Attributes:
        name: of the model, in reports.
        config, checkpoint: files.
        checkpoint_digest: first 64 bits of the checkpoint's SHA-256.
        protocol: as data.
        seed, image_order: of the corruptions.
        max_images: limit that the caller set, or None.
        images: number of images.
        data: digests of the images' names and sizes and of the ground truth.
        classes: of the data set.
        settings: flattened config of model, test data and metric.
        training_corruptions: test corruptions in the training pipeline; none makes it zero-shot.
        versions: of the packages, when the sweep began.
    """

    name: str
    config: str
    checkpoint: str
    checkpoint_digest: str
    protocol: dict
    seed: int
    image_order: str
    max_images: int | None
    images: int
    data: dict[str, str]
    classes: list[str]
    settings: dict[str, str]
    training_corruptions: list[str]
    versions: dict[str, str]
    format: int = FORMAT

    def differences(self, other: 'Identity') -> list[str]:
        """Names of what differs, most telling first, with both values where they are short."""
        found = []
        for name in (field.name for field in fields(self) if field.name not in _LOOSE):
            one, two = getattr(self, name), getattr(other, name)
            if one == two:
                continue
            if name == 'settings':
                found += [f'config ({", ".join(configuration.differences(one, two)[:5])})']
            elif name == 'protocol':
                names = [one['name'], two['name']]
                found.append(f'protocol ({", now ".join(names) if len(set(names)) > 1 else f"another {names[0]}"})')
            elif isinstance(one, dict):
                found += [f'{name}.{key}' for key in configuration.differences(one, two)]
            else:
                found.append(f'{name} ({one}, now {two})' if len(f'{one}{two}') < 60 else name)
        return found


class SweepFolder:
    """Reads and writes such a folder. Its identity has to be there, or be written first, for all but that.

    Args:
        path: the folder, which need not exist.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)

    def exists(self) -> bool:
        """Whether a sweep has been begun there."""
        return (self.path / SWEEP).exists()

    @property
    def identity(self) -> Identity:
        """Raises a FileNotFoundError or ValueError if the folder holds no sweep that we can read."""
        file = self.path / SWEEP
        if not file.is_file():
            raise FileNotFoundError(f'{self.path} holds no sweep ({SWEEP} is missing); tools/benchmark.py makes one')
        try:
            content = json.loads(file.read_text())
            identity = Identity(**content)
        except (ValueError, TypeError) as error:
            raise ValueError(f'{file} is not the beginning of a sweep: {error}') from error
        if identity.format != FORMAT:
            raise ValueError(f'{file} has format {identity.format}, this version reads {FORMAT}: run the sweep again')
        return identity

    def write_identity(self, identity: Identity) -> None:
        write_atomically(self.path / SWEEP, json.dumps(asdict(identity), indent=2) + '\n')

    @property
    def protocol(self) -> Protocol:
        return Protocol.from_dict(self.identity.protocol)

    def conditions(self) -> list[Condition]:
        """All that the protocol asks for, clean first."""
        identity = self.identity
        return self.protocol.conditions(identity.seed, identity.image_order)

    def result_file(self, condition: Condition) -> Path:
        return self.path / 'conditions' / f'{condition.file_stem}.json'

    def finished(self, condition: Condition) -> bool:
        """Whether its result and records are there."""
        return self.result_file(condition).exists() and self._records_file(condition).exists()

    def missing(self) -> list[Condition]:
        """Conditions that are not finished."""
        return [condition for condition in self.conditions() if not self.finished(condition)]

    def write(self, result: ConditionResult, contributions: dict) -> None:
        """Keep a result; its records first, so that a condition that has a result has all."""
        file = self._records_file(result.condition)
        file.parent.mkdir(parents=True, exist_ok=True)
        records.save(file, contributions)
        write_atomically(self.result_file(result.condition), result.to_json())

    def results(self) -> dict[Condition, ConditionResult]:
        """Results of the protocol's conditions, as far as there are any."""
        found = {}
        for condition in self.conditions():
            file = self.result_file(condition)
            if file.exists():
                try:
                    found[condition] = ConditionResult.from_json(file.read_text())
                except ValueError as error:
                    raise ValueError(f'{file} is {error}; delete it and run the sweep again with --resume') from error
        return found

    def records(self, condition: Condition) -> dict:
        """What each image contributed, name -> record; empty for metrics that keep none."""
        file = self._records_file(condition)
        return records.load(file) if file.exists() else {}

    def summary(self, *, partial: bool = False, resamples: int | None = None) -> Summary:
        """The figures of the protocol.

        Args:
            partial: take means of the conditions that are there, if not all are.
            resamples: of the bootstrap behind the intervals; None: its default, 0: no intervals.

        Raises:
            MissingConditions: conditions have no result, and ``partial`` is False.
            ValueError: results do not belong together, or a corrupted condition has the pixels of the clean one.
        """
        results = self.results()
        clean = results.get(Condition())
        bounds = None
        if resamples != 0 and clean and len(results) > 1:
            contributions = {condition: self.records(condition) for condition in results}
            if all(contributions.values()):
                options = {} if resamples is None else {'resamples': resamples}
                bounds = confidence.intervals(self.protocol, contributions, **options)
        return summarise(self.protocol, results, intervals=bounds, partial=partial)

    def write_summary(self, summary: Summary) -> Path:
        """Write the summary, and how long each condition and phase took."""
        phases = {condition.file_stem: result.phases for condition, result in self.results().items()}
        write_atomically(self.path / 'timing.json', json.dumps({'conditions': phases}, indent=2) + '\n')
        file = self.path / 'summary.json'
        write_atomically(file, summary.to_json())
        return file

    def _records_file(self, condition: Condition) -> Path:
        return self.path / 'records' / f'{condition.file_stem}.npz'
