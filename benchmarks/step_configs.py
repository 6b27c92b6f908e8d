"""One training step and one prediction with the model of every config, on the CPU.

    python benchmarks/step_configs.py [NAME ...]

Each model is built from its config, as it is but for pretrained weights, and sees two images of 64x64 random pixels.
Prints a line for each, and exits with 1 if a model does not run, or a parameter is without gradient.
"""

import argparse
import gc
import math
import sys
from pathlib import Path

import torch
from mmengine.logging import MMLogger
from stock_configs import Stock
from stock_models import Result, step

from fan_dense import configuration

CONFIGS = Path(__file__).parent.parent / 'configs'
# 20 regions of an image rather than 1,000, for want of time
FEW_REGIONS = {
    'model.train_cfg.rpn_proposal.max_per_img': 20,
    'model.test_cfg.rpn.max_per_img': 20,
    'model.test_cfg.rcnn.max_per_img': 10,
}


def run(name: str) -> Result:
    """Build the model of ``configs/NAME.py``, train it for one step, predict."""
    config = configuration.load(CONFIGS / f'{name}.py')
    options = FEW_REGIONS if 'rpn_head' in config.model else {}
    return step(config, Stock(name, '', size=64, options=options), config.default_scope)


def faults(result: Result) -> list[str]:
    """What is wrong with a result, nothing if all is well."""
    found = [f'loss {result.loss}'] if not math.isfinite(result.loss) or result.loss <= 0 else []
    bad = [name for name, size in result.gradients.items() if not math.isfinite(size)]
    found += [f'{len(bad)} parameters without a finite gradient, the first {bad[0]}'] if bad else []
    trained, moved = ({name.partition('.')[0] for name in names} for names in (result.gradients, result.moved))
    return found + [f'the step changed nothing in {part}' for part in sorted(trained - moved)]


def line(name: str) -> tuple[str, bool]:
    """What is to be printed, and whether all is well."""
    try:
        result = run(name)
    except Exception as error:  # whatever a model may come to
        return f'{name}: {type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}', False
    wrong = faults(result)
    seconds = sum(result.seconds)
    said = f'{result.parameters / 1e6:.1f} M parameters, loss {result.loss:.3g}, {result.predicted}, {seconds:.1f} s'
    return f'{name}: {"; ".join(wrong) or said}', not wrong


def main(names: list[str]) -> int:
    """Step the configs of these names (all if there are none), and return the exit status."""
    torch.set_num_threads(1)
    MMLogger.get_instance('mmengine', log_level='ERROR')
    failed = []
    for name in names or sorted(path.stem for path in CONFIGS.glob('*.py')):
        text, good = line(name)
        print(text, flush=True)
        failed += [] if good else [name]
        gc.collect()
    print(f'{len(failed)} failed' + (f': {", ".join(failed)}' if failed else ''))
    return 1 if failed else 0


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('names', nargs='*', metavar='NAME', help='of the configs; all if there is none')
    sys.exit(main(parser.parse_args().names))
