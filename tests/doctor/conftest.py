# SPDX-License-Identifier: MIT
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import openmp
from overlock_tools.core.system.errors import Fail
from overlock_tools.doctor import Report
from tests.doctor.recorded import NAMES, Machine, machine


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Machine, Report]]:
    """Every recorded machine, and what doctor reports of it."""
    folder = tmp_path_factory.mktemp("machines")
    made = {name: machine(name, folder) for name in NAMES}
    return {name: (one, one.report()) for name, one in made.items()}


@pytest.fixture(scope="session")
def spin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of N threads that only spin; its first thread sleeps."""
    program = tmp_path_factory.mktemp("spin") / "spin"
    source = Path(__file__).with_name("spin.c")
    subprocess.run(["cc", "-O1", "-pthread", "-o", program, source], check=True)
    return program


@pytest.fixture(scope="session")
def waiting_team(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A program whose OpenMP threads only wait for each other, by runtime."""
    try:
        return openmp.build(tmp_path_factory.mktemp("openmp"))
    except Fail as error:
        pytest.skip(error.message)


@contextmanager
def running(*command: str | Path) -> Iterator[int]:
    """The program's process id, from when it has said that it is ready until it is gone."""
    child = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
        yield child.pid
    finally:
        child.kill()
        child.wait()
        if child.stdout:
            child.stdout.close()
