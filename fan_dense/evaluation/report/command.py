"""Reports of finished sweeps: what ``tools/report.py`` does."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fan_dense import checks
from fan_dense.evaluation.folder import SweepFolder
from fan_dense.evaluation.metrics import MissingConditions, relative_degradation
from fan_dense.evaluation.report.entry import Entry, Sweep, entries
from fan_dense.evaluation.report.notices import notices
from fan_dense.evaluation.report.rows import conditions_csv, means_csv
from fan_dense.evaluation.report.timing import seconds
from fan_dense.evaluation.result import nan_to_none
from fan_dense.files import refuse_existing, write_atomically

FORMATS = ('md', 'csv', 'json', 'html')
FORMAT = 1  # of report.json
CHARTS = 'charts'
WORST = ('image', 'condition', 'score', 'clean_score', 'score_name', 'clean', 'corrupted')  # fields of worst.json


@dataclass(frozen=True, kw_only=True)
class ReportResult:
    """The files of a report.

    Attributes:
        files: text files, in the order of :data:`FORMATS`.
        charts: picture files; none where neither Markdown nor HTML was asked for.
        warnings: what limits the meaning of its figures, a line each.
    """

    files: tuple[Path, ...]
    charts: tuple[Path, ...]
    warnings: tuple[str, ...]


def report(
    *,
    folders: Sequence[str | Path],
    out: str | Path | None = None,
    formats: Sequence[str] = FORMATS,
    partial: bool = False,
    overwrite: bool = False,
    reference: str | Path | None = None,
    resamples: int | None = None,
) -> ReportResult:
    """Write the report of one model or several under one protocol.

    Args:
        folders: of the sweeps, as ``tools/benchmark.py`` writes them.
        out: folder for the report; default ``report`` in the sweep's, or beside the first of several.
        formats: which of 'md', 'csv', 'json' and 'html'. Charts are drawn for the first and the last.
        partial: report a sweep of which conditions are missing, marked as such wherever a mean is.
        overwrite: replace files that are there.
        reference: folder of another model's sweep, to give errors relative to its.
        resamples: for the confidence intervals; 0 leaves them out, None takes the default.

    Raises:
        FileNotFoundError: a folder holds no sweep.
        FileExistsError: a file of the report is there already.
        MissingConditions: conditions are missing, and ``partial`` is False.
        ValueError: the sweeps do not belong into one report, or files in them are broken.
    """
    for one in formats:
        checks.one_of('format', one, FORMATS)
    paths = [Path(folder) for folder in folders]
    out = Path(out) if out else (paths[0] if len(paths) == 1 else paths[0].parent) / 'report'
    _check_together([SweepFolder(path) for path in paths])
    models = entries([_read(path, partial, resamples) for path in paths])
    degradation = _degradation(models, reference, partial) if reference else None
    contents, pictures = _contents(models, degradation, formats)
    for name in (*contents, *pictures):
        refuse_existing(out / name, overwrite=overwrite)
    for name, content in (*pictures.items(), *contents.items()):
        write_atomically(out / name, content)
    return ReportResult(
        files=tuple(out / name for name in contents),
        charts=tuple(out / name for name in pictures),
        warnings=tuple(f'{one.where}: {one.head}: {one.body}' for one in notices(models) if one.warning),
    )


def _check_together(folders: Sequence[SweepFolder]) -> None:
    """Raise a ValueError unless the sweeps are different ones, under one protocol and image order."""
    if not folders:
        raise ValueError('no folder of a sweep was given; tools/benchmark.py makes them')
    first = folders[0]
    if len({folder.path.resolve() for folder in folders}) < len(folders):
        raise ValueError(f'a folder is given twice: {", ".join(str(folder.path) for folder in folders)}')
    for folder in folders:
        for what in ('protocol', 'image_order'):
            ours, theirs = getattr(folder.identity, what), getattr(first.identity, what)
            if ours != theirs:
                if what == 'protocol':
                    ours, theirs = ours['name'], theirs['name'] + (' (with other conditions)' * (ours == theirs))
                raise ValueError(
                    f'{folder.path} has {what} {ours}, {first.path} has {theirs}: '
                    'models are compared under the same conditions, make a report of each'
                )


def _read(path: Path, partial: bool, resamples: int | None) -> Sweep:
    folder = SweepFolder(path)
    try:
        summary = folder.summary(partial=partial, resamples=resamples)
    except MissingConditions as error:
        raise ValueError(f'{path}: {error}') from error
    return Sweep(
        folder=path,
        identity=folder.identity,
        summary=summary,
        phases=[result.phases for result in folder.results().values() if result.phases],
        worst=_worst(path / 'worst' / 'worst.json'),
    )


def _worst(file: Path) -> list[dict]:
    """What is said about the worst images; nothing if none were drawn."""
    if not file.is_file():
        return []
    try:
        return [
            {
                name: one[name]
                for name in ('image', 'condition', 'score', 'clean_score', 'score_name', 'clean', 'corrupted')
            }
            for one in json.loads(file.read_text())
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f'{file} does not list worst images: {type(error).__name__}: {error}') from error


def _degradation(models: Sequence[Entry], reference: str | Path, partial: bool) -> dict[str, dict]:
    """Letter -> errors of the model relative to those of the reference."""
    summary = _read(Path(reference), partial, resamples=0).summary
    found = {}
    for model in models:
        try:
            found[model.letter] = relative_degradation(model.summary, summary)
        except ValueError as error:
            raise ValueError(f'{model.sweep.folder} and reference {reference}: {error}') from error
    return found


def _contents(models: Sequence[Entry], degradation, formats: Sequence[str]) -> tuple[dict[str, str], dict[str, bytes]]:
    """Text files and pictures of the report, by name."""
    texts, pictures = {}, {}
    if {'md', 'html'}.intersection(formats):
        from fan_dense.evaluation.report.content import compose

        content = compose(models, degradation)
        for chart in content.charts:
            pictures[f'{CHARTS}/{chart.name}.svg'] = chart.svg
            pictures[f'{CHARTS}/{chart.name}.png'] = chart.png
    if 'md' in formats:
        from fan_dense.evaluation.report.markdown import markdown

        texts['report.md'] = markdown(content)
    if 'csv' in formats:
        texts |= {'conditions.csv': conditions_csv(models), 'means.csv': means_csv(models)}
    if 'json' in formats:
        texts['report.json'] = _json(models, degradation)
    if 'html' in formats:
        from fan_dense.evaluation.report.page import html

        texts['report.html'] = html(content)
    return texts, pictures


def _json(models: Sequence[Entry], degradation) -> str:
    content = {
        'format': FORMAT,
        'notices': [
            {'model': one.model and one.model.name, 'warning': one.warning, 'head': one.head, 'body': one.body}
            for one in notices(models)
        ],
        'models': [
            {
                'letter': model.letter,
                'name': model.name,
                'marks': list(model.marks),
                'identity': asdict(model.sweep.identity),
                'summary': asdict(model.summary),
                'seconds': seconds(model),
                'worst': model.sweep.worst,
                'relative_degradation': (degradation or {}).get(model.letter),
            }
            for model in models
        ],
    }
    return json.dumps(nan_to_none(content), indent=2) + '\n'
