"""Dense networks train under DistributedDataParallel that is not told of unused parameters."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

from tests.models.small import HYBRID, VIT, image

NETWORKS = [
    dict(arch=HYBRID),
    dict(arch=HYBRID, last_map='downsample', drop_path_rate=0.5, with_cp=True),
    dict(arch=HYBRID, out_indices=(0, 1, 2), taps=(1,)),
    dict(arch=HYBRID, out_indices=(1,)),
    dict(arch=HYBRID, out_indices=(2, 3), frozen_stages=1),
    dict(arch=VIT),
    dict(arch=VIT, out_indices=(0, 1)),
]


def train(rank: int, rendezvous: str) -> None:
    """Two steps each: the second one fails if a parameter had no gradient in the first."""
    from fan_dense.models import FAN

    torch.set_num_threads(1)
    dist.init_process_group('gloo', init_method=f'file://{rendezvous}', rank=rank, world_size=2)
    for options in NETWORKS:
        torch.manual_seed(rank)
        net = DistributedDataParallel(FAN(**options).train(), find_unused_parameters=False)
        for step in range(2):
            net.zero_grad()
            sum(out.square().mean() for out in net(image(33, 49) + rank + step)).backward()
        grads = torch.stack([value.grad.sum() for value in net.parameters() if value.requires_grad])
        both = [torch.empty_like(grads) for _ in range(2)]
        dist.all_gather(both, grads)
        assert torch.equal(*both), options
    dist.destroy_process_group()


def test_two_processes(tmp_path):
    mp.spawn(train, (str(tmp_path / 'rendezvous'),), nprocs=2)
