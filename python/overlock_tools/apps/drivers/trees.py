# SPDX-License-Identifier: MIT
"""trees.py THREADS [narrowed]: LightGBM boosts trees, whose loops are many and short.

narrowed: the process loses all CPUs but one after libgomp has counted them, as a container manager
or taskset does to a process that runs.
"""

import os
import sys

import asked
import lightgbm
import numpy as np
from numpy.typing import NDArray

ROWS, COLUMNS = 20_000, 20
FIRST_ALIKE = 1e-6


def booster(threads: int, data: NDArray[np.float64], labels: NDArray[np.int64]) -> lightgbm.Booster:
    settings = {"objective": "binary", "verbose": -1, "num_threads": threads}
    settings |= {"deterministic": True, "force_row_wise": True}
    return lightgbm.Booster(settings, lightgbm.Dataset(data, labels))


def narrow() -> None:
    left = {min(os.sched_getaffinity(0))}
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), left)


def main() -> None:
    draw = np.random.default_rng(0)
    data = draw.normal(size=(ROWS, COLUMNS))
    labels = (data[:, 0] + draw.normal(size=ROWS) > 0).astype(int)
    alone = booster(1, data, labels)
    alone.update()
    right = alone.predict(data, num_iteration=1)
    team = booster(int(sys.argv[1]), data, labels)
    if sys.argv[2:]:
        narrow()

    def wrong() -> str:
        first = np.abs(team.predict(data, num_iteration=1, num_threads=1) - right).max()
        return "" if first < FIRST_ALIKE else f"its first tree differs by {first:.3g}"

    asked.serve(team.update, wrong)


main()
