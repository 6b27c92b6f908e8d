"""Kill a sweep at random moments, resume it each time, and compare its summary with an uninterrupted one.

Both must be the same bytes. Exit code 1 if they are not. Slow: about twice the sweep, and the start of each process.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parent.parent / 'tools' / 'benchmark.py'
START = 10  # seconds until a process evaluates, roughly
START = 10  # seconds until a process evaluates, roughly


def run(arguments: list[str], out: Path, seconds: float | None = None) -> bool:
    """Whether the sweep ended by itself, before it was killed after so many seconds; an error of its own ends us."""
    resume = ['--resume'] if out.exists() else []
    process = subprocess.Popen([sys.executable, str(TOOL), *arguments, '--out', str(out), *resume])
    try:
        if process.wait(seconds):
            raise SystemExit(f'the sweep ended with exit code {process.returncode}')
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return False
    return True


def kill_and_resume(arguments: list[str], folder: Path, kills: int, seed: int) -> bool:
    """Whether the summaries in ``folder/whole`` and ``folder/killed`` are equal."""
    whole, killed = folder / 'whole', folder / 'killed'
    if not (whole / 'summary.json').exists():
        run(arguments, whole)
    shutil.rmtree(killed, ignore_errors=True)
    phases = json.loads((whole / 'timing.json').read_text())['conditions']
    draw = random.Random(seed)
    # at any moment from the first imports on, such that all kills together come about as far as the sweep is long
    longest = 2 * (START + sum(one['total'] for one in phases.values()) / kills)
    done = 0
    while done < kills:
        seconds = draw.uniform(2, longest)
        if run(arguments, killed, seconds):
            print(f'the sweep was finished after {done} kills')
            break
        done += 1
        finished = sum(1 for _ in (killed / 'conditions').glob('*.json')) if (killed / 'conditions').exists() else 0
        print(f'kill {done} after {seconds:.1f} s: {finished} of {len(phases)} conditions', flush=True)
    run(arguments, killed)
    same = (whole / 'summary.json').read_bytes() == (killed / 'summary.json').read_bytes()
    print(f'{done} kills; summary.json of both: {"the same bytes" if same else "DIFFERENT"}')
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder', type=Path, help='for both sweeps; an uninterrupted one in FOLDER/whole is used again')
    parser.add_argument('--kills', type=int, default=10)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('arguments', nargs=argparse.REMAINDER, help='-- and the arguments of tools/benchmark.py')
    args = parser.parse_args()
    arguments = args.arguments[1:] if args.arguments[:1] == ['--'] else args.arguments
    return 0 if kill_and_resume(arguments, args.folder, args.kills, args.seed) else 1


if __name__ == '__main__':
    raise SystemExit(main())
