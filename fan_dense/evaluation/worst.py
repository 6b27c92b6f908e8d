"""The images on which a model lost most by a corruption, drawn clean and corrupted."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import cv2
import numpy as np
from mmengine.dist import broadcast_object_list, is_main_process

from fan_dense.evaluation.folder import SweepFolder
from fan_dense.evaluation.loop import Subject, run_conditions
from fan_dense.evaluation.result import Condition
from fan_dense.files import write_atomically

WORST = 'worst.json'
MAX_WIDTH = 1600  # pixels of a picture


def choose(scores: Mapping[Condition, np.ndarray], count: int) -> list[tuple[int, Condition]]:
    """The (image, condition) with the largest loss against clean; no image and no corruption twice.

    Args:
        scores: condition, clean among them -> score of each image, (N,); NaN where an image has none.
        count: how many, or fewer where images or corruptions do not suffice.
    """
    clean = scores[Condition()]
    losses = [
        (clean[image] - values[image], -image, str(condition), condition)
        for condition, values in scores.items()
        if condition.corruption
        for image in range(len(clean))
    ]
    chosen, seen = [], set()
    for _, negative, _, condition in sorted((one for one in losses if one[0] > 0), key=lambda one: one[:3])[::-1]:
        if len(chosen) < count and not seen & {-negative, condition.corruption}:
            seen |= {-negative, condition.corruption}
            chosen.append((-negative, condition))
    return chosen


def draw(folder: SweepFolder, subject: Subject, images: Sequence[int], count: int) -> None:
    """Write ``worst/worst.json`` and the pictures that it names, unless these images are there.

    Args:
        folder: of a sweep with results.
        subject: the model.
        images: indices in the data set of the images that were scored.
        count: number of images to draw.
    """
    place = folder.path / 'worst'
    box = [None]
    if is_main_process():
        found = _entries(folder, count)
        box = [None if _there(place, [entry for *_, entry in found]) else found]
    broadcast_object_list(box)
    if box[0] is None:
        return
    for number, (position, condition, entry) in enumerate(box[0]):
        for state, when in ((Condition(), 'clean'), (condition, 'corrupted')):
            entry['image'], picture = _picture(subject, images[position], state)
            entry[when] = f'{number}-{when}.jpg'
            if is_main_process():
                write_atomically(place / entry[when], picture)
    if is_main_process():
        write_atomically(place / WORST, json.dumps([entry for _, _, entry in box[0]], indent=2) + '\n')


def _there(place: Path, entries: Sequence[dict]) -> bool:
    """Whether these images are drawn; others may be, of when fewer conditions had a result."""
    try:
        drawn = json.loads((place / WORST).read_text())
        same = [{name: one[name] for name in entry} for one, entry in zip(drawn, entries, strict=True)] == list(entries)
        return same and all((place / one[when]).is_file() for one in drawn for when in ('clean', 'corrupted'))
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _entries(folder: SweepFolder, count: int) -> list[tuple[int, Condition, dict]]:
    """(position among the scored images, condition, what the report says of it)."""
    scores, name = {}, None
    for condition in folder.results():
        records = list(folder.records(condition).values())
        if records:  # the last one: masks, where there are boxes too
            scores[condition], name = records[-1].image_scores(), records[-1].image_score_name
    if Condition() not in scores:
        return []
    return [
        (
            position,
            condition,
            {
                'condition': asdict(condition),
                'score_name': name,
                'score': float(scores[condition][position]),
                'clean_score': float(scores[Condition()][position]),
            },
        )
        for position, condition in choose(scores, count)
    ]


def _picture(subject: Subject, image: int, condition: Condition) -> tuple[str, bytes]:
    """Key of an image, and prediction and ground truth on it as a JPEG; empty on all ranks but the first."""
    with tempfile.TemporaryDirectory() as drawn:
        show = drawn if is_main_process() else None
        for _ in run_conditions([subject], [condition], images=[image], workers=0, show_dirs=[show]):
            pass
        if show is None:
            return '', b''
        folder = Path(drawn, condition.file_stem)
        (file,) = folder.rglob('*.png')
        return file.relative_to(folder).with_suffix('').as_posix(), _jpeg(cv2.imread(str(file)))


def _jpeg(picture: np.ndarray) -> bytes:
    if picture.shape[1] > MAX_WIDTH:
        height = round(picture.shape[0] * MAX_WIDTH / picture.shape[1])
        picture = cv2.resize(picture, (MAX_WIDTH, height), interpolation=cv2.INTER_AREA)
    return cv2.imencode('.jpg', picture, [cv2.IMWRITE_JPEG_QUALITY, 85])[1].tobytes()
