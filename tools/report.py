"""Report of one or several models that tools/benchmark.py has evaluated: Markdown, CSV, JSON and a HTML page."""

import importlib

from fan_dense import cli

FORMATS = ('md', 'csv', 'json', 'html')


def parse() -> cli.Parser:
    parser = cli.Parser(__doc__)
    parser.add_argument('folders', nargs='+', metavar='DIR', help='what tools/benchmark.py wrote, one a model')
    parser.add_argument(
        '--out', metavar='DIR', help='for the report (default: report in DIR, or beside the first of several)'
    )
    parser.add_argument('--formats', nargs='+', choices=FORMATS, default=list(FORMATS), help='default: all')
    parser.add_argument('--partial', action='store_true', help='report means of unfinished sweeps, marked as such')
    parser.add_argument('--overwrite', action='store_true', help='replace a report that is there')
    parser.add_argument(
        '--import', nargs='+', default=[], dest='imports', metavar='MODULE', help='modules with corruptions of your own'
    )
    parser.add_argument('--reference', metavar='DIR', help='sweep of a model to give errors relative to')
    parser.add_argument(
        '--resamples', type=cli.at_least(0), metavar='N', help='for the confidence intervals; 0 leaves them out'
    )
    return parser


def report(args) -> None:
    from fan_dense.evaluation.report import report as write

    options = vars(args).copy()
    options.pop('traceback')
    for module in options.pop('imports'):
        importlib.import_module(module)
    result = write(**options)
    for warning in result.warnings:
        print(warning)
    for file in result.files:
        print(file)
    if result.pictures:
        print(f'{len(result.pictures)} pictures beside them')


if __name__ == '__main__':
    raise SystemExit(cli.run(report, parse()))
