"""Points (P, F) sorted into the voxels of a grid; the first three features are x, y, z."""

import torch
from torch import Tensor


def dynamic_voxelize_forward(
    points: Tensor, voxel_size: Tensor, coors_range: Tensor, coors: Tensor, NDim: int = 3
) -> None:
    """Fill ``coors`` (P, 3) with z, y, x of the voxel of each point, -1 for points outside ``coors_range`` (6,)."""
    coors.copy_(_voxels(points, voxel_size, coors_range, NDim)[0])


def hard_voxelize_forward(
    points: Tensor,
    voxel_size: Tensor,
    coors_range: Tensor,
    voxels: Tensor,
    coors: Tensor,
    num_points_per_voxel: Tensor,
    voxel_num: Tensor,
    max_points: int,
    max_voxels: int,
    NDim: int = 3,
    deterministic: bool = True,
) -> None:
    """Fill the first ``max_voxels`` voxels that occur with their first ``max_points`` points each.

    Filled are ``voxels`` (max_voxels, max_points, F), ``coors`` (max_voxels, 3) as z, y, x, ``num_points_per_voxel``
    (max_voxels,) and ``voxel_num`` (), the number of voxels. The result is deterministic in any case.
    """
    place, grid = _voxels(points, voxel_size, coors_range, NDim)
    inside = (place[:, 0] >= 0).nonzero()[:, 0]
    key = torch.zeros_like(inside)
    for axis in range(NDim):
        key = key * grid[NDim - 1 - axis] + place[inside, axis]
    keys, voxel = key.unique(return_inverse=True)
    # Number the voxels by the first of their points, and the points in each by their own order.
    rank = torch.arange(len(key), device=key.device)
    first = torch.full_like(keys, len(key)).scatter_reduce_(0, voxel, rank, 'amin')
    voxel = first.argsort().argsort()[voxel]
    order = voxel.argsort(stable=True)
    voxel, point = voxel[order], inside[order]
    count = torch.bincount(voxel, minlength=len(first))
    step = rank - (count.cumsum(0) - count)[voxel]
    kept = (voxel < max_voxels) & (step < max_points)
    voxel, step, point = voxel[kept], step[kept], point[kept]
    voxels[voxel, step] = points[point]
    coors[voxel] = place[point].to(coors)
    number = min(len(first), max_voxels)
    num_points_per_voxel[:number] = count[:number].clamp(max=max_points).to(num_points_per_voxel)
    voxel_num.fill_(number)


def _voxels(points: Tensor, voxel_size: Tensor, coors_range: Tensor, ndim: int) -> tuple[Tensor, list[int]]:
    """z, y, x of each point's voxel (P, 3), -1 outside, and the number of voxels along x, y, z."""
    low, high = coors_range[:ndim], coors_range[ndim:]
    grid = ((high - low) / voxel_size).round().long()
    place = ((points[:, :ndim] - low.to(points)) / voxel_size.to(points)).floor()
    inside = ((place >= 0) & (place < grid.to(points))).all(1)
    return place.flip(1).where(inside[:, None], -1).long(), grid.tolist()
