"""What the benchmark's harness costs beside decoding, corruption, network and metric, and what workers save.

Side by side in one run, several times in turn, over the same images, conditions and batches. What runs in one process
is compared by processor time, which other programs disturb less; workers by the clock.

- bare: a loop that decodes, corrupts, packs, predicts and scores, and does nothing else;
- harness: the loop of tools/benchmark.py in one process: digests of all pixels, guards, times, files of results;
- workers: the same with worker processes that decode and corrupt while the network works.
"""

import argparse
import contextlib
import io
import json
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch
from mmengine.dataset import pseudo_collate
from mmengine.evaluator import Evaluator
from mmengine.registry import DefaultScope

from fan_dense import configuration, versions
from fan_dense.corruptions import corrupt, seed_for
from fan_dense.datasets.transforms import Corrupt, image_key
from fan_dense.datasets.wrappers import parts
from fan_dense.evaluation import pipeline, scores
from fan_dense.evaluation.condition import prepare
from fan_dense.evaluation.folder import SweepFolder
from fan_dense.evaluation.loop import Subject, run_conditions
from fan_dense.evaluation.protocol import read_protocol
from fan_dense.evaluation.result import Condition
from fan_dense.files import write_atomically


def bare(subject: Subject, conditions: list[Condition], images: list[int]) -> None:
    """Evaluate without any bookkeeping."""
    (part,) = parts(subject.dataset)
    load, *rest = [step for step in part.pipeline.transforms if not isinstance(step, Corrupt)]
    folder = pipeline.image_folder(part)
    evaluator = Evaluator(scores.exact(subject.config.test_evaluator))
    evaluator.dataset_meta = subject.dataset.metainfo
    size = subject.config.test_dataloader.batch_size
    subject.runner.model.eval()
    for condition in conditions:
        for start in range(0, len(images), size):
            samples = []
            for index in images[start : start + size]:
                results = load(part.get_data_info(index))
                if condition.corruption:
                    key = image_key(results['img_path'], folder)
                    rng = seed_for(condition.seed, key, condition.corruption, condition.severity)
                    results['img'] = corrupt(results['img'], condition.corruption, condition.severity, rng=rng)
                results['corruption'] = None
                for step in rest:
                    results = step(results)
                samples.append(results)
            batch = pseudo_collate(samples)
            with torch.no_grad():
                outputs = subject.runner.model.test_step(batch)
            evaluator.process(data_samples=outputs, data_batch=batch)
        evaluator.evaluate(len(images))


def harness(subject: Subject, conditions: list[Condition], images: list[int], workers: int) -> dict[str, float]:
    """Evaluate as a sweep does, and keep the results; seconds of each phase."""
    phases: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _, outcomes in run_conditions([subject], conditions, images=images, workers=workers):
            SweepFolder(folder).write(outcomes[0].result, outcomes[0].records)
            for name, seconds in outcomes[0].result.phases.items():
                phases[name] = phases.get(name, 0) + seconds
    return phases


def measure(subject: Subject, conditions, images, workers: int, repeats: int) -> dict:
    """Seconds of each way, and the ratios of each turn."""
    ways = {
        'bare': lambda: bare(subject, conditions, images),
        'harness': lambda: harness(subject, conditions, images, 0),
        'workers': lambda: harness(subject, conditions, images, workers),
    }
    phases, seconds = {}, {name: [] for name in ways}
    for turn in range(repeats + 1):  # the first one warms up
        for name, way in ways.items():
            clock, processor = time.perf_counter(), time.process_time()
            with contextlib.redirect_stdout(io.StringIO()):
                found = way()
            if turn:
                seconds[name].append((time.perf_counter() - clock, time.process_time() - processor))
                phases[name] = found
    return {
        'seconds': {
            name: {'clock': [one[0] for one in both], 'processor': [one[1] for one in both]}
            for name, both in seconds.items()
        },
        'ratios': {
            'harness / bare, processor time': _ratios(seconds['harness'], seconds['bare'], 1),
            'workers / harness, clock': _ratios(seconds['workers'], seconds['harness'], 0),
        },
        'phases': phases,
    }


def _ratios(ones, others, clock: int) -> list[float]:
    return [one[clock] / other[clock] for one, other in zip(ones, others)]


def text(found: dict) -> str:
    lines = []
    for name, ratios in found['ratios'].items():
        spread = f'from {min(ratios):.3f} to {max(ratios):.3f}, {len(ratios)} turns'
        lines.append(f'{name}: {statistics.median(ratios):.3f} ({spread})')
    for name in ('harness', 'workers'):
        total = found['phases'][name]['total']
        shares = {phase: value / total for phase, value in found['phases'][name].items() if phase != 'total'}
        lines.append(f'{name}: ' + ', '.join(f'{phase} {share:.1%}' for phase, share in shares.items()))
    return '\n'.join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('config', type=Path)
    parser.add_argument('checkpoint', type=Path)
    parser.add_argument('--images', type=int, default=24)
    parser.add_argument('--workers', type=int, default=1)
    parser.add_argument('--repeats', type=int, default=5)
    parser.add_argument('--protocol', default='quick')
    parser.add_argument('--out', type=Path, help='JSON file with all times, ratios and versions')
    args = parser.parse_args()
    cfg = configuration.load(args.config)
    with tempfile.TemporaryDirectory() as folder:
        cfg.work_dir = folder
        subject = prepare(cfg, args.checkpoint)
        subject = replace(subject, config=cfg)
        conditions = read_protocol(args.protocol).conditions()
        images = list(range(min(args.images, len(subject.dataset))))
        with DefaultScope.overwrite_default_scope(cfg.get('default_scope', 'mmengine')):
            found = measure(subject, conditions, images, args.workers, args.repeats)
    print(text(found))
    if args.out:
        content = {'config': str(args.config), 'images': len(images), 'versions': versions.installed(), **found}
        write_atomically(args.out, json.dumps(content, indent=2) + '\n')


if __name__ == '__main__':
    main()
