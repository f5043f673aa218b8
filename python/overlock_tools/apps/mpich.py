# SPDX-License-Identifier: MIT
"""MPICH's ranks, which poll for each other's messages; N is the number of processes."""

from overlock_tools.apps.models import NUMPY, InPython


class Reduction(InPython):
    name = "mpich"
    what = "MPICH's processes, N of them, reduce a small vector (Allreduce)"
    script = "ring.py"
    unit = "reductions"
    reach = "none: its processes poll"
    wheels = ("mpich==5.0.2", "mpi4py==4.1.2", NUMPY)
    free = ("MPIR_CVAR_POLLS_BEFORE_YIELD=1",)

    def command(self, threads: int) -> list[str]:
        mpiexec = self.python().with_name("mpiexec")
        return [str(mpiexec), "-n", str(threads), str(self.python()), str(self.source)]
