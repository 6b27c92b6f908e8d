"""Folders of sweeps that never were: plausible random figures, in the files that a sweep writes."""

import json
from pathlib import Path

import cv2
import numpy as np

from fan_dense.evaluation.folder import Identity, SweepFolder
from fan_dense.evaluation.protocol import Protocol, read_protocol
from fan_dense.evaluation.records import APRecord, IoURecord
from fan_dense.evaluation.result import Condition, ConditionResult

CLASSES = ('road', 'building', 'sky', 'car', 'person', 'pole')
IMAGES = 12
THRESHOLDS = np.linspace(0.5, 0.95, 10)


def write(
    folder: Path,
    *,
    name: str = 'fan_segformer_scenes',
    kind: str = 'segmentation',
    protocol: str | Protocol = 'quick',
    quality: float = 0.9,
    seed: int = 0,
    missing: tuple[str, ...] = (),
    training_corruptions: tuple[str, ...] = (),
    absent: tuple[str, ...] = (),
    unchanged: dict[str, int] | None = None,
    with_records: bool = True,
    worst: int = 2,
    images: int = IMAGES,
    classes: tuple[str, ...] = CLASSES,
) -> SweepFolder:
    """Write the folder of a sweep.

    ``kind`` is 'segmentation' or 'detection'; ``quality`` the share of pixels, or objects, that the model gets right
    on clean images; ``missing`` names conditions without a result, such as 'fog 3'; ``absent`` classes without ground
    truth; ``unchanged`` is condition -> number of images that it left as they were; ``worst`` a number of images.
    """
    protocol = read_protocol(protocol) if isinstance(protocol, str) else protocol
    sweep = SweepFolder(folder)
    sweep.write_identity(
        Identity(
            name=name,
            config=f'configs/{name}.py',
            checkpoint=f'work_dirs/{name}/last.pth',
            checkpoint_digest=f'{seed:016x}',
            protocol=protocol.to_dict(),
            seed=0,
            image_order=protocol.image_order,
            max_images=None,
            images=images,
            data={'images': 'a' * 16, 'truth': kind},
            classes=list(classes),
            settings={},
            training_corruptions=list(training_corruptions),
            versions={'fan_dense': '0.1.0', 'torch': '2.14.1', 'numpy': '2.4.6'},
        )
    )
    rng = np.random.default_rng(seed)
    harm = {corruption: rng.uniform(0.03, 0.22) for corruption in protocol.corruptions}
    for condition in protocol.conditions():
        if str(condition) in missing:
            continue
        share = quality * np.exp(-harm[condition.corruption] * condition.severity) if condition.corruption else quality
        records = {}
        if kind == 'segmentation':
            record = _pixels(rng, share, classes, absent, images)
            metrics = record.figures()
            per_class = _class_figures(record, classes)
            records = {'iou': record}
        else:
            metrics, per_class = {}, {}
            for shape, loss in (('bbox', 1.0), ('segm', 0.93)):
                record = _objects(rng, share * loss, shape, classes, absent, images)
                metrics |= record.figures() | {f'{shape}_mAP_s': float('nan')}
                found = record.average_precisions(np.ones(images, int), 100).mean(-2)
                per_class[f'{shape}_mAP'] = dict(zip(classes, map(float, found)))
                records[shape] = record
        result = ConditionResult(
            condition=condition,
            config=f'configs/{name}.py',
            checkpoint=f'work_dirs/{name}/last.pth',
            checkpoint_digest=f'{seed:016x}',
            metrics={metric: float(value) for metric, value in metrics.items()},
            per_class=per_class,
            images=images,
            pixel_digest=f'{abs(hash_of(str(condition))):032x}',
            unchanged_images=[f'{i}.png' for i in range((unchanged or {}).get(str(condition), 0))],
            seconds=3.0,
            finished='2026-01-01T00:00:00+00:00',
            versions={'torch': '2.14.1'},
            phases=_phases(rng),
        )
        sweep.write(result, records if with_records else {})
    _worst(folder / 'worst', rng, worst, protocol.conditions()[-1])
    return sweep


