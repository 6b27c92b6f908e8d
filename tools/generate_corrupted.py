"""Save corrupted copies of a tree of images, such as COCO's val2017 or Cityscapes' leftImg8bit/val.

Loading a copy gives the pixels that the transform Corrupt makes on the fly with the same seed. A run that was
interrupted goes on where it stopped.
"""

import sys
import time
from pathlib import Path

from fan_dense import cli
from fan_dense.corruptions import SUBSETS, names


def parse() -> cli.Parser:
    parser = cli.Parser(__doc__)
    parser.add_argument('src', type=Path, help='folder of the images')
    parser.add_argument('dst', type=Path, help='folder to write to: DST/<corruption>/<severity>/<path in SRC>')
    parser.add_argument(
        '--corruptions', nargs='+', default=['common'], metavar='NAME', help=f'names, or {", ".join(SUBSETS)}'
    )
    parser.add_argument('--severities', nargs='+', type=int, default=[1, 2, 3, 4, 5], metavar='N')
    parser.add_argument('--seed', type=cli.at_least(0), default=0)
    parser.add_argument('--image-order', choices=('bgr', 'rgb'), default='bgr', help='order that a corruption sees')
    parser.add_argument('--format', choices=('png', 'jpg'), default='png', help='jpg is smaller, and not lossless')
    parser.add_argument('--keep-names', action='store_true', help='keep .jpg and the like, so that annotations fit')
    parser.add_argument('--workers', type=cli.at_least(1), default=1, help='processes')
    parser.add_argument('--import', nargs='+', default=[], dest='imports', metavar='MODULE', help='where yours are')
    parser.add_argument('--dry-run', action='store_true', help='only say what it will take')
    parser.add_argument('--verify', action='store_true', help='only compare the files of DST with their digests')
    return parser


def generate_corrupted(args) -> None:
    from fan_dense.datasets import corrupted

    if args.verify:
        print(f'{corrupted.verify(args.dst)} files of {args.dst} are intact')
        return
    settings = corrupted.Settings(args.seed, args.image_order, args.format, args.keep_names, tuple(args.imports))
    jobs = corrupted.plan(args.src, args.dst, _spelled_out(args.corruptions), args.severities, settings)
    cost = corrupted.estimate(args.src, jobs, settings)
    print(
        f'{len(jobs)} images, {cost.files} files to write: about {cost.bytes / 1e9:.2f} GB and '
        f'{_clock(cost.seconds / args.workers)} with --workers {args.workers}'
    )
    if args.dry_run:
        return
    corrupted.generate(args.src, args.dst, jobs, settings, args.workers, _progress_line())
    print(f'{cost.files} files written to {args.dst}' if cost.files else f'{args.dst} is complete')


def _spelled_out(chosen: list[str]) -> list[str]:
    """The names that are meant: subsets are replaced by what is in them, each name stands once."""
    return list(dict.fromkeys(name for one in chosen for name in (names(one) if one in SUBSETS else (one,))))


def _progress_line():
    """A line on stderr, rewritten in place on a terminal, and written every minute elsewhere."""
    started = shown = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if sys.stderr.isatty() or now - shown > 60 or done == total:
            shown = now
            rate = done / (now - started)
            line = f'{done}/{total} files, {rate:.1f} a second, {_clock((total - done) / rate)} left'
            end = '\n' if done == total or not sys.stderr.isatty() else ''
            print(f'\r{line}\x1b[K' if sys.stderr.isatty() else line, end=end, file=sys.stderr, flush=True)

    return show


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f'{minutes // 60}:{minutes % 60:02}:{seconds:02}'


if __name__ == '__main__':
    raise SystemExit(cli.run(generate_corrupted, parse()))
