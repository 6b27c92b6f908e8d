"""Turn a published checkpoint of FAN, FAN-Swin or SAN into one with this project's names, and report on every key.

Classifiers are taken as they were published, segmentors (SegFormer) and detectors (Mask R-CNN, Cascade Mask R-CNN) as
mmseg 0.x and mmdet 2.x save them.
"""

import io
from pathlib import Path

from fan_dense import cli


def parse() -> cli.Parser:
    parser = cli.Parser(__doc__)
    parser.add_argument('src', help='path or http(s) URL of the checkpoint; #sha256=HEX at its end is as --sha256')
    parser.add_argument('dst', type=Path, help='file to write')
    parser.add_argument('--arch', metavar='NAME', help='default: the one whose names and shapes agree')
    parser.add_argument(
        '--to', metavar='KIND', help='classifier, backbone, segformer, mask-rcnn or cascade; default: what SRC is of'
    )
    parser.add_argument('--sha256', metavar='HEX', help='what the SHA-256 of SRC has to begin with, 8 digits or more')
    parser.add_argument('--ema', action='store_true', help='take state_dict_ema, the averaged weights')
    parser.add_argument('--overwrite', action='store_true', help='replace DST if it exists')
    return parser


def convert_checkpoint(args) -> None:
    from fan_dense.files import refuse_existing, write_atomically

    # before the libraries take their time to load
    refuse_existing(args.dst, overwrite=args.overwrite, otherwise='another DST')
    import torch

    from fan_dense.models.released import convert_file

    source = f'{args.src}#sha256={args.sha256}' if args.sha256 else args.src
    conversion = convert_file(source, to=args.to, arch=args.arch, ema=args.ema)
    file = io.BytesIO()
    torch.save(conversion.content, file)
    refuse_existing(args.dst, overwrite=args.overwrite, otherwise='another DST')
    write_atomically(args.dst, file.getvalue())
    meta = conversion.content['meta']
    print(f'{meta["source"]} (SHA-256 {meta["source_sha256"]})')
    print(conversion.report)
    print(f'{args.dst}: {meta["kind"]} of {meta["arch"]}, for')
    print(*conversion.config, sep='\n')


if __name__ == '__main__':
    raise SystemExit(cli.run(convert_checkpoint, parse()))
