"""Every architecture at its full size: each network is built once, and all checks are made of it."""

import pytest
import torch
from torch import Tensor, nn

from fan_dense.models import arch, fan_swin, san
from fan_dense.models.catalogue import ARCHITECTURES
from tests.models.small import SIZES, image

SMALL = (65, 97)
Maps = tuple[Tensor, ...]


@pytest.fixture(scope='module', params=ARCHITECTURES)
def name(request) -> str:
    return request.param


@pytest.fixture(scope='module')
def network(name) -> nn.Module:
    torch.manual_seed(0)
    return build(name).eval()


@pytest.fixture(scope='module')
def both(network) -> Maps:
    """What it gives for two images."""
    return evaluate(network, image(*SMALL))


@pytest.fixture(scope='module')
def first(network) -> Maps:
    """What it gives for the first of them alone."""
    return evaluate(network, image(*SMALL)[:1])


def build(name: str, **options) -> nn.Module:
    return ARCHITECTURES[name].backbone(**ARCHITECTURES[name].options, **options)


def rebuilt(name: str, network: nn.Module, **options) -> nn.Module:
    """Another network of the arch with the state-dict of the first: the same weights, and copies of the statistics."""
    with torch.device('meta'):
        other = build(name, **options)
    weights = {key for key, _ in network.named_parameters()}
    state = {key: value if key in weights else value.clone() for key, value in network.state_dict().items()}
    other.load_state_dict(state, assign=True)
    return other


@torch.no_grad()
def evaluate(network: nn.Module, x: Tensor) -> Maps:
    return network(x)


def equal(maps: Maps, others: Maps) -> bool:
    return all(torch.equal(x, y) for x, y in zip(maps, others, strict=True))


def test_all_tables_are_covered():
    rows = {(row.backbone.__name__, row.options['arch']) for row in ARCHITECTURES.values()}
    tables = dict(FAN=arch.ARCHS, FANSwin=fan_swin.ARCHS, SAN=san.ARCHS)
    assert rows == {(network, row) for network, table in tables.items() for row in table}


@pytest.mark.parametrize('size', SIZES)
def test_forward(network, both, size):
    maps = both if size == SMALL else evaluate(network, image(*size, batch=1))
    assert [x.shape[1] for x in maps] == list(network.out_channels)
    for x, stride in zip(maps, network.out_strides):
        assert x.isfinite().all()
        assert x.std() > 0
        assert all(abs(side - length / stride) < 1 for side, length in zip(x.shape[2:], size))


def test_evaluation_repeats_whatever_came_between(network, first):
    evaluate(network, image(48, 32, batch=1))
    assert equal(evaluate(network, image(*SMALL)[:1]), first)


def test_state_dict_holds_everything(name, network, first):
    assert equal(evaluate(rebuilt(name, network).eval(), image(*SMALL)[:1]), first)


def test_batch_of_two_is_two_of_one(network, both, first):
    second = evaluate(network, image(*SMALL)[1:])
    for pair, *alone in zip(both, first, second):
        torch.testing.assert_close(torch.cat(alone), pair, rtol=1e-4, atol=1e-5 * pair.abs().max().item())


def test_bfloat16(network, first):
    with torch.autocast('cpu', torch.bfloat16):
        rough = evaluate(network, image(*SMALL)[:1])
    for x, exact in zip(rough, first):
        assert (x.float() - exact).norm() < 0.05 * exact.norm()


def test_gradients_and_checkpointing(name, network):
    """Every parameter gets a finite gradient, and the same one, as do running statistics, if blocks are recomputed."""
    grads, statistics = [], []
    for with_cp in (False, True):
        net = rebuilt(name, network, with_cp=with_cp).train()
        torch.manual_seed(1)  # for drop path
        sum(x.square().mean() for x in net(image(48, 64, batch=1))).backward()
        grads.append({key: value.grad for key, value in net.named_parameters()})
        statistics.append(dict(net.named_buffers()))
    assert not [key for key, grad in grads[0].items() if grad is None or not grad.isfinite().all()]
    for plain, recomputed in (grads, statistics):
        assert plain.keys() == recomputed.keys()
        assert not [key for key in plain if not torch.equal(plain[key], recomputed[key])]
