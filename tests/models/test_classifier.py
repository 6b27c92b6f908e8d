import pytest
import torch
from mmengine.registry import MODELS

from fan_dense.models import FAN, FANClassifier
from tests.models.small import HYBRID, VIT, image


@pytest.mark.parametrize('arch', [HYBRID, VIT])
def test_logits_and_gradients(arch):
    net = MODELS.build(dict(type='FANClassifier', arch=arch, num_classes=7))
    logits = net(image(65, 97))
    assert logits.shape == (2, 7)
    logits.square().mean().backward()
    assert not [name for name, value in net.named_parameters() if value.grad is None]


def test_patch_tokens_are_those_of_the_backbone():
    classifier, backbone = FANClassifier(HYBRID).eval(), FAN(HYBRID, out_indices=(3,), pos_floor=True).eval()
    backbone.load_state_dict(classifier.state_dict(), strict=False)
    kept = []
    classifier.cls_attn_blocks[-1].register_forward_hook(lambda *call: kept.append(call[-1]))
    classifier(image(64, 96))
    torch.testing.assert_close(kept[0][:, 1:], backbone(image(64, 96))[0].flatten(2).transpose(1, 2))


def test_initial_head():
    torch.manual_seed(0)
    plain = FANClassifier(HYBRID).head.weight
    assert plain.std().item() == pytest.approx(0.02, rel=0.02)
    assert FANClassifier(HYBRID, head_init_scale=1e-3).head.weight.std().item() == pytest.approx(2e-5, rel=0.02)
