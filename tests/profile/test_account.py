# SPDX-License-Identifier: MIT
"""All time that threads waited is accounted, in whatever order their steps come."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import TOP

STEPS = Path(__file__).with_name("steps.c")
Steps = list[tuple[int, int]]  # the time, and how many more wait from then on

IN_ORDER = [(1000, 1), (2000, 1), (3500, -1), (5000, -1)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("account") / "steps"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{TOP}/profile"]
    subprocess.run(["cc", *flags, STEPS, "-o", file], check=True)
    return file


def accounted(program: Path, steps: Steps) -> int:
    words = [f"{time}:{waiters}" for time, waiters in steps]
    return int(subprocess.run([program, *words], capture_output=True, check=True).stdout)


def waited(steps: Steps) -> int:
    """Summed over threads."""
    return -sum(time * waiters for time, waiters in steps)


@pytest.mark.parametrize(
    "late", [None, 0, 1, 2], ids=["none", "who comes first", "who comes", "who goes"]
)
def test_steps_that_come_late(program: Path, late: int | None) -> None:
    """Its CPU was away, the host's, between the look at the clock and the step."""
    steps = list(IN_ORDER)
    if late is not None:
        steps[late], steps[late + 1] = steps[late + 1], steps[late]
    rest = [(6000, 1), (9000, -1)]  # what is too much is taken from what follows
    assert accounted(program, steps + rest) == waited(steps + rest)


def test_it_is_never_less_than_nothing(program: Path) -> None:
    steps = [(1000, 1), (9000, 0), (2000, -1), (9500, 1), (9600, -1), (9700, 1), (20000, -1)]
    assert accounted(program, steps) == waited(steps)
