# SPDX-License-Identifier: MIT
"""Short parallel loops, on the runtimes that divide them among threads."""

from typing import ClassVar

from overlock_tools.apps import app
from overlock_tools.apps.asked import Asked
from overlock_tools.apps.openmp import OPTIONS as ON_LIBOMP

PASSIVE = "OMP_WAIT_POLICY=passive"


class Stencil(Asked):
    script = "stencil.c"
    unit = "spreads"
    reach = "none: they wait at barriers"
    presets: ClassVar[dict[str, str]] = {"side": "128", "sweeps": "100"}
    options: ClassVar[tuple[str, ...]] = ("-fopenmp",)

    def set_up(self) -> None:
        self.program = str(app.compiled(self.source, self.options))

    def command(self, threads: int) -> list[str]:
        numbers = (self.number("side"), self.number("sweeps"), threads)
        return [self.program, *map(str, numbers)]


class OnGnu(Stencil):
    name = "stencil-gnu"
    what = "heat spreads over a grid, with N OpenMP threads of libgomp"
    packages = ("gcc",)
    programs = ("gcc",)
    free: ClassVar[tuple[str, ...]] = (PASSIVE, "GOMP_SPINCOUNT=0")


class OnGnuActive(OnGnu):
    name = "stencil-active"
    what = "the same with OMP_WAIT_POLICY=active, which programs are told to set"
    free = (PASSIVE,)

    def variables(self, threads: int) -> dict[str, str]:
        return {"OMP_WAIT_POLICY": "active"}


class OnLlvm(Stencil):
    name = "stencil-llvm"
    what = "heat spreads over a grid, with N OpenMP threads of LLVM's runtime"
    packages = ("gcc", "libomp5")
    programs = ("gcc", "libomp.so.5")
    free = (PASSIVE, "KMP_BLOCKTIME=0")
    options = ON_LIBOMP


class Tbb(Asked):
    name = "tbb"
    what = "oneTBB sums in many small loops, with N threads"
    script = "tbb.cpp"
    unit = "sums"
    reach = "none: its workers wait for tasks"
    packages = ("g++", "libtbb-dev")
    programs = ("g++", "tbb/global_control.h")
    presets: ClassVar[dict[str, str]] = {"items": "2000"}

    def set_up(self) -> None:
        self.program = str(app.compiled(self.source, ("-ltbb",)))

    def command(self, threads: int) -> list[str]:
        return [self.program, str(self.number("items")), str(threads)]


PROGRAMS = (OnGnu, OnGnuActive, OnLlvm, Tbb)
