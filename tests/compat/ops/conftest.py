"""The operators are tested through the public calls of mmcv.ops, with the stand-in behind them."""

import pytest
import torch

import fan_dense  # noqa: F401 (puts the stand-in up before mmcv.ops is imported)


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)
