"""Corrupted copies of a tree of images: DST/<corruption>/<severity>/<path in SRC>.

The pixels are those that the transform ``Corrupt`` makes on the fly with the same seed, order and prefix SRC: the key
of an image is its path below SRC. Two files describe the tree: ``manifest.json`` has what it was made with,
``digests.jsonl`` a line for each image that is complete, so an interrupted run goes on where it stopped.
"""

import functools
import importlib
import itertools
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

import fan_dense
from fan_dense.checks import IMAGE_ORDERS, corruption_and_severity, one_of
from fan_dense.corruptions import corrupt, digest, seed_for
from fan_dense.datasets.check import DataError, MissingDataError, check_image
from fan_dense.files import write_atomically

SUFFIXES = ('.png', '.jpg', '.jpeg', '.bmp', '.webp', '.tif', '.tiff')
# a lossless file in little time; a JPEG as good as it can be
ENCODING = {'png': [cv2.IMWRITE_PNG_COMPRESSION, 1], 'jpg': [cv2.IMWRITE_JPEG_QUALITY, 95]}
MANIFEST, DIGESTS = 'manifest.json', 'digests.jsonl'


@dataclass(frozen=True)
class Settings:
    """What a tree is made with.

    Args:
        seed: as of the transform ``Corrupt``.
        image_order: channel order in which a corruption sees the image, 'bgr' (published) or 'rgb'.
        format: 'png' (lossless) or 'jpg', which is no longer equal to what is corrupted on the fly.
        keep_names: leave the file names as they are, suffix included, whatever the format; annotation files then fit.
        imports: modules to import, which register corruptions of the user's own.
    """

    seed: int = 0
    image_order: str = 'bgr'
    format: str = 'png'
    keep_names: bool = False
    imports: tuple[str, ...] = ()


class Condition(NamedTuple):
    corruption: str
    severity: int


class Cost(NamedTuple):
    """What a tree will take: files, seconds of one processor, bytes; measured on its first image."""

    files: int
    seconds: float
    bytes: int


class Job(NamedTuple):
    """One source image and the conditions that it is still wanted in."""

    key: str
    conditions: list[Condition]


def plan(src: Path, dst: Path, corruptions: Iterable[str], severities: Iterable[int], settings: Settings) -> list[Job]:
    """What is left to do, one job per image.

    Raises:
        MissingDataError: SRC is not there, or holds no image.
        DataError: DST holds a tree that was made with other settings, or lies within SRC.
        ValueError: there is no such corruption, severity, order or format.
    """
    for module in settings.imports:
        importlib.import_module(module)
    conditions = [Condition(name, severity) for name in corruptions for severity in severities]
    for condition in conditions:
        corruption_and_severity(*condition)
    one_of('image_order', settings.image_order, IMAGE_ORDERS)
    one_of('format', settings.format, ENCODING)
    if not src.is_dir():
        raise MissingDataError(f'no folder {src}: expected the images to corrupt')
    if dst.resolve().is_relative_to(src.resolve()):
        raise DataError(f'{dst} lies in {src}, so its copies would be corrupted again; choose a folder outside')
    keys = sorted(file.relative_to(src).as_posix() for file in src.rglob('*') if file.suffix.lower() in SUFFIXES)
    if not keys:
        raise MissingDataError(f'no image in {src}; expected files that end in {", ".join(SUFFIXES)}')
    twin = next((b for a, b in itertools.pairwise(keys) if _target(a, settings) == _target(b, settings)), None)
    if twin:
        raise DataError(
            f'{src / twin} and its like of another suffix would be one {_target(twin, settings)}; '
            '--keep-names keeps them apart'
        )
    _check_manifest(dst, settings)
    # a file that was deleted since is made again
    kept = (line for line in _digests(dst) if (dst / line['file']).exists())
    done = {(line['key'], line['corruption'], line['severity']) for line in kept}
    jobs = (Job(key, [one for one in conditions if (key, *one) not in done]) for key in keys)
    return [job for job in jobs if job.conditions]


def estimate(src: Path, jobs: list[Job], settings: Settings) -> Cost:
    """Cost of the jobs, from corrupting and encoding the first image once in each condition."""
    files, seconds, size = sum(len(job.conditions) for job in jobs), 0.0, 0
    if jobs:
        image = read(src / jobs[0].key)
        for condition in jobs[0].conditions:
            corrupted_copy(image, 'compiles, and loads tables', condition, settings)
            start = time.perf_counter()
            encoded = _encoded(corrupted_copy(image, jobs[0].key, condition, settings), settings.format)
            seconds += time.perf_counter() - start
            size += len(encoded)
        seconds, size = (value * files / len(jobs[0].conditions) for value in (seconds, size))
    return Cost(files, seconds, int(size))


