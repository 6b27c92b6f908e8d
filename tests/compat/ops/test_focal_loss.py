import pytest
import torch
from mmcv.ops import sigmoid_focal_loss, softmax_focal_loss

DOUBLE = torch.float64
TARGETS = torch.tensor([0, 2, 3, 1, -1, 2])  # three classes; 3 is the background, -1 is ignored by the softmax


def sigmoid_formula(logits, target, gamma, alpha, weight):
    rows = []
    for row, label in zip(logits, target.tolist()):
        factor = weight[label] if weight is not None and 0 <= label < len(weight) else 1
        for c, x in enumerate(row):
            p = 1 / (1 + torch.exp(-x))
            yes, no = -alpha * (1 - p) ** gamma * torch.log(p), -(1 - alpha) * p**gamma * torch.log(1 - p)
            rows.append(factor * (yes if c == label else no))
    return torch.stack(rows).view(logits.shape)


def softmax_formula(logits, target, gamma, alpha, weight):
    rows = []
    for row, label in zip(logits, target.tolist()):
        p = torch.exp(row[label]) / torch.exp(row).sum()
        factor = (weight[label] if weight is not None else 1) if label >= 0 else 0
        rows.append(-factor * alpha * (1 - p) ** gamma * torch.log(p))
    return torch.stack(rows)


FORMULAS = {sigmoid_focal_loss: sigmoid_formula, softmax_focal_loss: softmax_formula}


@pytest.fixture(params=FORMULAS, ids=['sigmoid', 'softmax'])
def loss(request):
    return request.param


@pytest.fixture
def target(loss):
    return TARGETS if loss is sigmoid_focal_loss else TARGETS.where(TARGETS < 3, 0)


@pytest.mark.parametrize('gamma', [0.0, 0.5, 2.0])
@pytest.mark.parametrize('alpha', [0.25, 0.75])
@pytest.mark.parametrize('weighted', [True, False])
@pytest.mark.parametrize('reduction', ['sum', 'mean'])
def test_value_and_gradient(loss, target, gamma, alpha, weighted, reduction):
    logits = (3 * torch.randn(6, 3, dtype=DOUBLE)).requires_grad_()
    weight = torch.rand(3, dtype=DOUBLE) if weighted else None
    total = FORMULAS[loss](logits, target, gamma, alpha, weight).sum() / (6 if reduction == 'mean' else 1)
    value = loss(logits, target, gamma, alpha, weight, reduction)
    torch.testing.assert_close(value, total, rtol=1e-12, atol=1e-12)
    ours, theirs = (torch.autograd.grad(v, logits)[0] for v in (value, total))
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def test_unreduced(loss, target):
    logits = torch.randn(6, 3, dtype=DOUBLE)
    expected = FORMULAS[loss](logits, target, 2.0, 0.25, None)
    torch.testing.assert_close(loss(logits, target, 2.0, 0.25, None, 'none'), expected)


def test_unreduced_sigmoid_gradient():
    logits = torch.randn(6, 3, dtype=DOUBLE, requires_grad=True)
    operator = lambda logits: sigmoid_focal_loss(logits, TARGETS, 2.0, 0.25, None, 'none')  # noqa: E731
    assert torch.autograd.gradcheck(operator, logits)


def test_alpha_is_a_float32(loss, target):
    logits = torch.randn(6, 3, dtype=DOUBLE)
    alpha = float(torch.tensor(0.3, dtype=torch.float32))
    expected = FORMULAS[loss](logits, target, 2.0, alpha, None).sum()
    torch.testing.assert_close(loss(logits, target, 2.0, 0.3, None, 'sum'), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize('gamma', [0.0, 0.5, 2.0])
def test_saturated_logits_stay_finite(loss, target, gamma):
    logits = torch.full((6, 3), -200.0)
    logits[torch.arange(6), torch.tensor([0, 2, 1, 1, 0, 1])] = 200  # some right, some wrong
    logits.requires_grad_()
    value = loss(logits, target, gamma, 0.25, None, 'sum')
    value.backward()
    assert value.isfinite()
    assert logits.grad.isfinite().all()


def test_large_negative_is_exact_in_float32():
    logits = torch.tensor([[20.0, 40.0, 60.0]])
    value = sigmoid_focal_loss(logits, torch.tensor([3]), 2.0, 0.25, None, 'none')
    torch.testing.assert_close(value, 0.75 * logits, rtol=1e-6, atol=0)


def test_half_precision(loss, target):
    logits = (3 * torch.randn(6, 3)).half()
    exact = FORMULAS[loss](logits.double(), target, 2.0, 0.25, None)
    value = loss(logits, target, 2.0, 0.25, None, 'none')
    assert value.dtype == torch.float16
    # mmcv takes the softmax itself, in half precision.
    torch.testing.assert_close(value.double(), exact, rtol=5e-3, atol=2e-3)


def test_no_rows(loss):
    logits = torch.zeros(0, 3, requires_grad=True)
    value = loss(logits, torch.zeros(0, dtype=torch.long), 2.0, 0.25, None, 'sum')
    value.backward()
    assert value == 0
    assert logits.grad.shape == (0, 3)


def test_strides_do_not_matter(loss, target):
    logits = torch.randn(6, 3)
    strided = torch.empty(3, 6).T.copy_(logits)
    assert torch.equal(loss(strided, target, 2.0, 0.25, None, 'none'), loss(logits, target, 2.0, 0.25, None, 'none'))
