"""Activation checkpointing that leaves running statistics as they would be without it."""

import contextlib

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint


def run(block: nn.Module, x: Tensor, with_cp: bool) -> Tensor:
    """``block(x)``, recomputed in the backward pass if ``with_cp``."""
    if not (with_cp and x.requires_grad):
        return block(x)
    return checkpoint(
        block, x, use_reentrant=False, context_fn=lambda: (contextlib.nullcontext(), statistics_kept(block))
    )


@contextlib.contextmanager
def statistics_kept(module: nn.Module):
    """Within, forward passes of BatchNorm layers do not change their running statistics: one batch counts once."""
    norms = [norm for norm in module.modules() if isinstance(norm, _BatchNorm) and norm.track_running_stats]
    momenta = [norm.momentum for norm in norms]
    counts = [norm.num_batches_tracked.clone() for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, momentum, count in zip(norms, momenta, counts):
            norm.momentum = momentum
            norm.num_batches_tracked.copy_(count)
