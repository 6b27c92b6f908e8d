"""Evaluate a detector or segmenter on the test data of its config, clean or under one corruption."""

from fan_dense import cli, configuration


def parse() -> cli.Parser:
    parser = cli.Parser(__doc__)
    parser.add_argument('config')
    parser.add_argument('checkpoint')
    parser.add_argument(
        '--corruption', help="name of a corruption, or 'clean'; default: as the config says, else clean"
    )
    parser.add_argument('--severity', type=int, help='1 to 5; default 3')
    parser.add_argument('--seed', type=int, help='of the corruption')
    parser.add_argument('--image-order', choices=('bgr', 'rgb'), help='channel order in which the corruption sees it')
    parser.add_argument('--show-dir', help='folder for pictures of predictions beside the ground truth')
    parser.add_argument('--out', help='result file (default: WORK_DIR/test/CHECKPOINT/CONDITION.json)')
    parser.add_argument('--overwrite', action='store_true', help='replace the result file if it exists')
    parser.add_argument('--work-dir', help='default: work_dirs/CONFIG')
    parser.add_argument(
        '--cfg-options', nargs='+', action=cli.Options, metavar='KEY=VALUE', help='changes to the config'
    )
    parser.add_argument('--launcher', choices=('none', 'pytorch', 'slurm', 'mpi'), default='none')
    return parser


def test(args) -> None:
    configuration.find(args.config)  # before the libraries take their time to load
    from mmengine.dist import is_main_process

    from fan_dense.evaluation.condition import evaluate

    options = vars(args).copy()
    options.pop('traceback')
    result = evaluate(**options)
    if is_main_process():
        print(result.summary())


if __name__ == '__main__':
    raise SystemExit(cli.run(test, parse()))
