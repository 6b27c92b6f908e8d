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

from fan_dense.evaluation.records import APRecord
from fan_dense.evaluation.scores import table

_DETECTIONS = 100  # of a class in an image, in mAP
_STATS = ('mAP', 'mAP_50', 'mAP_75', 'mAP_s', 'mAP_m', 'mAP_l')


@METRICS.register_module()
class ExactCocoMetric(CocoMetric):
    """AP as fractions: ``bbox_mAP``, ``bbox_mAP_50``, ...

    After an evaluation ``per_class`` is {'bbox_mAP': {class: AP}, ...} and ``records`` {'bbox': APRecord, ...}.

    NaN where there is no ground truth (of a class, or a size), 0 where nothing was detected. Images of the annotation
    file that were not evaluated do not count. Arguments are those of ``mmdet.evaluation.CocoMetric`` for
    ``metric='bbox'``, ``'segm'`` or both; ``proposal_nums`` must contain 100, the number of detections in mAP.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if _DETECTIONS not in self.proposal_nums:
            raise ValueError(f'proposal_nums is {self.proposal_nums}; it must contain {_DETECTIONS}, which mAP counts')

    def compute_metrics(self, results: list) -> dict[str, float]:
        truths, predictions = zip(*results)
        scores, self.per_class, self.records = {}, {}, {}
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            if self._coco_api is None:
                self._coco_api = COCO(self.gt_to_coco_json(truths, f'{folder}/truth'))
            if self.cat_ids is None:
                self.cat_ids = self._coco_api.get_cat_ids(cat_names=self.dataset_meta['classes'])
            self.img_ids = [truth['img_id'] for truth in truths]
            files = self.results2json(predictions, f'{folder}/predictions')
            for kind in self.metrics:
                evaluation = self._evaluate(kind, load(files[kind]))
                stats = [float(value) if value != -1 else np.nan for value in evaluation.stats[: len(_STATS)]]
                scores |= {f'{kind}_{name}': value for name, value in zip(_STATS, stats)}
                self.per_class[f'{kind}_mAP'] = _by_class(evaluation)
                self.records[kind] = APRecord.from_coco(evaluation, self.img_ids)
        print_log(f'AP of each class:\n{table(self.per_class)}', logger='current')
        return scores

    def _evaluate(self, kind: str, predictions: list[dict]) -> COCOeval:
        if kind == 'segm':  # else pycocotools sorts masks into sizes by the area of their boxes
            predictions = [{k: v for k, v in p.items() if k != 'bbox'} for p in predictions]
        evaluation = COCOeval(self._coco_api, self._load(predictions), kind)
        evaluation.params.catIds = self.cat_ids
        evaluation.params.imgIds = self.img_ids
        evaluation.params.maxDets = list(self.proposal_nums)
        evaluation.params.iouThrs = np.atleast_1d(self.iou_thrs)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        return evaluation

    def _load(self, predictions: list[dict]) -> COCO:
        if predictions:
            return self._coco_api.loadRes(predictions)
        empty = COCO()  # loadRes fails on an empty list
        empty.dataset = {**self._coco_api.dataset, 'annotations': []}
        empty.createIndex()
        return empty


def _by_class(evaluation: COCOeval) -> dict[str, float]:
    """AP by name of the class; NaN where there is no ground truth."""
    params = evaluation.params
    # precision: (iou, recall, class, area range, detections per image), -1 where there is no ground truth
    precision = evaluation.eval['precision'][..., 0, params.maxDets.index(_DETECTIONS)]
    means = np.where((precision > -1).all((0, 1)), precision.mean((0, 1)), np.nan)
    # pycocotools has put the classes in an order of its own, which need not be that of the file
    return {one['name']: float(mean) for one, mean in zip(evaluation.cocoGt.loadCats(params.catIds), means)}
