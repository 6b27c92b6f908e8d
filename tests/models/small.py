"""Networks and images for tests."""

import torch

HYBRID = dict(embed_dims=24, depth=3, num_heads=2, stem='hybrid', stem_depths=(1, 1), stem_dims=(8, 16))
VIT = dict(embed_dims=24, depth=3, num_heads=2)
SIZES = [(224, 224), (65, 97), (512, 96)]


def image(height: int, width: int, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, 3, height, width, generator=torch.Generator().manual_seed(0))
