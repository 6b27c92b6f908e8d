"""Reports of finished sweeps: what ``tools/report.py`` does."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fan_dense import checks
from fan_dense.evaluation.metrics import relative_degradation
from fan_dense.evaluation.published import published
from fan_dense.evaluation.report.entry import Entry, all_metrics, entries
from fan_dense.evaluation.report.notices import notices
from fan_dense.evaluation.report.read import check_together, read
from fan_dense.evaluation.report.rows import conditions_csv, means_csv, seconds_csv
from fan_dense.evaluation.report.tables import Reference
from fan_dense.evaluation.report.timing import seconds
from fan_dense.evaluation.result import nan_to_none
from fan_dense.files import refuse_existing, write_atomically

FILES = {
    'md': ('report.md',),
    'csv': ('conditions.csv', 'means.csv', 'seconds.csv'),
    'json': ('report.json',),
    'html': ('report.html',),
}
FORMATS = tuple(FILES)
FORMAT = 1  # of report.json


@dataclass(frozen=True, kw_only=True)
class ReportResult:
    """The files of a report.

    Attributes:
        files: text files, in the order of :data:`FORMATS`.
        pictures: charts, and for Markdown the worst images; none where neither Markdown nor HTML was asked for.
        warnings: what limits the meaning of its figures, a line each.
    """

    files: tuple[Path, ...]
    pictures: tuple[Path, ...]
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
        resamples: for the confidence intervals; 0 leaves them out, None takes those of the sweep, or the default.

    Raises:
        FileNotFoundError: a folder holds no sweep.
        FileExistsError: a file of the report is there already.
        ValueError: conditions are missing and ``partial`` is False, the sweeps do not belong into one report, or files
            in them are broken.
    """
    for one in formats:
        checks.one_of('format', one, FORMATS)
    paths = [Path(folder) for folder in folders]
    check_together(paths)
    out = Path(out) if out else (paths[0] if len(paths) == 1 else paths[0].parent) / 'report'
    for one in formats:
        for name in FILES[one]:
            refuse_existing(out / name, overwrite=overwrite, otherwise='--out DIR')
    models = entries([read(path, partial=partial, resamples=resamples) for path in paths])
    compared = _reference(models, Path(reference), partial) if reference else None
    texts, pictures = _texts_and_pictures(models, compared, formats)
    for name in pictures:
        refuse_existing(out / name, overwrite=overwrite, otherwise='--out DIR')
    for name, content in (*pictures.items(), *texts.items()):
        write_atomically(out / name, content)
    return ReportResult(
        files=tuple(out / name for name in texts),
        pictures=tuple(out / name for name in pictures),
        warnings=tuple(f'{one.where}: {one.head}: {one.body}' for one in notices(models) if one.warning),
    )


def _reference(models: Sequence[Entry], folder: Path, partial: bool) -> Reference:
    """The reference, with the errors of the models that share a metric with it."""
    (theirs,) = entries([read(folder, partial=partial, resamples=0)])
    found = {}
    for model in models:
        if theirs.metrics.keys().isdisjoint(model.metrics):
            continue
        try:
            found[model.letter] = relative_degradation(model.summary, theirs.summary)
        except ValueError as error:
            raise ValueError(f'{model.sweep.folder} and reference {folder}: {error}') from error
    if not found:
        raise ValueError(f'reference {folder} shares no metric with any of the models')
    return Reference(theirs.name + theirs.marking, found)


def _texts_and_pictures(
    models: Sequence[Entry], reference: Reference | None, formats: Sequence[str]
) -> tuple[dict[str, str], dict[str, bytes]]:
    """The files of the report: name -> text, and name -> bytes."""
    texts, pictures = {}, {}
    if {'md', 'html'}.intersection(formats):
        from fan_dense.evaluation.report.content import compose

        content = compose(models, reference)
        for chart in content.charts:
            pictures |= {f'charts/{chart.name}.svg': chart.svg, f'charts/{chart.name}.png': chart.png}
    if 'md' in formats:
        from fan_dense.evaluation.report.markdown import markdown

        texts['report.md'] = markdown(content)
        pictures |= {photo.name: photo.content for photo in content.photos}
    if 'csv' in formats:
        tables = conditions_csv(models), means_csv(models), seconds_csv(models)
        texts |= dict(zip(FILES['csv'], tables, strict=True))
    if 'json' in formats:
        texts['report.json'] = _json(models, reference)
    if 'html' in formats:
        from fan_dense.evaluation.report.page import html

        texts['report.html'] = html(content)
    return texts, pictures


def _json(models: Sequence[Entry], reference: Reference | None) -> str:
    theirs = [one for metric in all_metrics(models) for one in published(models[0].protocol, metric)]
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
                'relative_degradation': reference and reference.degradation.get(model.letter),
            }
            for model in models
        ],
        'reference': reference and reference.name,
        'published': [asdict(one) for one in theirs],
    }
    return json.dumps(nan_to_none(content), indent=2) + '\n'
