"""The guard against silently scoring clean images as corrupted ones: it looks at pixels, not at configuration."""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from mmengine.dist import all_gather_object
from mmengine.hooks import Hook
from mmengine.registry import HOOKS

from fan_dense.evaluation.result import Condition

if TYPE_CHECKING:  # mmcv is not there yet when the hook is registered
    from fan_dense.evaluation.probe import Probe

_IDENTITY = ('corruption', 'severity', 'seed', 'image_order')  # of a condition, as Corrupt records it


class SilentlyClean(ValueError):
    """A run that claims to be corrupted has seen clean pixels, or pixels that nobody can vouch for."""


@dataclass(frozen=True)
class PixelReport:
    """What the network has seen.

    Attributes:
        images: number of different images.
        digest: hex digest (128 bits) over the pixels of all images, whatever their order.
        clean_digest: the same over the pixels before the corruption.
        unchanged: keys of the images on which the corruption had no effect (a constant image has no contrast to lose).
    """

    images: int
    digest: str
    clean_digest: str
    unchanged: tuple[str, ...]


def examine(
    records: dict[str, dict], expected: int, *, condition: Condition | None = None, probes: Iterable['Probe'] = ()
) -> PixelReport:
    """Judge the records that ``Corrupt`` made of each image of a run.

    Args:
        records: image path -> ``results['corruption']`` of :class:`fan_dense.datasets.transforms.Corrupt`.
        expected: number of images in the data set.
        condition: what was asked for; None: any will do.
        probes: whether corruptions reach the network, of some images of each innermost data set.

    Raises:
        SilentlyClean: images without a record, records of different corruptions or of another than was asked for, no
            pixel changed in any image, or no change reached the network.
    """
    if len(records) != expected:
        raise SilentlyClean(
            f'{len(records)} of {expected} images carry a record of their pixels: Corrupt must run in the '
            "test pipeline, 'corruption' be among the meta_keys of its packing step, and no image be there twice"
        )
    done = {tuple(record[field] for field in _IDENTITY) for record in records.values()}
    if len(done) > 1:
        raise SilentlyClean(f'images of one run were corrupted differently: {sorted(map(str, done))}')
    (found,) = done
    if condition and found != tuple(asdict(condition)[field] for field in _IDENTITY):
        raise SilentlyClean(
            f'the images are those of {found}, not {condition.describe()}: does the data set keep samples of before?'
        )
    corruption = found[0]
    unchanged = sorted(record['key'] for record in records.values() if record['clean'] == record['seen'])
    if corruption is not None and len(unchanged) == len(records):
        raise SilentlyClean(
            f'{corruption} changed no pixel in any of the {len(records)} images: these would be clean scores '
            'under the name of a corruption'
        )
    probes = list(probes)
    lost = {one.part for one in probes} - {one.part for one in probes if one.reaches}
    if lost:
        image = min(one.image for one in probes if one.part in lost)
        raise SilentlyClean(
            f'{corruption} changed {image}, and yet the network was given the same as without it, as of all images of '
            'its data set: does a step after Corrupt load the image again?'
        )
    return PixelReport(
        images=len(records),
        digest=_over_all(records, 'seen'),
        clean_digest=_over_all(records, 'clean'),
        unchanged=tuple(unchanged) if corruption is not None else (),
    )


def _over_all(records: dict[str, dict], pixels: str) -> str:
    state = hashlib.sha256()
    for key, digest in sorted((record['key'], record[pixels]) for record in records.values()):
        state.update(f'{key} {digest}\n'.encode())
    return state.hexdigest()[:32]


def records_of(outputs) -> dict[str, dict]:
    """Image path -> what ``Corrupt`` recorded of it, of a model's predictions."""
    return {sample.img_path: sample.metainfo['corruption'] for sample in outputs if 'corruption' in sample.metainfo}


def of_all_ranks(records: dict[str, dict]) -> dict[str, dict]:
    """The records of all ranks together."""
    return {path: record for part in all_gather_object(records) for path, record in part.items()}


@HOOKS.register_module()
class PixelGuard(Hook):
    """Collects the records of ``Corrupt`` during a test and fails it if :func:`examine` does.

    The commands register it themselves; in a config (``custom_hooks=[dict(type='PixelGuard')]``) it guards the tools
    of mmdet and mmseg too.
    """

    def before_test(self, runner) -> None:
        self.records: dict[str, dict] = {}
        self.report: PixelReport | None = None

    def after_test_iter(self, runner, batch_idx, data_batch=None, outputs=None) -> None:
        self.records |= records_of(outputs)

    def after_test_epoch(self, runner, metrics=None) -> None:
        from fan_dense.evaluation import probe

        everyone = of_all_ranks(self.records)
        dataset = runner.test_dataloader.dataset
        self.report = examine(everyone, len(dataset), probes=probe.probes(dataset, everyone))
