"""AP of COCO, exact: see :mod:`fan_dense.evaluation.scores`."""

import contextlib
import io
import tempfile

import numpy as np
from mmdet.datasets.api_wrappers import COCO, COCOeval
from mmdet.evaluation import CocoMetric
from mmengine.fileio import load
from mmengine.logging import print_log
from mmengine.registry import METRICS

from fan_dense.evaluation.scores import table

_STATS = ('mAP', 'mAP_50', 'mAP_75', 'mAP_s', 'mAP_m', 'mAP_l')


@METRICS.register_module()
class ExactCocoMetric(CocoMetric):
    """AP as fractions: ``bbox_mAP``, ``bbox_mAP_50``, ...; ``per_class`` = {'bbox_mAP': {class: AP}, ...} thereafter.

    NaN where there is no ground truth (of a class, or a size), 0 where nothing was detected. Arguments are those of
    ``mmdet.evaluation.CocoMetric`` for ``metric='bbox'``, ``'segm'`` or both.
    """

    def compute_metrics(self, results: list) -> dict[str, float]:
        truths, predictions = zip(*results)
        scores, self.per_class = {}, {}
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            if self._coco_api is None:
                self._coco_api = COCO(self.gt_to_coco_json(truths, f'{folder}/truth'))
            if self.cat_ids is None:
                self.cat_ids = self._coco_api.get_cat_ids(cat_names=self.dataset_meta['classes'])
            if self.img_ids is None:
                self.img_ids = self._coco_api.get_img_ids()
            files = self.results2json(predictions, f'{folder}/predictions')
            for kind in self.metrics:
                stats, by_class = self._evaluate(kind, load(files[kind]))
                scores |= {f'{kind}_{name}': value for name, value in zip(_STATS, stats)}
                # in the order of the file, which need not be that of the data set's classes
                names = [category['name'] for category in self._coco_api.loadCats(self.cat_ids)]
                self.per_class[f'{kind}_mAP'] = dict(zip(names, by_class))
        print_log(f'AP of each class:\n{table(self.per_class)}', logger='current')
        return scores

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
        stats = [np.nan if value == -1 else value for value in evaluation.stats[:6]]
        return [float(value) for value in stats], [float(value) for value in means]

    def _load(self, predictions: list[dict]) -> COCO:
        if predictions:
            return self._coco_api.loadRes(predictions)
        empty = COCO()  # loadRes fails on an empty list
        empty.dataset = {**self._coco_api.dataset, 'annotations': []}
        empty.createIndex()
        return empty
