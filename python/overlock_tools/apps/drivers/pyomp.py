# SPDX-License-Identifier: MIT
"""pyomp.py KERNEL ITEMS THREADS

Kernels as users of Numba write them with PyOMP: threads update what they share in a critical
section. Prints `ready` once it is compiled, reads for how many seconds to repeat it, and prints how
many items that were, the seconds, and `right` if one thread computes the same without a section.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.openmp import njit, omp_set_num_threads
from numba.openmp import openmp_context as openmp

CENTRES, CLASSES = 8, 64
Numbers = np.ndarray[Any, np.dtype[Any]]
Kernel = Callable[[Numbers, Numbers], None]


@njit
def drawn(i: Any) -> Any:
    i = (i ^ (i >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    i = (i ^ (i >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return i ^ (i >> np.uint64(31))


@njit
def class_of(x: Any) -> Any:
    for _ in range(8):
        x = drawn(x)
    return x >> np.uint64(58)


@njit
def histogram(points: Numbers, sums: Numbers) -> None:
    """Items are counted by class."""
    with openmp("parallel for"):
        for i in range(len(points)):
            c = class_of(points[i])
            with openmp("critical"):
                sums[c, 0] += 1


@njit
def histogram_of_one(points: Numbers, sums: Numbers) -> None:
    for i in range(len(points)):
        sums[class_of(points[i]), 0] += 1


@njit
def nearest(x: Any, y: Any) -> int:
    best, at = 1 << 62, 0
    for c in range(CENTRES):
        dx, dy = x - 8192 * c, y - 57344 + 8192 * c
        if dx * dx + dy * dy < best:
            best, at = dx * dx + dy * dy, c
    return at


@njit
def kmeans(points: Numbers, sums: Numbers) -> None:
    """A step of k-means: each point is added to the nearest centre's sums."""
    with openmp("parallel for"):
        for i in range(len(points)):
            x, y = np.int64(points[i] & np.uint64(0xFFFF)), np.int64(points[i] >> np.uint64(48))
            c = nearest(x, y)
            with openmp("critical"):
                sums[c, 0] += 1
                sums[c, 1] += x
                sums[c, 2] += y


@njit
def kmeans_of_one(points: Numbers, sums: Numbers) -> None:
    for i in range(len(points)):
        x, y = np.int64(points[i] & np.uint64(0xFFFF)), np.int64(points[i] >> np.uint64(48))
        c = nearest(x, y)
        sums[c, 0] += 1
        sums[c, 1] += x
        sums[c, 2] += y


KERNELS: dict[str, tuple[Kernel, Kernel]] = {
    "histogram": (histogram, histogram_of_one),
    "kmeans": (kmeans, kmeans_of_one),
}


def main() -> None:
    name, items, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    kernel, of_one = KERNELS[name]
    if "OMP_NUM_THREADS" not in os.environ:
        omp_set_num_threads(threads)
    points = drawn_points(items)
    sums, expected = np.zeros((CLASSES, 3), np.int64), np.zeros((CLASSES, 3), np.int64)
    of_one(points, expected)
    kernel(points[:threads], sums.copy())  # compiles it
    print("ready", flush=True)
    seconds, done, began = float(sys.stdin.readline()), 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        kernel(points, sums)
        done += 1
    took = time.perf_counter() - began
    print(done * items, took, "right" if (sums == done * expected).all() else "wrong")


def drawn_points(items: int) -> Numbers:
    return np.random.default_rng(1).integers(0, 1 << 64, items, np.uint64)


if __name__ == "__main__":
    main()
