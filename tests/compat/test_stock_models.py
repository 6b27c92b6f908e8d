"""Stock models of mmdet and mmseg, from their own configs: a training step and a prediction on the operators in use."""

import importlib
import math
import sys

import pytest
import torch

from tests.reference import ROOT

sys.path.insert(0, str(ROOT / 'benchmarks'))
stock_configs = importlib.import_module('stock_configs')
stock_models = importlib.import_module('stock_models')

# what each is for, as far as it calls mmcv: a model that found its way round the operators would prove nothing
OPERATORS = {
    'Faster R-CNN': {'nms', 'roi_align'},
    'Mask R-CNN': {'nms', 'roi_align'},
    'Cascade R-CNN': {'nms', 'roi_align'},
    'FCOS': {'nms'},
    'ATSS': {'nms'},
    'RTMDet': {'nms'},
    'Deformable DETR': {'MultiScaleDeformableAttention'},
    'DINO': {'MultiScaleDeformableAttention'},
    'Mask2Former': {'MultiScaleDeformableAttention'},
    'Mask2Former, semantic': {'MultiScaleDeformableAttention'},
}


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize('stock', stock_configs.NAMED, ids=lambda stock: stock.name)
def test_trains_and_predicts(stock):
    result = stock_models.run(stock)

    assert math.isfinite(result.loss)
    assert result.loss > 0
    assert result.gradients  # the optimizer has made its step
    assert all(math.isfinite(size) for size in result.gradients.values() if not math.isnan(size))
    # not all need move: what is behind a factor of zero has no gradient in the first step
    parts = {name.partition('.')[0] for name in result.moved}
    assert 'backbone' in parts
    assert parts - {'backbone', 'neck'}
    assert set(result.operators) >= OPERATORS.get(stock.name, set())

    if 'pred_sem_seg' in result.prediction:
        labels = result.prediction.pred_sem_seg.data
        assert labels.shape == (1, stock.size, stock.size)
        assert labels.min() >= 0
        assert labels.max() < 150  # of ADE20K
    else:
        found = result.prediction.pred_instances
        assert len(found.bboxes) == len(found.scores) == len(found.labels)
        assert torch.isfinite(found.bboxes).all()
        assert ((found.scores >= 0) & (found.scores <= 1)).all()
        assert ((found.labels >= 0) & (found.labels < 80)).all()  # of COCO
        assert ('masks' in found) == (stock.name in ('Mask R-CNN', 'Mask2Former'))


def test_the_table_is_of_these_models():
    """The rows in the docs are of configs that are listed, in their order, and the 15 named ones run."""
    table = (ROOT / 'docs' / 'stock_models.md').read_text().splitlines()
    rows = {line.split(' | ')[1].strip('`'): line for line in table if '| `mm' in line}
    assert list(rows) == [stock.config for stock in stock_configs.CONFIGS.values() if stock.config in rows]
    named = [stock.config for stock in stock_configs.NAMED]
    assert len(named) == 15
    assert not [config for config in named if 'does not run' in rows[config]]


def test_unknown_model_is_named(capsys):
    with pytest.raises(SystemExit, match='no stock model YOLOv99; there are: Faster R-CNN'):
        stock_models.main(['YOLOv99'], None)
