# SPDX-License-Identifier: MIT
"""Runs scenarios around processes that spin, and looks at them from outside."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TOP
from tests.processes import HANG_S, children, read

STAND_IN = [sys.executable, "-m", "tests.bench.conditions.stand_in"]

Proofs = dict[str, dict[str, Any]]


def hogs_of(pid: int) -> list[int]:
    return [child for child in children(pid) if read(f"/proc/{child}/comm") == "overlock-hog\n"]


def groups() -> set[Path]:
    """All cgroups of ours, wherever."""
    return {
        Path(folder, name)
        for folder, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
        if re.fullmatch(r"overlock-\d+-\d+", name)
    }


class Running:
    """A stand-in whose scenarios are in force."""

    def __init__(self, *args: str, user: tuple[str, ...] = ()) -> None:
        self.groups_before = groups()
        self.process = subprocess.Popen(
            [*user, *STAND_IN, *args],
            cwd=TOP,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.pid = self.process.pid
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.measured: int | None = json.loads(line)["pid"] if line else None

    def ended(self) -> tuple[str, str]:
        """What it then says."""
        return self.process.communicate(timeout=HANG_S)

    def groups(self) -> set[Path]:
        return groups() - self.groups_before


Start = Callable[..., Running]


@pytest.fixture
def start() -> Iterator[Start]:
    begun: list[Running] = []

    def run(*args: str, user: tuple[str, ...] = ()) -> Running:
        begun.append(Running(*args, user=user))
        return begun[-1]

    yield run
    for one in begun:
        one.process.kill()
        one.process.communicate()


@pytest.fixture
def proofs(start: Start) -> Callable[..., Proofs]:
    def run(*args: str) -> Proofs:
        out, err = start(*args).ended()
        assert err == ""
        found: Proofs = json.loads(out)
        return found

    return run
