# SPDX-License-Identifier: MIT
"""Programs of both OpenMP runtimes, compiled once."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.run.conftest import CONFORMANCE

HERE = Path(__file__).resolve().parent
# LLVM's runtime (libomp), and GNU's (libgomp).
COMPILERS = {"llvm": "clang", "gnu": "gcc"}
RUNTIMES = [*COMPILERS]
Make = Callable[..., Path]


@pytest.fixture(scope="session")
def make(folder: Path) -> Make:
    """A program of that runtime."""
    made: dict[tuple[str, ...], Path] = {}

    def compile_it(source: str, runtime: str, *options: str) -> Path:
        key = (source, runtime, *options)
        if key not in made:
            (folder / f"{len(made)}").mkdir(exist_ok=True)
            out = folder / f"{len(made)}" / f"{Path(source).stem}-{runtime}"
            flags = ["-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fopenmp"]
            command = [COMPILERS[runtime], *flags, str(HERE / source), *options, "-o", str(out)]
            subprocess.run([*command, "-ldl", "-Wl,--as-needed", "-latomic"], check=True)
            made[key] = out
        return made[key]

    return compile_it


@pytest.fixture(scope="session")
def lock_cases(make: Make) -> dict[str, Path]:
    """The program of cases, by runtime."""
    options = (str(CONFORMANCE / "cases.c"), "-DFAMILIES=&openmp_locks", "-pthread")
    gnu = ("-DGNU",)
    return {
        runtime: make("locks.c", runtime, *options, *(gnu if runtime == "gnu" else ()))
        for runtime in RUNTIMES
    }
