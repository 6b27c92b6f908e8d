"""Write the street scenes that come with fan_dense to disk, in the layout of COCO or of Cityscapes."""

import sys
import time
from pathlib import Path

from fan_dense import cli


def parse() -> cli.Parser:
    parser = cli.Parser(__doc__)
    parser.add_argument('dst', type=Path, help='folder to write to, as data_root of a config has it')
    parser.add_argument('--layout', choices=('coco', 'cityscapes'), default='coco')
    parser.add_argument('--train', type=cli.at_least(1), default=1600, metavar='N', help='number of training scenes')
    parser.add_argument('--val', type=cli.at_least(1), default=200, metavar='N', help='number of validation scenes')
    parser.add_argument('--size', type=int, nargs=2, default=(192, 256), metavar=('HEIGHT', 'WIDTH'))
    parser.add_argument('--seed', type=int, default=0, help='another seed, other scenes')
    parser.add_argument('--overwrite', action='store_true', help='replace scenes that are there')
    return parser


def write(args) -> None:
    from fan_dense.datasets.scene_files import SceneSet
    from fan_dense.datasets.writers import write_scenes

    for split, length in (('train', args.train), ('val', args.val)):
        scenes = SceneSet(split, args.size, args.seed)
        write_scenes(
            args.dst, scenes, length, layout=args.layout, overwrite=args.overwrite, progress=progress_line(split)
        )
    print(f'{args.train} + {args.val} scenes in {args.dst}')


def progress_line(split: str):
    """A line on stderr, rewritten in place, or nothing where that is no terminal."""
    started = time.monotonic()

    def show(done: int, total: int) -> None:
        if sys.stderr.isatty():
            left = (time.monotonic() - started) / done * (total - done)
            line = f'\r{split}: {done}/{total} scenes, {left:.0f} s left\x1b[K'
            print(line, end='\n' if done == total else '', file=sys.stderr, flush=True)

    return show


if __name__ == '__main__':
    raise SystemExit(cli.run(write, parse()))
