# SPDX-License-Identifier: MIT
"""BLAS libraries, which divide a product of matrices among threads that wait for each other."""

from typing import ClassVar

from overlock_tools.apps import app
from overlock_tools.apps.asked import Asked


class Blas(Asked):
    script = "dgemm.c"
    unit = "products"
    programs: ClassVar[tuple[str, ...]]
    presets: ClassVar[dict[str, str]] = {"size": "384"}
    library: ClassVar[str]
    variable: ClassVar[str]  # the number of threads

    def set_up(self) -> None:
        self.program = str(app.compiled(self.source, ("-ldl", "-lm")))

    def command(self, threads: int) -> list[str]:
        return [self.program, app.program(self.library), str(self.number("size"))]

    def variables(self, threads: int) -> dict[str, str]:
        return {self.variable: str(threads)}


class Blis(Blas):
    name = "blis"
    what = "BLIS multiplies matrices with N POSIX threads"
    reach = "none: its threads wait at barriers of its own"
    packages = ("gcc", "libblis4-pthread")
    library = "blis-pthread/libblis.so.4"
    programs = ("gcc", library)
    variable = "BLIS_NUM_THREADS"


class BlisOpenMp(Blas):
    name = "blis-openmp"
    what = "BLIS multiplies matrices with N OpenMP threads"
    reach = "none: its threads wait at barriers of its own, and at libgomp's"
    packages = ("gcc", "libblis4-openmp")
    library = "blis-openmp/libblis.so.4"
    programs = ("gcc", library)
    variable = "BLIS_NUM_THREADS"
    free = ("OMP_WAIT_POLICY=passive",)


class OpenBlas(Blas):
    name = "openblas"
    what = "OpenBLAS multiplies matrices with N POSIX threads"
    reach = "none: its threads wait for flags, and call sched_yield()"
    packages = ("gcc", "libopenblas0-pthread")
    library = "openblas-pthread/libopenblas.so.0"
    programs = ("gcc", library)
    variable = "OPENBLAS_NUM_THREADS"
    free = ("OPENBLAS_THREAD_TIMEOUT=4",)


class OpenBlasOpenMp(Blas):
    name = "openblas-openmp"
    what = "OpenBLAS multiplies matrices with N OpenMP threads"
    reach = "none: its threads wait for flags, and at libgomp's barriers"
    packages = ("gcc", "libopenblas0-openmp")
    library = "openblas-openmp/libopenblas.so.0"
    programs = ("gcc", library)
    variable = "OMP_NUM_THREADS"
    free = ("OMP_WAIT_POLICY=passive",)


LIBRARIES = (Blis, BlisOpenMp, OpenBlas, OpenBlasOpenMp)
