"""The table of the configs: parameters, GFLOPs, published figures.

    python benchmarks/model_table.py [--write docs/configs.md]

Models are built on torch's meta device, which holds shapes and no values, so that the largest take no memory. GFLOPs
are multiply-adds, in thousands of millions, of convolutions, linear layers and attention in one forward pass.
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

import torch
from config_names import BACKBONES, FAMILY, RECIPES, Member
from mmengine.config import Config
from mmengine.logging import MMLogger
from mmengine.model import BaseModel, revert_sync_batchnorm
from mmengine.registry import MODELS, DefaultScope
from stock_models import from_scratch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from fan_dense import configuration
from fan_dense.evaluation.protocol import read_protocol
from fan_dense.evaluation.published import published

CONFIGS = Path(__file__).parent.parent / 'configs'
# height and width of the image whose GFLOPs are counted
SIZES = {'coco': (800, 1280), 'cityscapes': (1024, 2048), 'ade20k': (512, 512)}
PROPOSALS, DETECTIONS = 1000, 100  # regions that the heads of a detector see
PROTOCOLS = {'coco': ('coco-c', 'bbox_mAP'), 'cityscapes': ('cityscapes-c', 'mIoU')}
HEADS = {'maskrcnn': 'Mask R-CNN', 'cascade': 'Cascade Mask R-CNN', 'segformer': 'SegFormer head', 'upernet': 'UPerNet'}
# these ask values of a tensor while they are built
NOT_ON_META = ('SwinTransformer', 'mmseg.MixVisionTransformer')
BEGIN, END = '<!-- by benchmarks/model_table.py, from here -->', '<!-- to here -->'


def build(config: Config) -> BaseModel:
    """The model of ``config`` on the meta device, in evaluation mode, without weights."""
    from_scratch(config.model)
    described = config.model.backbone
    with DefaultScope.overwrite_default_scope(config.default_scope):
        if described.type in NOT_ON_META:
            config.model.backbone = dict(type='SAN', arch='san10')  # for the time being
        with torch.device('meta'):
            model = MODELS.build(config.model)
        if described.type in NOT_ON_META:
            model.backbone = MODELS.build(described).to('meta')
    return revert_sync_batchnorm(model).eval()


@torch.no_grad()
def forward(model: BaseModel, height: int, width: int) -> dict[str, object]:
    """What each part of the model gives for an image of this size; of a detector the heads see the usual regions.

    Returns:
        Name of the part to its maps, a tensor or a sequence of tensors.
    """
    maps = model.backbone(torch.empty(1, 3, height, width, device='meta'))
    found = {'backbone': maps}
    if getattr(model, 'neck', None) is not None:
        found['neck'] = maps = model.neck(maps)
    if not hasattr(model, 'rpn_head'):
        found['decode_head'] = model.decode_head(maps)
        return found
    found['rpn_head'] = model.rpn_head(maps)
    for kind, regions in (('bbox', PROPOSALS), ('mask', DETECTIONS)):
        head, extractor = (getattr(model.roi_head, f'{kind}_{part}') for part in ('head', 'roi_extractor'))
        for index, (one, cut) in enumerate(zip(_several(head), _several(extractor))):
            side = cut.roi_layers[0].output_size
            found[f'{kind}_head.{index}'] = one(torch.empty(regions, cut.out_channels, *side, device='meta'))
    return found


def gflops(model: BaseModel, height: int, width: int) -> float:
    """Multiply-adds of :func:`forward`, in thousands of millions."""
    with FlopCounterMode(display=False) as counter:
        forward(model, height, width)
    return counter.get_total_flops() / 2e9  # torch counts a multiply-add as two


def figures(member: Member) -> str:
    """What is published of a config's model: clean and corrupted, in per cent."""
    if member.data not in PROTOCOLS:
        return ''
    protocol, metric = PROTOCOLS[member.data]
    name = f'{BACKBONES[member.backbone]} {HEADS[member.head]}'
    for row in published(read_protocol(protocol), metric):
        if row.model == name:
            return f'{row.clean * 100:.1f} / {row.mpc * 100:.1f}'
    return ''


def row(member: Member) -> str:
    """The line of the table of a config."""
    model = build(configuration.load(CONFIGS / f'{member.name}.py'))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    cost = gflops(model, *SIZES[member.data])
    cells = (f'`{member.name}`', BACKBONES[member.backbone], f'{parameters / 1e6:.1f} M', f'{cost:.0f}')
    return f'| {" | ".join((*cells, figures(member), "not trained here"))} |'


def table(recipe: str, members: Iterable[Member]) -> str:
    """The table of the configs with this head, data and recipe."""
    height, width = SIZES[recipe.split('_')[1]]
    head = f'| config | backbone | parameters | GFLOPs, {width}x{height} | published, clean / corrupted | here |'
    lines = [f'### {RECIPES[recipe]}', '', head, '|' + ' --- |' * 6]
    for member in members:
        lines.append(row(member))
        print(lines[-1], flush=True)
    return '\n'.join(lines)


def write(target: Path, text: str) -> None:
    """Put ``text`` between the marks in ``target``."""
    before, _, rest = target.read_text().partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f'{target} has no lines {BEGIN!r} and {END!r} to put the table between')
    target.write_text(f'{before}{BEGIN}\n\n{text}\n\n{END}{after}')


def _several(modules: nn.Module) -> Iterable[nn.Module]:
    return modules if isinstance(modules, nn.ModuleList) else [modules]


def main(target: Path | None) -> None:
    MMLogger.get_instance('mmengine', log_level='ERROR')
    tables = [table(recipe, [member for member in FAMILY if member.recipe == recipe]) for recipe in RECIPES]
    if target:
        write(target, '\n\n'.join(tables))


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--write', type=Path, metavar='FILE', help='put the tables there, between the marks')
    main(parser.parse_args().write)
