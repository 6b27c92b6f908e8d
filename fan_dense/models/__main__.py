"""``python -m fan_dense.models`` prints a table of all architectures, with a name a page on one."""

import dataclasses
import json
import sys

from fan_dense import cli


def parser() -> cli.Parser:
    parser = cli.Parser('What each architecture costs and gives: a table of all, or a page on one.')
    parser.prog = 'python -m fan_dense.models'
    parser.add_argument('arch', nargs='?', help='our name or the published one; default: a table of all')
    parser.add_argument(
        '--image-size', type=cli.at_least(32), default=224, metavar='PIXELS', help='side of the image for the GFLOPs'
    )
    parser.add_argument('--json', action='store_true', help='print figures as JSON')
    return parser


def describe(args) -> None:
    from fan_dense.models.card import card, summarize, table
    from fan_dense.models.catalogue import ARCHITECTURES

    summaries = (summarize(name, args.image_size) for name in ([args.arch] if args.arch else ARCHITECTURES))
    if args.json:
        print(json.dumps([dataclasses.asdict(summary) for summary in summaries], indent=2))
    elif args.arch:
        print(card(args.arch, args.image_size))
    else:
        for line in table(summaries):
            print(line, flush=True)  # each takes a moment


if __name__ == '__main__':
    sys.exit(cli.run(describe, parser()))
