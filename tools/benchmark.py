"""Evaluate one or several models under all conditions of a robustness benchmark: resumable, and shared out if wanted.

A result is kept as soon as it is there; tools/report.py makes a page of them.
"""

import argparse
import importlib

from fan_dense import cli, configuration
from fan_dense.evaluation.protocol import read_protocol


def parse() -> cli.Parser:
    parser = cli.Parser(__doc__)
    parser.add_argument('config', nargs='?')
    parser.add_argument('checkpoint', nargs='?')
    parser.add_argument(
        '--models',
        nargs='+',
        type=_pair,
        metavar='CONFIG:CHECKPOINT',
        help='several models with the same test data instead: every image is decoded and corrupted once for all',
    )
    parser.add_argument(
        '--protocol', default='common', help='coco-c, cityscapes-c, common, all, quick, or a JSON file; default common'
    )
    parser.add_argument(
        '--import', nargs='+', default=[], dest='imports', metavar='MODULE', help='modules with corruptions of your own'
    )
    parser.add_argument(
        '--corruptions', nargs='+', metavar='NAME', help='only these of the protocol, or groups of them'
    )
    parser.add_argument('--severities', nargs='+', type=int, metavar='N', help='only these of the protocol')
    parser.add_argument('--seed', type=int, default=0, help='of the corruptions; default 0')
    parser.add_argument(
        '--image-order', choices=('bgr', 'rgb'), help='channel order in which the corruptions see an image'
    )
    parser.add_argument(
        '--max-images', type=cli.at_least(1), metavar='N', help='only so many, spread over the data set'
    )
    parser.add_argument('--clean-only', action='store_true', help='only the clean condition')
    parser.add_argument('--out', metavar='DIR', help='default: work_dirs/CONFIG/benchmark/CHECKPOINT/PROTOCOL')
    parser.add_argument('--resume', action='store_true', help='go on with the sweep that is in this folder')
    parser.add_argument('--partial', action='store_true', help='summarise although conditions are missing')
    parser.add_argument('--shard', type=_shard, metavar='I/N', help='this is job I of N that share the folder')
    parser.add_argument('--launcher', choices=('none', 'pytorch', 'slurm', 'mpi'), default='none')
    parser.add_argument('--workers', type=cli.at_least(0), metavar='N', help='processes that decode and corrupt')
    parser.add_argument('--worst-images', type=cli.at_least(0), default=4, metavar='N', help='to draw; default 4')
    parser.add_argument('--resamples', type=cli.at_least(0), metavar='N', help='of the bootstrap; 0: no intervals')
    parser.add_argument(
        '--cfg-options', nargs='+', action=cli.Options, metavar='KEY=VALUE', help='changes to the config'
    )
    return parser


def _pair(text: str) -> tuple[str, str]:
    config, colon, checkpoint = text.partition('.py:')
    if not colon or not checkpoint:
        raise argparse.ArgumentTypeError(f'{text!r} is not CONFIG.py:CHECKPOINT')
    return f'{config}.py', checkpoint


def _shard(text: str) -> tuple[int, int]:
    parts = text.split('/')
    if len(parts) != 2 or not all(part.isdigit() for part in parts) or not 1 <= int(parts[0]) <= int(parts[1]):
        raise argparse.ArgumentTypeError(f'{text!r} is not I/N with I from 1 to N, such as 1/3')
    return int(parts[0]), int(parts[1])


def benchmark(args) -> None:
    options = vars(args).copy()
    config, checkpoint = options.pop('config'), options.pop('checkpoint')
    options.pop('traceback')
    if (options['models'] is None) == (checkpoint is None):
        raise ValueError('give a CONFIG and its CHECKPOINT, or several as --models CONFIG:CHECKPOINT ...')
    options['models'] = options['models'] or [(config, checkpoint)]
    # before the libraries take their time to load
    for path, _ in options['models']:
        configuration.find(path)
    for module in options.pop('imports'):
        importlib.import_module(module)
    read_protocol(options['protocol']).restricted(options['corruptions'], options['severities'])
    from mmengine.dist import is_main_process

    from fan_dense.evaluation.sweep import benchmark

    result = benchmark(**options)
    if is_main_process():
        print(result.text())


if __name__ == '__main__':
    raise SystemExit(cli.run(benchmark, parse()))
