import torch

from fan_dense.models.layers.block import ClassAttentionBlock, FANBlock, PatchTokenBlock
from fan_dense.models.layers.conv import Downsample


def test_block_is_two_residual_branches():
    block, x = FANBlock(16, 4).eval(), torch.randn(2, 3, 5, 16)
    block.gamma1.data.uniform_()
    block.gamma2.data.uniform_()
    y = x + block.gamma1 * block.attn(torch.layer_norm(x, (16,), eps=1e-6))
    torch.testing.assert_close(block(x), y + block.gamma2 * block.mlp(torch.layer_norm(y, (16,), eps=1e-6)))


def test_drop_path_drops_a_branch_of_an_image_as_a_whole():
    block, x = FANBlock(16, 4, drop_path=0.5), torch.randn(64, 2, 2, 16)
    torch.manual_seed(0)
    same = (block(x) == x).flatten(1)
    untouched = same.all(1)
    assert 4 < untouched.sum() < 32  # a quarter, both branches
    assert not same[~untouched].all(1).any()
    plain = FANBlock(16, 4).eval()
    plain.load_state_dict(block.state_dict())
    assert torch.equal(block.eval()(x), plain(x))


def test_only_a_change_of_width_needs_a_downsample():
    assert isinstance(FANBlock(16, 4, out_dim=24).downsample, Downsample)
    assert not list(FANBlock(16, 4, out_dim=16).downsample.parameters())


def test_patch_tokens_do_not_see_the_class_token():
    whole, x = ClassAttentionBlock(16, 4).eval(), torch.randn(2, 7, 16)
    patches = PatchTokenBlock(16)
    missing, unexpected = patches.load_state_dict(whole.state_dict(), strict=False)
    assert not missing
    assert {key.split('.')[0] for key in unexpected} == {'gamma2', 'attn', 'mlp'}
    torch.testing.assert_close(patches(x[:, 1:]), whole(x)[:, 1:])
