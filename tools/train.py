"""Train a detector or segmenter from a config."""

from fan_dense import cli, configuration


def parse() -> cli.Parser:
    parser = cli.Parser(__doc__)
    parser.add_argument('config')
    parser.add_argument('--work-dir', help='checkpoints and logs (default: work_dirs/CONFIG)')
    parser.add_argument('--resume', action='store_true', help='go on from the last checkpoint in the work dir')
    parser.add_argument('--amp', action='store_true', help='automatic mixed precision, on a GPU')
    parser.add_argument(
        '--cfg-options', nargs='+', action=cli.Options, metavar='KEY=VALUE', help='changes to the config'
    )
    parser.add_argument('--launcher', choices=('none', 'pytorch', 'slurm', 'mpi'), default='none')
    return parser


def train(args) -> None:
    configuration.find(args.config)  # before the libraries take their time to load
    from mmengine.dist import is_main_process

    from fan_dense.training import train

    options = vars(args).copy()
    options.pop('traceback')
    result = train(**options)
    if is_main_process():
        print(f'{result.iterations} iterations in {result.seconds:.0f} s; last checkpoint {result.checkpoint}')


if __name__ == '__main__':
    raise SystemExit(cli.run(train, parse()))
