# SPDX-License-Identifier: MIT
"""ring.py, started by mpiexec: all ranks reduce a small vector again and again, as solvers do.

The first rank is asked, and tells the others whether to go on.
"""

import asked
import numpy as np
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
MINE = np.full(8, WORLD.rank + 1.0)
SUM = np.zeros(8)
RIGHT = WORLD.size * (WORLD.size + 1) / 2


def reduce() -> None:
    WORLD.Allreduce(MINE, SUM)


def unit() -> None:
    WORLD.bcast(True)
    SUM.fill(0)
    reduce()


def main() -> None:
    if WORLD.rank:
        while WORLD.bcast(None):
            reduce()
        return
    asked.serve(unit, lambda: "" if (SUM == RIGHT).all() else "the sum is another")
    WORLD.bcast(False)


main()