def generate(
    src: Path,
    dst: Path,
    jobs: list[Job],
    settings: Settings,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Do the jobs of :func:`plan`.

    Args:
        src: folder of the images.
        dst: folder of the tree.
        jobs: what is to be done.
        settings: what it is made with.
        workers: processes; the pixels do not depend on their number.
        progress: called with the number of files that are done, and that there are to do.

    Raises:
        DataError: an image cannot be decoded.
    """
    write_atomically(dst / MANIFEST, json.dumps(_manifest(settings), indent=1) + '\n')
    done, total = 0, sum(len(job.conditions) for job in jobs)
    with (dst / DIGESTS).open('a') as log:
        if log.tell() and not (dst / DIGESTS).read_text().endswith('\n'):
            log.write('\n')  # the last run was killed while it wrote a line
        for lines in _results(src, dst, jobs, settings, workers):
            log.writelines(f'{json.dumps(line)}\n' for line in lines)
            log.flush()
            done += len(lines)
            progress(done, total)


def _results(src: Path, dst: Path, jobs: list[Job], settings: Settings, workers: int) -> Iterator[list[dict]]:
    """What :func:`_do` gives for each job, as they are done, in order."""
    do = functools.partial(_do, src, dst, settings)
    if workers == 1:
        yield from map(do, jobs)
        return
    # a process that was forked while OpenCV's threads exist would wait for them for ever
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=(settings,)) as pool:
        try:
            yield from pool.map(do, jobs)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def verify(dst: Path) -> int:
    """Decode all files of a lossless tree and compare them with their digests; their number.

    Raises:
        MissingDataError: the folder holds no such tree.
        DataError: a file is missing, or has other pixels than were written.
    """
    manifest = _read_manifest(dst)
    if manifest['format'] != 'png':
        raise DataError(f'{dst} holds {manifest["format"]} files, whose pixels are not those of the digests')
    digests = {line['file']: line['digest'] for line in _digests(dst)}
    wrong = [file for file, digest in digests.items() if not _is_intact(dst / file, digest)]
    if wrong:
        raise DataError(
            f'{len(wrong)} of {len(digests)} files of {dst} are missing or changed: {", ".join(wrong[:3])}; '
            'delete the changed ones and generate again'
        )
    return len(digests)


def read(path: Path) -> np.ndarray:
    """Decode an image as mmcv does, (H, W, 3) uint8 in BGR order.

    Raises:
        MissingDataError: there is no such file.
        DataError: the file is truncated, or no image.
    """
    if not path.is_file():
        raise MissingDataError(f'image {path} does not exist')
    data = path.read_bytes()
    check_image(data, str(path))
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        raise DataError(f'image {path} cannot be decoded: not an image, or damaged')
    return image


def corrupted_copy(image: np.ndarray, key: str, condition: Condition, settings: Settings) -> np.ndarray:
    """A BGR image corrupted in the order of the settings, in BGR."""
    rng = seed_for(settings.seed, key, *condition)
    if settings.image_order == 'bgr':
        return corrupt(image, *condition, rng=rng)
    return np.ascontiguousarray(corrupt(np.ascontiguousarray(image[..., ::-1]), *condition, rng=rng)[..., ::-1])


def _do(src: Path, dst: Path, settings: Settings, job: Job) -> list[dict]:
    image, lines = read(src / job.key), []
    for condition in job.conditions:
        file = Path(condition.corruption, str(condition.severity), _target(job.key, settings))
        result = corrupted_copy(image, job.key, condition, settings)
        _write(dst / file, _encoded(result, settings.format))
        lines.append({'file': file.as_posix(), 'key': job.key, **condition._asdict(), 'digest': digest(result)})
    return lines


def _target(key: str, settings: Settings) -> Path:
    return Path(key) if settings.keep_names else Path(key).with_suffix(f'.{settings.format}')


def _start_worker(settings: Settings) -> None:
    cv2.setNumThreads(1)  # the process is ours
    for module in settings.imports:
        importlib.import_module(module)


def _encoded(image: np.ndarray, file_format: str) -> bytes:
    return cv2.imencode(f'.{file_format}', image, ENCODING[file_format])[1].tobytes()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
    with os.fdopen(handle, 'wb') as file:
        file.write(data)
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)


def _manifest(settings: Settings) -> dict:
    versions = {'fan_dense': fan_dense.__version__, 'numpy': np.__version__, 'opencv': cv2.__version__}
    return asdict(settings) | {'imports': list(settings.imports), 'versions': versions}


def _read_manifest(dst: Path) -> dict:
    if not (dst / MANIFEST).is_file():
        raise MissingDataError(f'no {MANIFEST} in {dst}: it holds no corrupted copies')
    return json.loads((dst / MANIFEST).read_text())


def _check_manifest(dst: Path, settings: Settings) -> None:
    if not (dst / MANIFEST).exists():
        if dst.is_dir() and any(dst.iterdir()):
            raise DataError(f'{dst} is not empty and has no {MANIFEST}; choose a new folder')
        return
    there = _read_manifest(dst)
    for key in ('seed', 'image_order', 'format', 'keep_names'):
        if there[key] != getattr(settings, key):
            raise DataError(
                f'{dst} was made with {key}={there[key]!r}, not {getattr(settings, key)!r}; choose another folder'
            )


def _digests(dst: Path) -> Iterator[dict]:
    """The complete lines of the log; a run that was killed may have left a part of one."""
    if (dst / DIGESTS).exists():
        for line in (dst / DIGESTS).read_text().splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue


def _is_intact(path: Path, expected: str) -> bool:
    try:
        return digest(read(path)) == expected
    except (FileNotFoundError, DataError):
        return False
