"""IoU and accuracy of segmentation, exact: see :mod:`fan_dense.evaluation.scores`."""

import numpy as np
from mmengine.logging import print_log
from mmengine.registry import METRICS
from mmseg.evaluation import IoUMetric

from fan_dense.evaluation.scores import table


@METRICS.register_module()
class ExactIoUMetric(IoUMetric):
    """mmseg's figures as fractions: ``aAcc``, ``mIoU``, ``mAcc``, ...; ``per_class`` = {'IoU': {class: IoU}, ...}.

    A class that occurs neither in the ground truth nor in predictions is NaN and not part of the mean, as in mmseg.
    Arguments are those of ``mmseg.evaluation.IoUMetric``.
    """

    def compute_metrics(self, results: list) -> dict[str, float]:
        # each image gives (intersection, union, predicted area, labelled area), (classes,) in pixels;
        # in float64 the sums are exact, so that they do not depend on the order of the images
        totals = [sum(area.double() for area in column) for column in zip(*results)]
        by_class = self.total_area_to_metrics(*totals, self.metrics, self.nan_to_num, self.beta)
        scores = {'aAcc': float(by_class.pop('aAcc'))}
        scores |= {f'm{name}': float(np.nanmean(values)) for name, values in by_class.items()}
        self.per_class = {
            name: dict(zip(self.dataset_meta['classes'], map(float, values))) for name, values in by_class.items()
        }
        print_log(f'figures of each class:\n{table(self.per_class)}', logger='current')
        return scores
