# SPDX-License-Identifier: MIT
"""Numba's kernels with OpenMP: PyOMP compiles them while they run, for the LLVM runtime that it
brings. Numba's own threading layer `omp` takes no lock: it starts threads, which share nothing.
"""

import time
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps import app
from overlock_tools.apps.trial import READY_SECONDS, Trial
from overlock_tools.core.model.combine import Answer

SOURCE = app.SOURCES / "pyomp.py"


class Kernel(app.App):
    kernel: ClassVar[str]
    unit = "items"
    packages = ("python3-venv",)
    wheels = ("numba==0.67.0", "pyomp==0.6.0")
    programs = ("python3",)
    reach = "all: critical sections of libomp"
    overhead_seconds = 4.0  # Python's start, and compiling
    presets: ClassVar[dict[str, str]] = {"items": "20000"}

    def sources(self) -> list[Path]:
        return [SOURCE]

    def set_up(self) -> None:
        """It draws its items."""

    def cell(self, trial: Trial) -> Answer:
        kernel = [self.kernel, str(self.number("items")), str(trial.threads)]
        caches = {"NUMBA_CACHE_DIR": str(trial.folder)}
        process = trial.start([str(self.python()), str(SOURCE), *kernel], variables=caches)
        process.line(time.monotonic() + READY_SECONDS)
        trial.begin()
        process.say(str(trial.seconds))
        limit = time.monotonic() + trial.seconds + trial.patience
        return trial.end(answered(process.line(limit)))


class Histogram(Kernel):
    name, kernel = "pyomp-histogram", "histogram"
    what = "Numba with PyOMP counts items by class in a critical section, with N OpenMP threads"


class KMeans(Kernel):
    name, kernel = "pyomp-kmeans", "kmeans"
    what = "Numba with PyOMP adds points to the nearest centre's sums in a critical section"


KERNELS = (Histogram, KMeans)


def answered(said: str) -> Answer:
    work, seconds, verdict = said.split()
    wrong = "" if verdict == "right" else "it computes something else than with one thread"
    return Answer(float(work), float(seconds), wrong=wrong)
