"""Time the 19 corruptions beside the package imagecorruptions-imaug 1.1.5, on one thread.

    python benchmarks/corruptions.py [--sizes 2048x1024 1280x800] [--severities 1 2 3 4 5] [--out FILE.json]

The reference is installed into an environment of its own, in a cache, once. Both run in turns, so that what else the
machine does hits both. A row gives the median time and the spread (largest - smallest) of both, their ratio, and the
peak of the extra resident memory in bytes per sample, the result included. Below stand the floor (a copy of the image,
one pass of a random generator, one Gaussian blur of OpenCV) and, for severity 3, what is wanted: the sum at least 20
times, the geometric mean at least 12 times as fast, none slower, at most 8 bytes per sample.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import cv2
import numba
import numpy as np
import PIL
import scipy
from measure import Peak, tiled

from fan_dense.corruptions import corrupt, names, seed_for

HERE = Path(__file__).resolve().parent
PACKAGE = 'imagecorruptions-imaug==1.1.5'
CACHE = Path(os.environ.get('XDG_CACHE_HOME', Path.home() / '.cache')) / 'fan_dense'
CLOCKS = {'wall': 'perf_counter', 'cpu': 'process_time'}


class Timing(NamedTuple):
    """Seconds, and the peak of the extra memory in bytes."""

    times: list[float]
    peak: int

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def spread(self) -> float:
        return max(self.times) - min(self.times)


class Row(NamedTuple):
    """One corruption at one size and severity."""

    height: int
    width: int
    severity: int
    name: str
    ours: Timing
    reference: Timing

    @property
    def ratio(self) -> float:
        return self.reference.median / self.ours.median

    @property
    def bytes_per_sample(self) -> float:
        return self.ours.peak / (self.height * self.width * 3)

    def markdown(self) -> str:
        ours, reference = self.ours, self.reference
        return (
            f'| {self.name} | {1e3 * ours.median:.1f} | {1e3 * ours.spread:.1f} | {1e3 * reference.median:.1f} '
            f'| {1e3 * reference.spread:.1f} | {self.ratio:.1f} | {self.bytes_per_sample:.1f} '
            f'| {reference.peak / (self.height * self.width * 3):.1f} |'
        )


HEADER = """
| corruption | ours, ms | spread | reference, ms | spread | times faster | bytes/sample | reference |
|---|---:|---:|---:|---:|---:|---:|---:|"""


class Reference:
    """The other package, in a process of its own."""

    def __init__(self, frame: Path):
        environment = os.environ | dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'NUMBA_NUM_THREADS'), '1')
        self.process = subprocess.Popen(
            [reference_python(), HERE / 'reference_worker.py', frame],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def time(self, **job) -> Timing:
        self.process.stdin.write(json.dumps(job) + '\n')
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit('error: the reference stopped, see above')
        return Timing(**json.loads(answer))


def reference_python() -> Path:
    """The interpreter of an environment that has the reference; made in the cache if it is not there yet."""
    folder = CACHE / f'{PACKAGE}-venv'
    python, done = folder / 'bin' / 'python', folder / 'installed'
    if not done.exists():
        print(f'installing {PACKAGE} into {folder}', file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        if subprocess.run([python, '-m', 'pip', 'install', '--quiet', PACKAGE]).returncode:
            sys.exit(f'error: pip could not install {PACKAGE} into {folder}')
        done.touch()
    return python


def scene() -> np.ndarray:
    """A picture (512, 512, 3) with smooth parts, edges, texture, black and white."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:512, :512] / 512
    picture = np.stack([200 * y, 90 + 100 * x, 160 * (1 - y)], axis=-1)
    for _ in range(60):
        top, left = rng.integers(0, 480, 2)
        picture[top : top + rng.integers(8, 150), left : left + rng.integers(8, 150)] = rng.integers(-20, 275, 3)
    return np.clip(picture + rng.normal(0, 6, picture.shape), 0, 255).astype(np.uint8)


def measure(run: Callable[[int], object], repeats: int, clock: str) -> Timing:
    run(0)
    times = []
    with Peak() as peak:
        for repeat in range(repeats):
            start = getattr(time, clock)()
            run(repeat)
            times.append(getattr(time, clock)() - start)
    return Timing(times, peak.bytes)


