"""mmdet's COCO metric and mmseg's IoU metric with the figures as they are: fractions, not rounded, per class.

The stock ones round AP to 0.001 and mIoU to 0.01 %, which is as much as a corruption's mean over severities may
differ between two models, and the COCO metric leaves AP out where a model detects nothing, which is an AP of 0.
"""

import contextlib
import io
import tempfile

import numpy as np
from mmdet.datasets.api_wrappers import COCO, COCOeval
from mmdet.evaluation import CocoMetric
from mmengine.fileio import load
from mmengine.registry import METRICS
from mmseg.evaluation import IoUMetric

_COCO_STATS = ('mAP', 'mAP_50', 'mAP_75', 'mAP_s', 'mAP_m', 'mAP_l')


def exact(evaluator):
    """The evaluator config (a dict or a list of them) with the stock metrics replaced by the exact ones."""
    if isinstance(evaluator, (list, tuple)):
        return [exact(one) for one in evaluator]
    replaced = {'CocoMetric': 'ExactCocoMetric', 'IoUMetric': 'ExactIoUMetric'}
    kind = evaluator['type']
    return {**evaluator, 'type': replaced.get(kind.rpartition('.')[2], kind) if isinstance(kind, str) else kind}


@METRICS.register_module()
class ExactCocoMetric(CocoMetric):
    """AP of COCO as fractions: ``bbox_mAP``, ``bbox_mAP_50``, ... and ``per_class`` = {'bbox_mAP': {class: AP}}.

    NaN where there is no ground truth (of a class or a size), 0 where nothing was detected.
    """

    def compute_metrics(self, results: list) -> dict:
        truths, predictions = zip(*results)
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            if self._coco_api is None:
                self._coco_api = COCO(self.gt_to_coco_json(truths, f'{folder}/truth'))
            if self.cat_ids is None:
                self.cat_ids = self._coco_api.get_cat_ids(cat_names=self.dataset_meta['classes'])
            if self.img_ids is None:
                self.img_ids = self._coco_api.get_img_ids()
            files = self.results2json(predictions, f'{folder}/predictions')
            scores, per_class = {}, {}
            for kind in self.metrics:
                stats, by_class = self._evaluate(kind, load(files[kind]))
                scores |= {f'{kind}_{name}': value for name, value in zip(_COCO_STATS, stats)}
                per_class[f'{kind}_mAP'] = dict(zip(self.dataset_meta['classes'], by_class))
        return {**scores, 'per_class': per_class}

    def _evaluate(self, kind: str, predictions: list[dict]) -> tuple[list[float], list[float]]:
        """The six AP figures over all classes, and AP of each class."""
        if kind == 'segm':  # else pycocotools sorts masks into sizes by the area of their boxes
            predictions = [{k: v for k, v in p.items() if k != 'bbox'} for p in predictions]
        evaluation = COCOeval(self._coco_api, self._load(predictions), kind)
        evaluation.params.catIds = self.cat_ids
        evaluation.params.imgIds = self.img_ids
        evaluation.params.maxDets = list(self.proposal_nums)
        evaluation.params.iouThrs = self.iou_thrs
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        # precision: (iou, recall, class, area range, detections per image), -1 where there is no ground truth
        by_class = np.moveaxis(evaluation.eval['precision'][..., 0, 0], -1, 0)
        means = [one[one > -1].mean() if (one > -1).any() else np.nan for one in by_class]
        return [_nan_if_absent(value) for value in evaluation.stats[:6]], [float(value) for value in means]

    def _load(self, predictions: list[dict]) -> COCO:
        if predictions:
            return self._coco_api.loadRes(predictions)
        empty = COCO()  # loadRes fails on an empty list
        empty.dataset = {**self._coco_api.dataset, 'annotations': []}
        empty.createIndex()
        return empty


@METRICS.register_module()
class ExactIoUMetric(IoUMetric):
    """mmseg's figures as fractions: ``aAcc``, ``mIoU``, ``mAcc``, ... and ``per_class`` = {'IoU': {class: IoU}, ...}.

    A class that occurs neither in ground truth nor in predictions is NaN and not part of the mean, as in mmseg.
    """

    def compute_metrics(self, results: list) -> dict:
        # each image gives (intersection, union, predicted area, labelled area), (classes,) in pixels
        # in float64 the sums are exact, so that they do not depend on the order of the images
        totals = [sum(area.double() for area in column) for column in zip(*results)]
        by_class = self.total_area_to_metrics(*totals, self.metrics, self.nan_to_num, self.beta)
        scores = {'aAcc': float(by_class.pop('aAcc'))}
        scores |= {f'm{name}': float(np.nanmean(values)) for name, values in by_class.items()}
        classes = self.dataset_meta['classes']
        per_class = {name: dict(zip(classes, map(float, values))) for name, values in by_class.items()}
        return {**scores, 'per_class': per_class}


def _nan_if_absent(value: float) -> float:
    return float('nan') if value == -1 else float(value)
