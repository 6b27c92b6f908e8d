"""Which stock models of mmdet and mmseg run on the operators in use here: a training step and a prediction of each.

    python benchmarks/stock_models.py [NAME ...] [--write docs/stock_models.md]

Each model is built from its own config, as the package ships it, without pretrained weights, and sees two small images
on the CPU. Prints a row of the table for each, and exits with 1 if a model does not do what its row expects.
"""

import argparse
import functools
import gc
import importlib
import importlib.metadata
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from mmengine.config import Config
from mmengine.hub import get_config
from mmengine.logging import MessageHub, MMLogger
from mmengine.model import BaseModel, revert_sync_batchnorm
from mmengine.optim import build_optim_wrapper
from mmengine.registry import MODELS, DefaultScope
from mmengine.structures import InstanceData, PixelData
from stock_configs import CONFIGS, Stock

import fan_dense  # noqa: F401 (the operators of mmcv)

HEADER = """# Stock models of mmdet and mmseg

Written by `python benchmarks/stock_models.py --write docs/stock_models.md`. Each model is built from the config that
its package ships, from scratch, and makes one training step (loss, backward pass, the optimizer of the config) on two
random images, and one prediction, on the CPU with one thread. What differs from the config is the size of the images,
the threshold on scores (0, so that random weights find something), mixed precision and synchronised batch norm (off
for want of a GPU), and what is said in brackets.

{runs} of {all} run, with {versions}.

| model | config | parameters | image | CPU seconds, train and predict | loss | predicted | operators of mmcv |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


class Result(NamedTuple):
    """What a training step and a prediction of a model gave.

    Attributes:
        parameters: How many there are.
        loss: Sum of the losses of the step.
        gradients: Name of each trainable parameter and largest absolute value of its gradient; nan if it had none.
        moved: Names of the parameters that the step changed.
        prediction: The data sample that the model returned for the first image.
        predicted: The same in words.
        operators: Functions of mmcv._ext that were called and kinds of modules of mmcv.ops in the model.
        seconds: Of CPU time, for the step and for the prediction.
    """

    parameters: int
    loss: float
    gradients: dict[str, float]
    moved: set[str]
    prediction: object
    predicted: str
    operators: list[str]
    seconds: tuple[float, float]


def run(stock: Stock) -> Result:
    """Build the model of ``stock``, train it for one step, predict."""
    return step(get_config(f'{stock.config}.py'), stock, stock.config.partition('::')[0])


def step(config: Config, stock: Stock, package: str) -> Result:
    """Build the model of ``config``, of mmdet or mmseg, train it for one step and predict, as ``stock`` says."""
    config = small(config, stock)
    sample = functools.partial(segmentation_sample, stock) if package == 'mmseg' else detection_sample(stock, config)
    images = torch.randint(0, 256, (2, config.channels, stock.size, stock.size), dtype=torch.uint8).unbind()
    torch.manual_seed(0)
    with DefaultScope.overwrite_default_scope(package), watched() as called:
        model = revert_sync_batchnorm(MODELS.build(config.model))
        model.init_weights()
        start = time.process_time()
        loss, gradients, moved = train(model, config, {'inputs': images, 'data_samples': [sample(), sample()]})
        trained = time.process_time()
        model.eval()
        with torch.no_grad():
            [prediction] = model.test_step({'inputs': images[:1], 'data_samples': [sample()]})
        seconds = trained - start, time.process_time() - trained
    modules = {type(module).__name__ for module in model.modules() if type(module).__module__.startswith('mmcv.ops')}
    return Result(
        sum(parameter.numel() for parameter in model.parameters()),
        loss,
        gradients,
        moved,
        prediction,
        in_words(prediction),
        sorted(modules) + sorted(called),
        seconds,
    )


def small(config: Config, stock: Stock) -> Config:
    """The config without pretrained weights or mixed precision, for images of ``stock.size``."""
    config.merge_from_dict(stock.options)
    from_scratch(config.model)
    preprocessor = config.model.setdefault('data_preprocessor', config.get('data_preprocessor', {}))
    config.channels = len(preprocessor.get('mean') or (0, 0, 0))
    if preprocessor.get('size'):
        preprocessor.size = (stock.size, stock.size)
    for augmentation in preprocessor.get('batch_augments') or ():
        if 'size' in augmentation:
            augmentation.size = (stock.size, stock.size)
    if config.optim_wrapper.type == 'AmpOptimWrapper':
        config.optim_wrapper.type = 'OptimWrapper'
        for option in ('dtype', 'loss_scale'):
            config.optim_wrapper.pop(option, None)
    return config


def from_scratch(node) -> None:
    """Take every file of weights out of a model's config, and the thresholds on scores, in place."""
    if isinstance(node, dict):
        if isinstance(node.get('init_cfg'), dict) and 'checkpoint' in node['init_cfg']:
            node['init_cfg'] = None
        for name in ('pretrained', 'teacher_ckpt'):
            if isinstance(node.get(name), str):
                node[name] = None
        if 'score_thr' in node:
            node['score_thr'] = 0
        node = list(node.values())
    if isinstance(node, (list, tuple)):
        for item in node:
            from_scratch(item)


