"""Train two small models on the embedded street scenes, benchmark them, print, draw and report the result."""

from fan_dense import cli


def parse() -> cli.Parser:
    parser = cli.Parser(__doc__)
    parser.add_argument('--work-dir', default='work_dirs/demo', help='where everything goes')
    parser.add_argument(
        '--cfg-options', nargs='+', action=cli.Options, metavar='KEY=VALUE', help='changes to both configs'
    )
    return parser


def run(args) -> None:
    from fan_dense.demo import demo

    result = demo(work_dir=args.work_dir, cfg_options=args.cfg_options)
    print(f'\nEmbedded street scenes, validation set; corrupted at severity 3:\n\n{result.table()}\n')
    print(f'Figures      {result.summary}')
    print(f'Report       {result.report}')
    print(f'Predictions  {result.picture}')
    for model, path in result.curves.items():
        print(f'Training     {path} ({model})')


if __name__ == '__main__':
    raise SystemExit(cli.run(run, parse()))
