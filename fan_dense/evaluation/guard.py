"""The guard against silently scoring clean images as corrupted ones: it looks at pixels, not at configuration."""

import hashlib
from dataclasses import dataclass

from mmengine.dist import all_gather_object
from mmengine.hooks import Hook
from mmengine.registry import HOOKS


class SilentlyClean(ValueError):
    """A run that claims to be corrupted has seen clean pixels, or pixels that nobody can vouch for."""


@dataclass(frozen=True)
class PixelReport:
    """What the network has seen.

    Attributes:
        images: number of different images.
        digest: hex digest (128 bits) over the pixels of all images, whatever their order.
        unchanged: keys of the images on which the corruption had no effect (a constant image has no contrast to lose).
    """

    images: int
    digest: str
    unchanged: tuple[str, ...]


def examine(records: dict[str, dict], expected: int) -> PixelReport:
    """Judge the records that ``Corrupt`` made of each image of a run.

    Args:
        records: image path -> ``results['corruption']`` of :class:`fan_dense.datasets.transforms.Corrupt`.
        expected: number of images in the data set.

    Raises:
        SilentlyClean: images without a record, records of different corruptions, or no pixel changed in any image.
    """
    if len(records) != expected:
        raise SilentlyClean(
            f'{len(records)} of {expected} images carry a record of their pixels: Corrupt must run in the '
            "test pipeline, and 'corruption' be among the meta_keys of its packing step"
        )
    done = {
        tuple(record[field] for field in ('corruption', 'severity', 'seed', 'image_order'))
        for record in records.values()
    }
    if len(done) > 1:
        raise SilentlyClean(f'images of one run were corrupted differently: {sorted(map(str, done))}')
    corruption = next(iter(done))[0]
    unchanged = sorted(record['key'] for record in records.values() if record['clean'] == record['seen'])
    if corruption is not None and len(unchanged) == len(records):
        raise SilentlyClean(
            f'{corruption} changed no pixel in any of the {len(records)} images: these would be clean scores '
            'under the name of a corruption'
        )
    state = hashlib.sha256()
    for record in sorted(records.values(), key=lambda record: (record['key'], record['seen'])):
        state.update(f'{record["key"]} {record["seen"]}\n'.encode())
    return PixelReport(len(records), state.hexdigest()[:32], tuple(unchanged) if corruption is not None else ())


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
        for sample in outputs:
            if 'corruption' in sample.metainfo:
                self.records[sample.img_path] = sample.metainfo['corruption']

    def after_test_epoch(self, runner, metrics=None) -> None:
        everyone = {}
        for records in all_gather_object(self.records):
            everyone |= records
        self.report = examine(everyone, len(runner.test_dataloader.dataset))
