"""Weighted sums of rows. Compiled for the types they are given; the order of the terms is that of the arguments."""

from numba import njit


@njit(cache=True, nogil=True)
def scale(total, row, weight):
    for i in range(total.size):
        total[i] = row[i] * weight


@njit(cache=True, nogil=True)
def add(total, row, weight):
    for i in range(total.size):
        total[i] += row[i] * weight


@njit(cache=True, nogil=True)
def add_pair(total, left, right, weight):
    for i in range(total.size):
        total[i] += (left[i] + right[i]) * weight


@njit(cache=True, nogil=True)
def add_two_pairs(total, left, right, weight, left2, right2, weight2):
    """Two of :func:`add_pair`, for which the total is read and written only once."""
    for i in range(total.size):
        total[i] = (total[i] + (left[i] + right[i]) * weight) + (left2[i] + right2[i]) * weight2


@njit(cache=True, nogil=True)
def add_four(total, a, wa, b, wb, c, wc, d, wd):
    """Four of :func:`add`, for which the total is read and written only once."""
    for i in range(total.size):
        total[i] = (((total[i] + wa * a[i]) + wb * b[i]) + wc * c[i]) + wd * d[i]
