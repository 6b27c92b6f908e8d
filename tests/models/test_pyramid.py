import pytest
import torch
import torch.nn.functional as F
from mmengine.registry import MODELS

from fan_dense.models import FAN, SimpleFeaturePyramid
from tests.models.small import VIT, image


def test_maps_of_every_stride():
    backbone = FAN(VIT, out_indices=(3,))
    neck = MODELS.build(dict(type='SimpleFeaturePyramid', in_channels=backbone.out_channels[-1], out_channels=12))
    maps = neck(backbone(image(64, 128)))
    assert [tuple(x.shape) for x in maps] == [(2, 12, 64 // stride, 128 // stride) for stride in (4, 8, 16, 32, 64)]
    sum(x.square().mean() for x in maps).backward()
    assert not [name for name, value in neck.named_parameters() if value.grad is None]


def test_further_maps_are_every_second_pixel():
    maps = SimpleFeaturePyramid(8, 4, num_outs=6)([torch.randn(1, 8, 10, 14)])
    torch.testing.assert_close(maps[5], maps[3][:, :, ::4, ::4])


def test_first_map_is_built_from_transposed_convolutions():
    neck, x = SimpleFeaturePyramid(8, 4), torch.randn(1, 8, 3, 5)
    up1, norm, _, up2, lateral, norm1, conv, norm2 = neck.stages[0]

    def layer_norm(y, norm):
        return F.layer_norm(y.movedim(1, -1), norm.normalized_shape, norm.weight, norm.bias, 1e-6).movedim(-1, 1)

    y = F.gelu(layer_norm(F.conv_transpose2d(x, up1.weight, up1.bias, stride=2), norm))
    y = F.conv_transpose2d(y, up2.weight, up2.bias, stride=2)
    y = layer_norm(F.conv2d(y, lateral.weight), norm1)
    torch.testing.assert_close(neck([x])[0], layer_norm(F.conv2d(y, conv.weight, padding=1), norm2))


def test_too_few_maps():
    with pytest.raises(ValueError, match='num_outs is 3'):
        SimpleFeaturePyramid(8, num_outs=3)