def hash_of(text: str) -> int:
    return int.from_bytes(text.encode()[-15:].rjust(15, b'.'), 'big')


def _pixels(rng, share: float, classes, absent, images: int) -> IoURecord:
    """Counts in which each class keeps about ``share`` of its pixels."""
    present = np.array([one not in absent for one in classes])
    labelled = rng.integers(200, 2000, (images, len(classes))) * present
    hardness = np.linspace(0.6, 1.4, len(classes))
    right = (labelled * np.clip(share**hardness * rng.uniform(0.85, 1.1, labelled.shape), 0, 1)).astype(np.int64)
    # what one class loses, the next one gets, the last the first
    wrong = labelled - right
    order = np.flatnonzero(present)
    gained = np.zeros_like(wrong)
    gained[:, np.roll(order, 1)] = wrong[:, order]
    predicted = right + gained
    return IoURecord(np.stack([right, labelled + predicted - right, predicted, labelled], axis=1).astype(np.int64))


def _class_figures(record: IoURecord, classes) -> dict[str, dict[str, float]]:
    intersection, union, _, labelled = record.counts.sum(0)
    with np.errstate(invalid='ignore'):
        return {
            'IoU': dict(zip(classes, map(float, intersection / union))),
            'Acc': dict(zip(classes, map(float, intersection / labelled))),
        }


def _objects(rng, share: float, shape: str, classes, absent, images: int) -> APRecord:
    """Detections that find about ``share`` of the true objects, and some that find nothing."""
    names = [index for index, one in enumerate(classes) if one not in absent]
    true = np.array([(image, label) for label in names for image in range(images) for _ in range(rng.integers(1, 4))])
    overlap = np.where(rng.random(len(true)) < share, rng.uniform(0.45, 1.0, len(true)) * share**0.3, 0)
    hits = true[overlap >= 0.5]
    bits = ((overlap[overlap >= 0.5, None] >= THRESHOLDS) @ (1 << np.arange(10))).astype(np.uint16)
    false = np.stack([rng.integers(0, images, 20), rng.choice(names, 20)], axis=1)
    image, label = np.concatenate([hits, false]).T
    score = np.concatenate([rng.uniform(0.3, 1, len(hits)), rng.uniform(0.05, 0.7, 20)])
    order = np.lexsort((-score, label))
    return APRecord(
        kind=shape,
        thresholds=THRESHOLDS,
        image=image[order].astype(np.int32),
        label=label[order].astype(np.int32),
        score=score[order],
        matched=np.concatenate([bits, np.zeros(20, np.uint16)])[order],
        ignored=np.zeros(len(order), np.uint16),
        true_image=true[:, 0].astype(np.int32),
        true_label=true[:, 1].astype(np.int32),
        images=images,
        classes=len(classes),
        limit=100,
        limit_at_one=100,
    )


def _phases(rng) -> dict[str, float]:
    phases = dict(zip(('decode', 'corrupt', 'transform', 'wait', 'network', 'metric', 'other'), rng.uniform(0.1, 1, 7)))
    phases |= {'network': 1.8, 'other': 0.03}
    phases['total'] = sum(phases[one] for one in ('wait', 'network', 'metric', 'other'))
    return {name: float(value) for name, value in phases.items()}


def _worst(folder: Path, rng, count: int, condition: Condition) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for index in range(count):
        names = {kind: f'{index}-{kind}.jpg' for kind in ('clean', 'corrupted')}
        for file in names.values():
            picture = cv2.resize(rng.integers(0, 256, (6, 16, 3), dtype=np.uint8), (320, 120))
            cv2.imwrite(str(folder / file), picture)
        rows.append(
            {
                'image': f'scene_{index}.png',
                'condition': {'corruption': condition.corruption, 'severity': condition.severity},
                'score': 0.11 + index / 100,
                'clean_score': 0.62,
                'score_name': 'mIoU of the image',
                **names,
            }
        )
    (folder / 'worst.json').write_text(json.dumps(rows))
