import itertools

import pytest
import torch
from timm.models import swin_transformer
from torch import nn

from benchmarks.parity_rule import filled
from fan_dense.models.layers import window
from fan_dense.models.layers.window import PatchEmbed, PatchMerging, WindowAttention


def randn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_windows_are_squares_in_reading_order():
    x = randn(2, 6, 9, 4)
    windows = window.split_windows(x, 3)
    assert windows.shape == (2, 6, 9, 4)
    for i, j in itertools.product(range(2), range(3)):
        assert torch.equal(windows[:, 3 * i + j], x[:, 3 * i : 3 * i + 3, 3 * j : 3 * j + 3].flatten(1, 2))
    assert torch.equal(window.join_windows(windows, 3, 9), x)


@pytest.mark.parametrize('size', [1, 2, 7])
def test_relative_position_index_is_that_of_the_checkpoints(size):
    assert torch.equal(window.relative_position_index(size), swin_transformer.get_relative_position_index(size, size))


@pytest.mark.parametrize('shifts', [(0, 0), (2, 0), (0, 3), (2, 1), (3, 3)])
def test_masked_pairs_are_those_whose_distance_changed(shifts):
    height, width, size = 8, 12, 4
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing='ij')
    place = torch.stack([rows, columns], -1)[None]  # (1, H, W, 2)
    origin = place.roll((-shifts[0], -shifts[1]), (1, 2))
    now, before = (window.split_windows(x, size)[0] for x in (place, origin))  # (windows, size * size, 2)
    apart = ((now[:, :, None] - now[:, None]) != (before[:, :, None] - before[:, None])).any(-1)
    assert torch.equal(window.shift_mask(height, width, size, shifts), apart)


def test_tables_made_in_inference_mode_serve_training():
    window.relative_position_index.cache_clear()
    window.shift_mask.cache_clear()
    attn = WindowAttention(8, 2, size=3, shift=1)
    with torch.inference_mode():
        attn(torch.randn(1, 6, 6, 8))
    attn(torch.randn(1, 6, 6, 8)).sum().backward()
    assert window.shift_mask.cache_info().hits == 1
    assert attn.relative_position_bias_table.grad.abs().sum() > 0


@pytest.mark.parametrize('shift', [0, 2])
@torch.no_grad()
def test_attention_of_a_map_that_windows_tile_is_timms(shift):
    theirs = swin_transformer.SwinTransformerBlock(
        dim=12, input_resolution=(8, 12), num_heads=3, window_size=4, shift_size=shift
    )
    theirs = filled(theirs).double()
    ours = WindowAttention(12, 3, size=4, shift=shift).double()
    ours.load_state_dict({key: value for key, value in theirs.attn.state_dict().items() if 'index' not in key})
    x = randn(2, 8, 12, 12)
    torch.testing.assert_close(ours(x), theirs._attn(x))


@pytest.mark.parametrize('shift', [0, 1])
@pytest.mark.parametrize('size', [(6, 6), (5, 7), (2, 9), (1, 1)])
@torch.no_grad()
def test_attention_pixel_by_pixel(size, shift):
    """Against the definition: windows of 3 on the padded map, moved by ``shift`` and cut off at its border."""
    attn = filled(WindowAttention(8, 2, size=3, shift=shift)).double()
    x = randn(1, *size, 8)
    height, width = (-(-length // 3) * 3 for length in size)
    padded = torch.zeros(height, width, 8, dtype=x.dtype)
    padded[: size[0], : size[1]] = x[0]
    q, k, v = attn.qkv(padded).unflatten(-1, (3, 2, 4)).unbind(-3)  # (H, W, h, d)
    moved = [shift if length > 3 else 0 for length in (height, width)]

    def group(pixel):
        return tuple((place + 3 - by) // 3 for place, by in zip(pixel, moved))

    pixels = list(itertools.product(range(height), range(width)))
    for i in itertools.product(*map(range, size)):
        mates = [j for j in pixels if group(j) == group(i)]
        offsets = [(i[0] - j[0] + 2) * 5 + i[1] - j[1] + 2 for j in mates]
        score = torch.stack([(q[i] * k[j]).sum(-1) / 2 for j in mates]) + attn.relative_position_bias_table[offsets]
        mixed = (score.softmax(0)[..., None] * torch.stack([v[j] for j in mates])).sum(0).flatten()
        torch.testing.assert_close(attn(x)[0][i], attn.proj(mixed))


@torch.no_grad()
def test_single_windows_are_cut_on_request_only():
    whole, cut = WindowAttention(8, 2, size=4, shift=2), WindowAttention(8, 2, size=4, shift=2, shift_single=True)
    cut.load_state_dict(whole.state_dict())
    x = torch.randn(1, 4, 4, 8)
    y = x.clone()
    y[0, 3, 3] += 1
    assert ((whole(x) != whole(y)).any(-1)).all()
    changed = (cut(x) != cut(y)).any(-1)[0]
    assert changed[2:, 2:].all()
    assert changed.sum() == 4


@pytest.mark.parametrize('dropout', [0.0, 0.5])
def test_dropout_of_attention_in_training_only(dropout):
    attn, x = WindowAttention(8, 2, size=4, attn_drop=dropout), torch.randn(1, 8, 8, 8)
    assert torch.equal(attn(x), attn(x)) is (dropout == 0)
    assert torch.equal(attn.eval()(x), attn(x))


@pytest.mark.parametrize('size', [(6, 8), (5, 7), (1, 1)])
@torch.no_grad()
def test_merging(size):
    merge = filled(PatchMerging(4)).double()
    x = randn(2, *size, 4)
    padded = nn.functional.pad(x, (0, 0, 0, size[1] % 2, 0, size[0] % 2))
    parts = [padded[:, i::2, j::2] for i, j in ((0, 0), (1, 0), (0, 1), (1, 1))]
    torch.testing.assert_close(merge(x), merge.reduction(merge.norm(torch.cat(parts, -1))))
    if not any(length % 2 for length in size):
        theirs = swin_transformer.PatchMerging(4).double()
        theirs.load_state_dict(merge.state_dict())
        torch.testing.assert_close(merge(x), theirs(x))


@torch.no_grad()
def test_patches_that_are_cut_off_are_filled_with_zeros():
    embed = filled(PatchEmbed(8)).double()
    image = randn(2, 3, 9, 14)
    whole = torch.zeros(2, 3, 12, 16, dtype=image.dtype)
    whole[:, :, :9, :14] = image
    assert embed(image).shape == (2, 3, 4, 8)
    torch.testing.assert_close(embed(image), embed(whole))
    patch = (embed.proj.weight * whole[:1, :, :4, :4]).sum((1, 2, 3)) + embed.proj.bias
    torch.testing.assert_close(embed(image)[0, 0, 0], embed.norm(patch))
