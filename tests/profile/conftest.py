# SPDX-License-Identifier: MIT
"""Programs whose lock trouble is planted, and what overlock profile says of them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.command import schema
from tests.conftest import NATIVE
from tests.processes import HANG_S

PLANTED = Path(__file__).with_name("planted")
PROFILER = NATIVE / "overlock-profiler"
BTF = Path("/sys/kernel/btf/vmlinux")
SCHEMA = schema("profile")
REFUSED = 77  # by a program that may not do what it is for

Report = dict[str, Any]
Build = Callable[[str], Path]


def lacking() -> str:
    if not PROFILER.exists():
        return "overlock-profiler is not built here: bpftool, libbpf-dev or libdw-dev is not"
    if os.geteuid():
        return "BPF needs root"
    if not BTF.exists():
        return f"this kernel has no {BTF}"
    return ""


needs_bpf = pytest.mark.skipif(bool(lacking()), reason=lacking() or "-")


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("planted")

    def one(name: str) -> Path:
        program = folder / name
        if not program.exists():
            flags = ["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
            subprocess.run(["cc", *flags, PLANTED / f"{name}.c", "-o", program], check=True)
        return program

    return one


@dataclass
class Profiled:
    truth: Report  # what the program measured itself
    report: Report
    said: str

    @property
    def lock(self) -> Report:
        """The one at the address that the program gives."""
        address = self.truth["address"]
        return next(one for one in self.report["locks"] if one["address"] == address)


def command(file: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "overlock_tools", "profile", "--json", str(file), *options]


def profile_running(
    program: Path, folder: Path, *args: str, options: tuple[str, ...] = ()
) -> Profiled:
    """By its number. It waits for a line until it is watched."""
    file = folder / f"{program.name}.json"
    child = subprocess.Popen(
        [program, *args, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    words = command(file, *options, "--pid", str(child.pid))
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stderr
        before = ""
        while "watching" not in before:
            line = watching.stderr.readline()
            assert line, before
            before += line
        truth, _ = child.communicate("\n", timeout=HANG_S)
        said = watching.stderr.read()
    assert not watching.returncode, said
    report = json.loads(file.read_text())
    jsonschema.validate(report, SCHEMA)
    return Profiled(json.loads(truth), report, said)


def profile(program: Path, folder: Path, *args: str, options: tuple[str, ...] = ()) -> Profiled:
    file = folder / f"{program.name}.json"
    done = subprocess.run(
        [*command(file, *options), "--", str(program), *args],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    if done.returncode == REFUSED:
        pytest.skip(f"{program.name} is refused what it is for")
    assert not done.returncode, done.stderr
    report = json.loads(file.read_text())
    jsonschema.validate(report, SCHEMA)
    return Profiled(json.loads(done.stdout), report, done.stderr)
