"""IoU and accuracy of segmentation, exact: see :mod:`fan_dense.evaluation.scores`."""

import numpy as np
from mmengine.logging import print_log
from mmengine.registry import METRICS
from mmseg.evaluation import IoUMetric

from fan_dense.evaluation.records import IoURecord
from fan_dense.evaluation.scores import table


@METRICS.register_module()
class ExactIoUMetric(IoUMetric):
    """mmseg's figures as fractions: ``aAcc``, ``mIoU``, ``mAcc``, ...

    After an evaluation ``per_class`` is {'IoU': {class: IoU}, ...} and ``records`` {'iou': IoURecord}, the latter empty
    with ``nan_to_num``, with which the figures are others than those of the record.

    A class that occurs neither in the ground truth nor in predictions is NaN and not part of the mean, as in mmseg. One
    that is there and never found has an F score of 0 (NaN in mmseg, whose mean leaves it out).
    Arguments are those of ``mmseg.evaluation.IoUMetric``.
    """

    def process(self, data_batch: dict, data_samples: list[dict]) -> None:
        """Raises a ValueError for a label map of another size than its image, or with other numbers than classes have.

        Left alone, such numbers count as wrong predictions without a word.
        """
        classes = len(self.dataset_meta['classes'])
        for sample in () if self.format_only else data_samples:
            file = sample.get('seg_map_path') or f'of image {sample.get("img_path")}'
            labels, predicted = sample['gt_sem_seg']['data'].squeeze(), sample['pred_sem_seg']['data'].squeeze()
            if labels.shape != predicted.shape:
                raise ValueError(f'label map {file} is {_size(labels)}, its image {_size(predicted)}')
            strange = labels[(labels != self.ignore_index) & ((labels < 0) | (labels >= classes))]
            if len(strange):
                raise ValueError(
                    f'label map {file} has number {int(strange[0])}; the {classes} classes have 0 to {classes - 1}, '
                    f'and what does not count has ignore_index, {self.ignore_index}'
                )
        super().process(data_batch, data_samples)

    def compute_metrics(self, results: list) -> dict[str, float]:
        # each image gives (intersection, union, predicted area, labelled area), (classes,) in pixels;
        # in float64 the sums are exact, so that they do not depend on the order of the images
        totals = [sum(area.double() for area in column) for column in zip(*results)]
        by_class = self.total_area_to_metrics(*totals, self.metrics, self.nan_to_num, self.beta)
        if 'Fscore' in by_class:  # mmseg's is 0 / 0 where no pixel of a class is right
            by_class['Fscore'][np.isnan(by_class['Fscore']) & (totals[1].numpy() > 0)] = 0
        scores = {'aAcc': float(by_class.pop('aAcc'))}
        scores |= {f'm{name}': float(np.nanmean(values)) for name, values in by_class.items()}
        self.per_class = {
            name: dict(zip(self.dataset_meta['classes'], map(float, values))) for name, values in by_class.items()
        }
        print_log(f'figures of each class:\n{table(self.per_class)}', logger='current')
        # (images, 4, classes)
        counts = np.stack([np.stack(image) for image in results]).astype(np.int64)
        self.records = {} if self.nan_to_num is not None else {'iou': IoURecord(counts)}
        return scores


def _size(labels) -> str:
    return ' x '.join(map(str, labels.shape[:2])) + (f' with {labels.shape[2]} channels' if labels.ndim > 2 else '')
