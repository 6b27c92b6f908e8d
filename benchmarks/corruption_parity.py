"""Compare the corruptions with recorded outputs of the package imagecorruptions.

    python benchmarks/corruption_parity.py DIR [--textures FOLDER] [--seed-offset N]

DIR holds ``inputs.npz``, the images; for an image X the files ``X*.npz``, whose keys are ``<corruption>_s<severity>``
and whose seeds are 1000 * index + severity (+ the offset), index being the place in ``names('all')``; the files
``*_stats.json`` with digests and means of outputs that are not stored; and pairs ``<name>.json``, ``<name>.npz`` with
single cases, each with its own seed and input.

A line per corruption gives the share of equal samples, the largest difference of a sample and of a channel's mean, and
how many digests agree. The exit status is 1 if one is out by more than one grey level, or if nothing was checked.

The published frost textures are those of an installed ``imagecorruptions``, of ``--textures``, or are taken out of the
wheel of imagecorruptions-imaug, which pip downloads into a cache once.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fan_dense.corruptions import Corruption, corrupt, names

TOLERANCE = 1  # grey level
PACKAGE = 'imagecorruptions-imaug==1.1.5'
CACHE = Path(os.environ.get('XDG_CACHE_HOME', Path.home() / '.cache')) / 'fan_dense'


class Case(NamedTuple):
    """One recorded call: its output, every ``step``-th row and column of it, or a digest and the mean."""

    key: str
    corruption: str
    severity: int
    seed: int
    image: np.ndarray
    output: np.ndarray | None = None
    step: int = 1
    digest: str | None = None
    mean: list[float] | None = None


@dataclass
class Tally:
    """What came of the cases of one corruption."""

    cases: int = 0
    samples: int = 0
    equal: int = 0
    largest: int = 0
    mean: float = 0
    digests: int = 0
    same_digests: int = 0

    @property
    def out(self) -> bool:
        return max(self.largest, self.mean) > TOLERANCE

    def line(self, name: str) -> str:
        verdict = 'FAIL' if self.out else 'ok'
        share = f'{100 * self.equal / self.samples:9.4f} %' if self.samples else f'{"-":>11}'
        digests = f'{self.same_digests}/{self.digests}' if self.digests else '-'
        return f'{verdict:5}{name:20}{self.cases:6}{self.samples:10}{share}{self.largest:9}{self.mean:9.1e}{digests:>9}'


def main(directory: Path, textures: Path | None, seed_offset: int) -> int:
    """Print the table of all cases in ``directory`` and return the exit status."""
    if not (directory / 'inputs.npz').is_file():
        sys.exit(f'error: no inputs.npz in {directory}; expected the images that the recorded outputs belong to')
    tallies: dict[str, Tally] = defaultdict(Tally)
    for case in cases(directory, seed_offset):
        check(case, tallies[case.corruption], textures)
    print(f'     {"corruption":20}{"cases":>6}{"samples":>10}{"equal":>11}{"largest":>9}{"mean":>9}{"digests":>9}')
    for name in sorted(tallies, key=names('all').index):
        print(tallies[name].line(name))
    if not tallies:
        print(f'no recorded output in {directory}')
        return 1
    return int(any(tally.out for tally in tallies.values()))


def cases(directory: Path, seed_offset: int) -> Iterator[Case]:
    """All recorded calls of a folder."""
    images = {key: stacked(image) for key, image in np.load(directory / 'inputs.npz').items()}
    for file in sorted(directory.glob('*.npz')):
        owner = max((key for key in images if file.stem.startswith(key)), key=len, default=None)
        if owner:
            for key, output in np.load(file).items():
                name, severity = key.rsplit('_s', 1)
                yield Case(key, name, int(severity), seed(name, severity, seed_offset), images[owner], output)
    for file in sorted(directory.glob('*.json')):
        record = json.loads(file.read_text())
        if 'outputs' in record:
            for key, known in record['outputs'].items():
                name, severity = key.rsplit('_s', 1)
                drawn = seed(name, severity, seed_offset)
                image = images[record['image']]
                yield Case(key, name, int(severity), drawn, image, digest=known['sha256'], mean=known['mean'])
        elif 'cases' in record:
            with np.load(file.with_suffix('.npz')) as outputs:
                for known in record['cases']:
                    yield single_case(known, images, outputs[known['key']])


def seed(name: str, severity: str, offset: int) -> int:
    return offset + 1000 * names('all').index(name) + int(severity)


def stacked(image: np.ndarray) -> np.ndarray:
    return np.stack([image] * 3, axis=-1) if image.ndim == 2 else image


def single_case(known: dict, images: dict[str, np.ndarray], output: np.ndarray) -> Case:
    """A case of a json file: an image made from an array or a constant, and its own seed."""
    height, width = known['input']['crop']
    if 'constant' in known['input']:
        image = np.full((height, width, 3), known['input']['constant'], np.uint8)
    else:
        image = images[known['input']['array']]
        if known['input'].get('tile'):
            image = np.tile(image, (-(-height // image.shape[0]), -(-width // image.shape[1]), 1))
        image = image[:height, :width]
    step = 1 if known['store'] == 'full' else int(known['store'].removeprefix('stride'))
    name, severity = known['corruption'], known['severity']
    return Case(
        known['key'], name, severity, known['seed'], image, output, step, known.get('sha256'), known.get('mean')
    )


def check(case: Case, tally: Tally, textures: Path | None) -> None:
    """Corrupt the image of a case with its seed, and enter the comparison."""
    corruption = published_frost(textures) if case.corruption == 'frost' else case.corruption
    result = corrupt(case.image, corruption, case.severity, rng=np.random.RandomState(case.seed))
    tally.cases += 1
    if case.output is not None:
        difference = np.abs(result[:: case.step, :: case.step].astype(int) - case.output)
        tally.samples += difference.size
        tally.equal += int((difference == 0).sum())
        tally.largest = max(tally.largest, int(difference.max()))
    if case.digest:
        tally.digests += 1
        tally.same_digests += hashlib.sha256(result.tobytes()).hexdigest() == case.digest
    if case.mean:
        tally.mean = max(tally.mean, float(np.abs(result.mean(axis=(0, 1)) - case.mean).max()))


def published_frost(textures: Path | None) -> Corruption:
    from fan_dense.corruptions.weather import frost

    if textures is None and find_spec('imagecorruptions'):
        return frost('imagecorruptions')
    return frost(str(textures or downloaded_textures()))


def downloaded_textures() -> Path:
    """The published textures, out of the wheel of the package, in the cache."""
    folder = CACHE / PACKAGE
    if not (folder / 'imagecorruptions' / 'frost').is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', str(folder), PACKAGE]
        if subprocess.run(command).returncode:
            sys.exit(
                f'error: the published frost textures are needed; pip could not download {PACKAGE}, see --textures'
            )
        with zipfile.ZipFile(next(folder.glob('*.whl'))) as wheel:
            wheel.extractall(folder, [name for name in wheel.namelist() if '/frost/' in name])
    return folder / 'imagecorruptions' / 'frost'


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('directory', type=Path, metavar='DIR')
    parser.add_argument('--textures', type=Path, help='folder with the published frost1 .. frost5')
    parser.add_argument(
        '--seed-offset', type=int, default=0, help='added to the seeds of outputs without a case of their own'
    )
    args = parser.parse_args()
    sys.exit(main(args.directory, args.textures, args.seed_offset))
