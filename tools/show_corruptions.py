"""Draw an image under each corruption and severity into one labelled picture."""

import importlib
from pathlib import Path

from fan_dense import cli
from fan_dense.corruptions import SUBSETS, names


def parse() -> cli.Parser:
    parser = cli.Parser(__doc__)
    parser.add_argument('image', type=Path)
    parser.add_argument('--out', type=Path, default=Path('corruptions.png'), help='picture to write')
    parser.add_argument(
        '--corruptions', nargs='+', default=['all'], metavar='NAME', help=f'names, or {", ".join(SUBSETS)}'
    )
    parser.add_argument('--severities', nargs='+', type=int, default=[1, 2, 3, 4, 5], metavar='N')
    parser.add_argument('--seed', type=cli.at_least(0), default=0)
    parser.add_argument('--cell', type=cli.at_least(32), default=160, metavar='PIXELS', help='width of a small picture')
    parser.add_argument('--import', nargs='+', default=[], dest='imports', metavar='MODULE', help='where yours are')
    parser.add_argument('--overwrite', action='store_true', help='replace a picture that is there')
    return parser


def show_corruptions(args) -> None:
    import cv2

    from fan_dense.corruptions.sheet import check_name, contact_sheet, write
    from fan_dense.datasets.corrupted import read
    from fan_dense.files import refuse_existing

    for module in args.imports:
        importlib.import_module(module)
    check_name(args.out)
    refuse_existing(args.out, overwrite=args.overwrite)
    image = cv2.cvtColor(read(args.image), cv2.COLOR_BGR2RGB)
    chosen = [name for one in args.corruptions for name in (names(one) if one in SUBSETS else (one,))]
    sheet = contact_sheet(image, chosen, args.severities, key=args.image.name, seed=args.seed, cell=args.cell)
    write(sheet, args.out)
    print(f'{len(chosen)} corruptions x {len(args.severities)} severities in {args.out}')


if __name__ == '__main__':
    raise SystemExit(cli.run(show_corruptions, parse()))