def floor(image: np.ndarray, repeats: int, clock: str) -> dict[str, Timing]:
    rng = np.random.default_rng(0)
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    timings = {
        'copy of the image': measure(lambda _: image.copy(), repeats, clock),
        'one normal number a sample (float32)': measure(
            lambda _: rng.standard_normal(image.shape, np.float32), repeats, clock
        ),
        'one Gaussian blur, sigma 3 (OpenCV, uint8)': measure(
            lambda _: cv2.GaussianBlur(image, (25, 25), 3), repeats, clock
        ),
    }
    cv2.setNumThreads(threads)
    return timings


def summary(rows: list[Row]) -> str:
    total = sum(row.reference.median for row in rows) / sum(row.ours.median for row in rows)
    slowest, hungriest = min(rows, key=lambda row: row.ratio), max(rows, key=lambda row: row.bytes_per_sample)
    return (
        f'Sum {1e3 * sum(row.ours.median for row in rows):.0f} ms against '
        f'{1e3 * sum(row.reference.median for row in rows):.0f} ms: {total:.1f} times faster. '
        f'Geometric mean {statistics.geometric_mean(row.ratio for row in rows):.1f}. '
        f'Least: {slowest.name} {slowest.ratio:.2f}. Most memory: {hungriest.name}, '
        f'{hungriest.bytes_per_sample:.1f} bytes per sample.'
    )


def machine() -> dict[str, str]:
    model = next((line for line in Path('/proc/cpuinfo').read_text().splitlines() if line.startswith('model name')), '')
    return {
        'processor': model.partition(':')[2].strip(),
        'python': platform.python_version(),
        'numpy': np.__version__,
        'opencv': cv2.__version__,
        'numba': numba.__version__,
        'scipy': scipy.__version__,
        'pillow': PIL.__version__,
        'reference': PACKAGE,
    }


def main(args: argparse.Namespace) -> None:
    clock, frame = CLOCKS[args.clock], scene()
    rows, floors = [], {}
    print(', '.join(f'{key} {value}' for key, value in machine().items()), f'; {args.clock} time, one thread', sep='')
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / 'frame.npy', frame)
        reference = Reference(Path(folder) / 'frame.npy')
        for width, height in (map(int, size.split('x')) for size in args.sizes):
            image = tiled(frame, height, width)
            for severity in args.severities:
                print(f'\n{width} x {height}, severity {severity}\n{HEADER}')
                for name in args.names:

                    def run(repeat, name=name, severity=severity, image=image):
                        return corrupt(image, name, severity, rng=seed_for(repeat, 'frame', name, severity))

                    ours = measure(run, args.repeats, clock)
                    job = {'height': height, 'width': width, 'severity': severity, 'name': name, 'clock': clock}
                    other = reference.time(repeats=args.reference_repeats, **job)
                    rows.append(Row(height, width, severity, name, ours, other))
                    print(rows[-1].markdown(), flush=True)
                print(f'\n{summary(rows[-len(args.names) :])}', flush=True)
            floors[f'{width}x{height}'] = floor(image, args.repeats, clock)
            print('\nFloor: ', end='')
            print(
                ', '.join(
                    f'{what} {1e3 * timing.median:.1f} ms' for what, timing in floors[f'{width}x{height}'].items()
                )
            )
        reference.process.stdin.close()
        reference.process.wait()
    if args.out:
        record = {'machine': machine(), 'clock': args.clock, 'rows': [row_record(row) for row in rows]}
        record['floor'] = {size: {what: t._asdict() for what, t in timings.items()} for size, timings in floors.items()}
        args.out.write_text(json.dumps(record, indent=1))


def row_record(row: Row) -> dict:
    return row._asdict() | {'ours': row.ours._asdict(), 'reference': row.reference._asdict(), 'ratio': row.ratio}


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--sizes', nargs='+', default=['2048x1024', '1280x800'], metavar='WxH')
    parser.add_argument('--severities', nargs='+', type=int, default=[1, 2, 3, 4, 5], choices=range(1, 6))
    parser.add_argument('--names', nargs='+', default=names('all'), choices=names('all'), metavar='NAME')
    parser.add_argument('--repeats', type=int, default=7)
    parser.add_argument('--reference-repeats', type=int, default=3)
    parser.add_argument('--clock', choices=CLOCKS, default='wall', help='cpu for a machine that is busy otherwise')
    parser.add_argument('--out', type=Path, help='JSON file for all times')
    main(parser.parse_args())
