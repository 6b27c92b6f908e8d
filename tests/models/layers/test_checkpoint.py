import copy

import pytest
import torch
from torch import nn

from fan_dense.models.layers.checkpoint import run


@pytest.mark.parametrize('norm', [nn.BatchNorm2d(4), nn.BatchNorm2d(4, momentum=None)])
def test_gradients_and_running_statistics_are_those_without(norm):
    block = nn.Sequential(nn.Conv2d(4, 4, 3), norm, nn.GELU(), nn.Dropout(0.5), nn.Conv2d(4, 4, 3))
    x = torch.randn(2, 4, 9, 9, requires_grad=True)
    states, grads = [], []
    for with_cp in (False, True):
        twin = copy.deepcopy(block)
        for _ in range(2):
            torch.manual_seed(0)
            run(twin, x, with_cp).square().sum().backward()
        states.append(twin.state_dict())
        grads.append([parameter.grad for parameter in twin.parameters()])
    assert states[0]['1.num_batches_tracked'] == 2
    torch.testing.assert_close(states[1], states[0], rtol=0, atol=0)
    torch.testing.assert_close(grads[1], grads[0], rtol=0, atol=0)
    assert twin[1].momentum == norm.momentum


def test_activations_are_not_kept():
    block, x = nn.Sequential(nn.Linear(4, 64), nn.GELU(), nn.Linear(64, 4)), torch.randn(8, 4, requires_grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        run(block, x, with_cp=True)
        assert not [size for size in kept if size == 8 * 64]
        run(block, x, with_cp=False)
    assert [size for size in kept if size == 8 * 64]