def train(model: BaseModel, config: Config, batch: dict) -> tuple[float, dict[str, float], set[str]]:
    """One step with the optimizer of the config; (loss, gradients, moved) as in :class:`Result`."""
    hub = MessageHub.get_current_instance()  # some heads ask it how far the training is
    for name, value in {'iter': 0, 'epoch': 0, 'max_iters': 10, 'max_epochs': 10}.items():
        hub.update_info(name, value)
    trainable = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    before = {name: parameter.detach().clone() for name, parameter in trainable.items()}
    gradients = {}

    def note_gradients(*_):
        for name, parameter in trainable.items():
            gradients[name] = math.nan if parameter.grad is None else parameter.grad.abs().max().item()

    optimizer = build_optim_wrapper(model, config.optim_wrapper)
    optimizer.optimizer.register_step_pre_hook(note_gradients)
    model.train()
    loss = model.train_step(batch, optimizer)['loss'].item()
    return loss, gradients, {name for name in trainable if not torch.equal(before[name], trainable[name])}


@contextmanager
def watched() -> Iterator[set[str]]:
    """Collect the names of the functions of ``mmcv._ext`` that are called, without the direction of the pass."""
    extension = importlib.import_module('mmcv._ext')
    functions = {name: function for name, function in vars(extension).items() if callable(function)}
    called = set()

    def watch(name: str, function: Callable) -> Callable:
        def call(*args, **kwargs):
            called.add(re.sub('_(forward|backward).*', '', name))
            return function(*args, **kwargs)

        return call

    vars(extension).update({name: watch(name, function) for name, function in functions.items()})
    try:
        yield called
    finally:
        vars(extension).update(functions)


def detection_sample(stock: Stock, config: Config) -> Callable:
    """A function that makes samples of three boxes, with masks and a segmentation if the config loads them."""
    from mmdet.structures import DetDataSample
    from mmdet.structures.mask import BitmapMasks

    size = stock.size
    boxes = (torch.tensor([[8.0, 10, 60, 70], [40, 50, 120, 110], [70, 20, 100, 44]]) * size / 128).round()
    masks = np.zeros((3, size, size), np.uint8)
    for mask, (left, top, right, bottom) in zip(masks, boxes.int().tolist()):
        mask[top:bottom, left:right] = 1
    labels = torch.tensor([0, stock.classes - 1, 0])
    loads = options_of(config.train_dataloader)

    def sample() -> DetDataSample:
        instances = InstanceData(bboxes=boxes.clone(), labels=labels.clone())
        if loads & {'with_mask', 'LoadPanopticAnnotations'}:
            instances.masks = BitmapMasks(masks, size, size)
        none = InstanceData(bboxes=boxes[:0].clone(), labels=labels[:0].clone())
        made = DetDataSample(metainfo=meta(size), gt_instances=instances, ignored_instances=none)
        if loads & {'with_seg', 'LoadPanopticAnnotations'}:
            made.gt_sem_seg = PixelData(sem_seg=torch.from_numpy(masks.max(0, keepdims=True)).long())
        return made

    return sample


def options_of(node) -> set[str]:
    """The types and the options that are switched on anywhere in a config."""
    if isinstance(node, dict):
        here = {name for name, value in node.items() if value is True} | {str(node.get('type'))}
        return here.union(*map(options_of, node.values()))
    return set().union(*map(options_of, node)) if isinstance(node, (list, tuple)) else set()


