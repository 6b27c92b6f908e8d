"""Growing labelled regions pixel by pixel, for the text detectors PSENet (Wang et al., 2019) and PAN (2019).

Both are breadth-first searches on the CPU in which the pixel that comes first in the queue labels a contested one.
Here a step takes the whole front of the search at once, in the order of the queue.
"""

from collections.abc import Callable

import numpy as np
from torch import Tensor


def contour_expand(
    kernel_mask: Tensor, internal_kernel_label: Tensor, min_kernel_area: int, kernel_num: int
) -> list[list[int]]:
    """Labels (H, W) of the text regions: the kernels grown into ``kernel_mask[0]``.

    ``kernel_mask`` (K, H, W) holds the kernels from the largest to the smallest, ``internal_kernel_label`` (H, W) the
    labels of the smallest. Labels with less than ``min_kernel_area`` pixels are dropped.

    NOTE: in PSENet the kernels grow one into the next; mmcv reads the largest at every scale, and so do we.
    """
    mask, seeds = kernel_mask.cpu().numpy(), internal_kernel_label.cpu().numpy()
    labels = np.where(np.bincount(seeds.ravel())[seeds] >= min_kernel_area, seeds, 0)
    if len(mask) > 1:
        free = mask[0].ravel() > 0
        _grow(labels, np.flatnonzero(labels), ((-1, 0), (1, 0), (0, -1), (0, 1)), lambda pixels, label: free[pixels])
    return labels.tolist()


def pixel_group(
    score: Tensor,
    mask: Tensor,
    embedding: Tensor,
    kernel_label: Tensor,
    kernel_contour: Tensor,
    kernel_region_num: int,
    distance_threshold: float,
) -> list[list[float]]:
    """For each label the mean score, the number of pixels, and x, y of every pixel, in rows; nothing for label 0.

    Regions grow from the contour of their kernel over pixels of ``mask`` whose embedding is nearer than
    ``distance_threshold`` to the mean over the kernel. All maps are (H, W), ``embedding`` (H, W, D).
    """
    labels = kernel_label.cpu().numpy().copy()
    vectors = embedding.float().cpu().numpy().reshape(labels.size, -1)
    inner, within = np.flatnonzero(labels > 0), mask.cpu().numpy().ravel().astype(bool)
    kernel_of = labels.ravel()[inner]
    count = np.bincount(kernel_of, minlength=kernel_region_num)
    sums = np.zeros((len(count), vectors.shape[1]), np.float32)
    np.add.at(sums, kernel_of, vectors[inner])
    means = sums / np.maximum(count, 1)[:, None].astype(np.float32)

    def near(pixels: np.ndarray, label: np.ndarray) -> np.ndarray:
        distance = ((means[label] - vectors[pixels]) ** 2).sum(1)
        return within[pixels] & (distance < np.float32(distance_threshold) ** 2)

    seeds = inner[kernel_contour.cpu().numpy().ravel()[inner] > 0]
    _grow(labels, seeds, ((0, -1), (0, 1), (-1, 0), (1, 0)), near)
    confidence = score.float().cpu().numpy()
    groups = [[0.0, 0.0]]
    for label in range(1, kernel_region_num):
        y, x = np.nonzero(labels == label)
        mean = confidence[y, x].cumsum()[-1] / np.float32(len(y)) if len(y) else 0
        groups.append([float(mean), float(len(y)), *np.column_stack([x, y]).ravel().astype(float).tolist()])
    return groups


def _grow(
    labels: np.ndarray,
    front: np.ndarray,
    steps: tuple[tuple[int, int], ...],
    may_join: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> None:
    """Spread the ``labels`` (H, W), in place, from the pixels ``front`` (y W + x) to all that ``may_join`` a label."""
    height, width = labels.shape
    flat = labels.reshape(-1)
    down, right = np.array(steps).T
    while len(front):
        y, x = front[:, None] // width + down, front[:, None] % width + right  # F, 4
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        pixels, label = (y * width + x)[inside], flat[front][:, None].repeat(len(steps), 1)[inside]
        joins = flat[pixels] <= 0
        joins[joins] = may_join(pixels[joins], label[joins])
        pixels, label = pixels[joins], label[joins]
        first = np.sort(np.unique(pixels, return_index=True)[1])
        front = pixels[first]
        flat[front] = label[first]
