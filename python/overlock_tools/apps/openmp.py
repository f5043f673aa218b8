# SPDX-License-Identifier: MIT
"""Kernels of OpenMP programs on LLVM's runtime: what they share is behind libomp's locks.

gcc compiles them, and libomp serves gcc's calls too: it is much smaller than clang.
"""

from typing import ClassVar

from overlock_tools.apps import app
from overlock_tools.apps.trial import Trial
from overlock_tools.core.model.combine import Answer

PACKAGES = ("gcc", "libomp5")
# libgomp, which -fopenmp adds, is left out, as libomp has all that it would be needed for.
OPTIONS = ("-fopenmp", "-Wl,--as-needed", "-l:libomp.so.5")
DRIVER = app.Driver(app.SOURCES / "openmp.c", ("gcc",), OPTIONS)


def took(said: str) -> float | None:
    try:
        return float(said.split("\n", maxsplit=1)[0])
    except ValueError:
        return None


def wrong(said: str) -> str:
    """It does the work again with one thread, and compares."""
    right = said.endswith("\nright\n")
    return "" if right else "it computes something else than with one thread"


class Kernel(app.App):
    kernel: ClassVar[str]
    unit = "items"
    packages = PACKAGES
    programs = ("libomp.so.5",)
    driver = DRIVER
    reach = "all: critical sections and locks of libomp"
    presets: ClassVar[dict[str, str]] = {"items": "200000"}

    def set_up(self) -> None:
        self.program = DRIVER.built()
        self.items = self.number("items")

    def cell(self, trial: Trial) -> Answer:
        command = [self.program, self.kernel, str(self.items), str(trial.threads)]
        return trial.pieces(
            command,
            self.items,
            lambda outs: next(filter(None, (wrong(out.read_text()) for out in outs)), ""),
            lambda out: took(out.read_text(errors="replace")),
        )


class Histogram(Kernel):
    name, kernel = "omp-histogram", "histogram"
    what = "items are counted by class in a critical section, with N OpenMP threads"


class Worklist(Kernel):
    name, kernel = "omp-worklist", "worklist"
    what = "N OpenMP threads walk a tree by a list of work behind omp_set_lock()"


class Particles(Kernel):
    name, kernel = "omp-particles", "particles"
    what = (
        "N OpenMP threads add forces to cells, each with a lock, and energy in a critical section"
    )


class Components(Kernel):
    name, kernel = "omp-components", "components"
    what = "N OpenMP threads join sets of vertices behind a nested lock"


class MonteCarlo(Kernel):
    name, kernel = "omp-montecarlo", "montecarlo"
    what = "N OpenMP threads draw from one generator in a critical section"


class Ordered(Kernel):
    name, kernel = "omp-ordered", "ordered"
    what = "N OpenMP threads store results in the order of the loop (ordered)"
    reach = "none: libomp's ordered waits without a lock"
    control = True


KERNELS = (Histogram, Worklist, Particles, Components, MonteCarlo, Ordered)
