"""Self-attention among the neighbours of a pixel (Zhao, Jia, Koltun: "Exploring Self-attention for Image Recognition").

Each neighbour of a pixel gets weights, one for every 8 channels, computed from linear maps phi and psi of the features.
In pairwise attention (paper, Eq. 2) the weights of neighbour j of pixel i depend on phi(i) and psi(j) alone, in
patchwise attention (Eq. 4) on the whole neighbourhood R(i). How features are compared is the relation, a function of
phi and psi, both padded (B, R, H', W'), and the window (kernel_size, stride, dilation).
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .conv import BN, build_norm2d
from .san_ops import aggregate, centres, correlate, neighbourhoods, reflect_pad, window_padding

SHARED = 8  # channels that have weights in common
Window = tuple[int, int, int]


def subtraction(phi: Tensor, psi: Tensor, window: Window) -> Tensor:
    """phi(i) - psi(j): (B, R, J, H, W)."""
    return (centres(phi, *window)[:, :, None, None] - neighbourhoods(psi, *window)).flatten(2, 3)


def summation(phi: Tensor, psi: Tensor, window: Window) -> Tensor:
    """phi(i) + psi(j): (B, R, J, H, W)."""
    return (centres(phi, *window)[:, :, None, None] + neighbourhoods(psi, *window)).flatten(2, 3)


def concatenation(phi: Tensor, psi: Tensor, window: Window) -> Tensor:
    """[phi(i), psi(j)]: (B, 2R, J, H, W)."""
    neighbours = neighbourhoods(psi, *window)  # (B, R, k, k, H, W)
    return torch.cat([centres(phi, *window)[:, :, None, None].expand_as(neighbours), neighbours], 1).flatten(2, 3)


def hadamard(phi: Tensor, psi: Tensor, window: Window) -> Tensor:
    """phi(i) * psi(j), channel by channel: (B, R, J, H, W)."""
    return (centres(phi, *window)[:, :, None, None] * neighbourhoods(psi, *window)).flatten(2, 3)


def dot_product(phi: Tensor, psi: Tensor, window: Window) -> Tensor:
    """phi(i)^T psi(j): (B, 1, J, H, W)."""
    return correlate(centres(phi, *window), psi, *window)[:, None]


def patch_concatenation(phi: Tensor, psi: Tensor, window: Window) -> Tensor:
    """[phi(i), psi(j) for j in R(i)], all neighbours of a channel together: (B, R + R J, H, W)."""
    return torch.cat([centres(phi, *window), neighbourhoods(psi, *window).flatten(1, 3)], 1)


def star_product(phi: Tensor, psi: Tensor, window: Window) -> Tensor:
    """[phi(i)^T psi(j) for j in R(i)]: (B, J, H, W)."""
    return correlate(centres(phi, *window), psi, *window)


def clique_product(phi: Tensor, psi: Tensor, window: Window) -> Tensor:
    """[phi(j)^T psi(k) for j, k in R(i)]: (B, J J, H, W). The one relation whose size grows with J^2."""
    phi, psi = (neighbourhoods(x, *window).flatten(2, 3) for x in (phi, psi))  # (B, R, J, H, W)
    return torch.einsum('brjhw,brkhw->bjkhw', phi, psi).flatten(1, 2)


PAIRWISE = {
    'subtraction': subtraction,
    'summation': summation,
    'concatenation': concatenation,
    'hadamard': hadamard,
    'dot_product': dot_product,
}
PATCHWISE = {
    'concatenation': patch_concatenation,
    'star_product': star_product,
    'clique_product': clique_product,
}


class NeighbourAttention(nn.Module):
    """(B, C, H, W) to (B, C_out, H/stride, W/stride), rounded up: a weighted sum of each pixel's neighbours.

    A subclass gives ``weights(x)``, (B, C_out/8, J, H/stride, W/stride).
    """

    def __init__(self, dim: int, rel_dim: int, out_dim: int, window: Window):
        super().__init__()
        self.window = window
        self.padding = window_padding(window[0], window[2])
        self.conv1 = nn.Conv2d(dim, rel_dim, 1)  # phi
        self.conv2 = nn.Conv2d(dim, rel_dim, 1)  # psi
        self.conv3 = nn.Conv2d(dim, out_dim, 1)  # values

    def forward(self, x: Tensor) -> Tensor:
        return aggregate(self.weights(x), reflect_pad(self.conv3(x), self.padding), *self.window)

    def compare(self, relation: Callable, phi: Tensor, psi: Tensor) -> Tensor:
        """``relation`` of maps (B, R, H, W)."""
        return relation(reflect_pad(phi, self.padding), reflect_pad(psi, self.padding), self.window)


class PairwiseAttention(NeighbourAttention):
    """Weights of a neighbour from it, the centre, and where they are; over the neighbours they sum to 1.

    Args:
        dim: Channels C.
        rel_dim: Channels R of phi and psi.
        out_dim: Channels of the values and of the result, divisible by 8.
        kernel_size: Side of the neighbourhoods, odd.
        stride: Pixels from one neighbourhood to the next.
        dilation: Pixels from one neighbour to the next.
        relation: A key of :data:`PAIRWISE`.
        norm_cfg: Normalisation of the relations.
    """

    def __init__(self, dim, rel_dim, out_dim, kernel_size, stride=1, dilation=1, relation='subtraction', norm_cfg=BN):
        super().__init__(dim, rel_dim, out_dim, (kernel_size, stride, dilation))
        self.relation = PAIRWISE[relation]
        channels = {'concatenation': 2 * rel_dim, 'dot_product': 1}.get(relation, rel_dim)
        self.conv_w = _mapping(channels + 2, rel_dim, out_dim // SHARED, norm_cfg)
        self.conv_p = nn.Conv2d(2, 2, 1)

    def weights(self, x: Tensor) -> Tensor:
        features = self.compare(self.relation, self.conv1(x), self.conv2(x))  # (B, R', J, H, W)
        # the 1x1 convolution written out: autocast would have it in bfloat16, too coarse to tell neighbours apart
        grid = positions(*x.shape[2:], x.device)  # (2, H, W)
        where = (self.conv_p.weight * grid).sum(1)[None] + self.conv_p.bias[:, None, None]  # (1, 2, H, W)
        where = self.compare(subtraction, where, where).expand(len(x), -1, -1, -1, -1)  # (B, 2, J, H, W)
        relations = torch.cat([features, where.to(features.dtype)], 1)
        del features  # large
        return self.conv_w(relations.flatten(2, 3)).unflatten(2, (self.window[0] ** 2, -1)).softmax(2)


class PatchwiseAttention(NeighbourAttention):
    """Weights of all neighbours from the whole neighbourhood. They are not normalised.

    Args:
        dim: Channels C.
        rel_dim: Channels R of phi and psi.
        out_dim: Channels of the values and of the result, divisible by 8.
        kernel_size: Side of the neighbourhoods, odd.
        stride: Pixels from one neighbourhood to the next.
        dilation: Pixels from one neighbour to the next.
        relation: A key of :data:`PATCHWISE`.
        norm_cfg: Normalisation of the relations.
    """

    def __init__(self, dim, rel_dim, out_dim, kernel_size, stride=1, dilation=1, relation='concatenation', norm_cfg=BN):
        super().__init__(dim, rel_dim, out_dim, (kernel_size, stride, dilation))
        self.relation = PATCHWISE[relation]
        count, groups = kernel_size**2, out_dim // SHARED
        channels = {'concatenation': rel_dim * (1 + count), 'star_product': count, 'clique_product': count**2}
        self.conv_w = _mapping(channels[relation], groups, groups * count, norm_cfg)

    def weights(self, x: Tensor) -> Tensor:
        relations = self.compare(self.relation, self.conv1(x), self.conv2(x))  # (B, R', H, W)
        return self.conv_w(relations).unflatten(1, (-1, self.window[0] ** 2))


class SANBlock(nn.Module):
    """BN, ReLU, attention among neighbours, BN, ReLU, 1x1 convolution; residual. (B, C, H, W) to (B, C, H, W).

    Args:
        dim: Channels C, divisible by 32.
        attention: ``'pairwise'`` or ``'patchwise'``.
        relation: How features are compared, a key of :data:`PAIRWISE` or :data:`PATCHWISE`.
        kernel_size: Side of the neighbourhoods, odd.
        dilation: Pixels from one neighbour to the next.
        norm_cfg: Normalisation.
    """

    def __init__(self, dim, attention, relation, kernel_size, dilation=1, norm_cfg=BN):
        super().__init__()
        kind = {'pairwise': PairwiseAttention, 'patchwise': PatchwiseAttention}[attention]
        self.bn1 = build_norm2d(norm_cfg, dim)
        self.sam = kind(dim, dim // 16, dim // 4, kernel_size, dilation=dilation, relation=relation, norm_cfg=norm_cfg)
        self.bn2 = build_norm2d(norm_cfg, dim // 4)
        self.conv = nn.Conv2d(dim // 4, dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(F.relu(self.bn2(self.sam(F.relu(self.bn1(x), inplace=True))), inplace=True))


def positions(height: int, width: int, device: torch.device | str = 'cpu') -> Tensor:
    """Horizontal and vertical coordinate of each pixel, from -1 to 1: (2, H, W), in float32 as published."""
    y, x = (torch.linspace(-1, 1, length, device=device) for length in (height, width))
    return torch.stack([x.expand(height, width), y[:, None].expand(height, width)])


def _mapping(in_channels: int, hidden_channels: int, out_channels: int, norm_cfg: dict) -> nn.Sequential:
    return nn.Sequential(
        build_norm2d(norm_cfg, in_channels),
        nn.ReLU(inplace=True),
        nn.Conv2d(in_channels, hidden_channels, 1, bias=False),
        build_norm2d(norm_cfg, hidden_channels),
        nn.ReLU(inplace=True),
        nn.Conv2d(hidden_channels, out_channels, 1),
    )
