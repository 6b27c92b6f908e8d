"""Draw losses and validation figures of a training run."""

from fan_dense import cli


def parse() -> cli.Parser:
    parser = cli.Parser(__doc__)
    parser.add_argument('work_dir', help='folder that tools/train.py wrote to')
    return parser


def run(args) -> None:
    from fan_dense import curves

    print(curves.draw(args.work_dir))


if __name__ == '__main__':
    raise SystemExit(cli.run(run, parse()))
