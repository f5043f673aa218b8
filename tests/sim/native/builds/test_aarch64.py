# SPDX-License-Identifier: MIT
"""Simulator and model checker, cross-compiled for AArch64, answer under qemu-user as here.

So the engine's contexts are right there. It says nothing of that processor's memory order, which
both only model.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BUILD, TOP
from tests.sim.native.builds.test_same_bits import SCENARIOS

QEMU = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
# Without these: addresses are of the machine code, times of the machine.
EXPLORED = ("ended", "executions", "exhausted", "failure", "redundant", "steps", "verdict")
CHECKED = {
    "holds": ("--lock", "mcs", "--acquisitions", "1", "--model", "tso"),
    "holds under C11": ("--lock", "ticket", "--acquisitions", "1", "--model", "c11"),
    "with other events": ("--lock", "mcs_tp", "--acquisitions", "1", "--budget", "late=1"),
    "fails": ("--lock", "pv_ticket", "--acquisitions", "1", "--budget", "lost=1"),
}


@pytest.fixture(scope="module")
def there() -> Path:
    for tool in ("aarch64-linux-gnu-g++", QEMU[0]):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    root = BUILD / "aarch64-root"
    if not root.exists():
        made = [TOP / "tools/aarch64_root", root]
        done = subprocess.run(made, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(root, ignore_errors=True)
            pytest.skip(f"no packages for AArch64: {done.stderr.strip()[-200:]}")
    build = BUILD / "aarch64-engine"
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={TOP}/cmake/aarch64.cmake"
    configure = ["cmake", "-S", str(TOP), "-B", str(build), "-G", "Ninja", toolchain]
    targets = ["--target", "overlock-sim", "overlock-check"]
    env = os.environ | {"OVERLOCK_AARCH64_ROOT": str(root)}
    for command in (
        [*configure, "-DOVERLOCK_CHECKER=ON"],
        ["cmake", "--build", str(build), *targets],
    ):
        subprocess.run(command, check=True, capture_output=True, env=env)
    return build / "native"


def answer(command: list[str], told: str = "") -> tuple[int, str]:
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize("number", range(0, len(SCENARIOS), 5))
def test_the_simulator_gives_the_same_bytes(there: Path, number: int) -> None:
    told = SCENARIOS[number]
    here = answer([str(BUILD / "native/overlock-sim")], told)
    assert here[0] == 0
    assert answer([*QEMU, str(there / "overlock-sim")], told) == here


@pytest.mark.parametrize("name", CHECKED)
def test_the_checker_explores_the_same(there: Path, name: str) -> None:
    here = answer([str(BUILD / "native/overlock-check"), *CHECKED[name]])
    cross = answer([*QEMU, str(there / "overlock-check"), *CHECKED[name]])
    assert here[0] == cross[0] == (name == "fails")
    assert explored(cross[1]) == explored(here[1])


def explored(said: str) -> dict[str, Any]:
    found = json.loads(said.splitlines()[-1])["result"]
    return {name: found[name] for name in EXPLORED}