def segmentation_sample(stock: Stock):
    """A sample of rectangles of the first classes and, unless ``stock`` says otherwise, a strip of ignored pixels."""
    from mmseg.structures import SegDataSample

    labels = torch.zeros(1, stock.size, stock.size, dtype=torch.long)
    labels[:, stock.size // 3 :] = 1
    labels[:, :, stock.size // 2 :] = stock.classes - 1
    labels[:, :4] = 255 if stock.ignored else 0
    return SegDataSample(
        metainfo=meta(stock.size), gt_sem_seg=PixelData(data=labels), gt_edge_map=PixelData(data=(labels == 1).long())
    )


def meta(size: int) -> dict:
    """Meta information of an image that is neither resized nor padded."""
    shapes = dict.fromkeys(('img_shape', 'ori_shape', 'pad_shape', 'batch_input_shape'), (size, size))
    border = np.array([0, size, 0, size], np.float32)  # top, bottom, left, right of the image, for those that pad
    return shapes | {'scale_factor': (1.0, 1.0), 'flip': False, 'border': border, 'img_id': 0, 'img_path': '0.png'}


def in_words(prediction) -> str:
    """How many boxes or masks, or how many classes."""
    words = []
    if 'pred_instances' in prediction:
        found = prediction.pred_instances
        words.append(f'{len(found)} boxes' + (' with masks' if 'masks' in found else ''))
    if 'pred_panoptic_seg' in prediction:
        words.append('panoptic map')
    if 'pred_sem_seg' in prediction:
        words.append('map')
    return ', '.join(words)


def row(stock: Stock) -> tuple[str, bool]:
    """The line of the table, and whether the model does what its entry expects."""
    try:
        result = run(stock)
    except Exception as error:  # whatever a model may come to
        reason = stock.absent or f'{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}'
        return line(stock, '', '', '', '', f'**does not run**: {reason}', ''), bool(stock.absent)
    train_seconds, predict_seconds = result.seconds
    good = math.isfinite(result.loss) and len(result.moved) > 0 and not stock.absent
    return (
        line(
            stock,
            f'{result.parameters / 1e6:.1f} M',
            f'{stock.size} px',
            f'{train_seconds:.1f}, {predict_seconds:.1f}',
            f'{result.loss:.3g}',
            result.predicted + (f' ({stock.note})' if stock.note else ''),
            ', '.join(result.operators) or 'none',
        ),
        good,
    )


def line(stock: Stock, *cells: str) -> str:
    return f'| {stock.name} | `{stock.config}` | {" | ".join(cells)} |'


def main(names: list[str], target: Path | None) -> int:
    """Run the models of these names (all if there are none), print a row each, and return the exit status."""
    torch.set_num_threads(1)
    MMLogger.get_instance('mmengine', log_level='ERROR')
    unknown = set(names) - CONFIGS.keys()
    if unknown:
        sys.exit(f'no stock model {", ".join(sorted(unknown))}; there are: {", ".join(CONFIGS)}')
    lines, good = {}, True
    for name in names or CONFIGS:
        lines[name], as_expected = row(CONFIGS[name])
        good &= as_expected
        print(lines[name], flush=True)
        gc.collect()
    if target:
        write(target, lines)
    return 0 if good else 1


def write(target: Path, lines: dict[str, str]) -> None:
    """Write the table; a model that was not run keeps the row that it has there."""
    old = target.read_text().splitlines() if target.exists() else []
    lines = {text.split(' | ')[0].removeprefix('| '): text for text in old if '| `mm' in text} | lines
    table = [lines[name] for name in CONFIGS if name in lines]
    packages = ('torch', 'torchvision', 'mmengine', 'mmcv-lite', 'mmdet', 'mmsegmentation', 'numpy')
    versions = ', '.join(f'{package} {importlib.metadata.version(package)}' for package in packages)
    runs = sum('does not run' not in text for text in table)
    target.write_text(HEADER.format(versions=versions, runs=runs, all=len(table)) + '\n'.join(table) + '\n')


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('names', nargs='*', metavar='NAME', help='of the models; all if there is none')
    parser.add_argument(
        '--write', type=Path, metavar='FILE', help='write the table there too, or the rows of these models'
    )
    args = parser.parse_args()
    sys.exit(main(args.names, args.write))
