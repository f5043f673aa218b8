# SPDX-License-Identifier: MIT
"""What real systems do: containers, replaced files, odd names, an exec, a first thread that ends.

The program is the same each time, and so is what must be said: the lock, and where it is taken.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TOP
from tests.processes import HANG_S
from tests.profile.conftest import Build, needs_bpf

pytestmark = needs_bpf

Report = dict[str, Any]
NAME = "left_lock"
SECTION = "slow_section"


def profiled(folder: Path, *command: str | Path) -> tuple[Report, str]:
    file = folder / "report.json"
    words = [sys.executable, "-m", "overlock_tools", "profile", "--json", file, "--", *command]
    done = subprocess.run(
        list(map(str, words)), cwd=folder, capture_output=True, timeout=HANG_S, check=False
    )
    said = done.stderr.decode(errors="replace")
    assert not done.returncode, said
    return json.loads(file.read_text()), said


def functions(found: Report) -> set[str]:
    return {call["function"] for stack in found["locks"][0]["stacks"] for call in stack["calls"]}


def check(found: Report, said: str) -> None:
    assert found["locks"][0]["name"] == NAME, said
    assert SECTION in functions(found), said
    assert not found["doubts"], said


@pytest.mark.parametrize("name", ["plain", "two\nlines", 'a "b\\n"'])
def test_the_first_thread_has_ended(build: Build, tmp_path: Path, name: str) -> None:
    """Its memory is seen by the others'; the file may have any name."""
    program = tmp_path / name
    shutil.copy(build("leaderless"), program)
    found, said = profiled(tmp_path, program)
    check(found, said)
    assert "Not watched" not in said


def in_other_root(program: Path) -> list[str]:
    """In a file system that only the program sees."""
    inside = "/mnt/program"
    script = f"mount -t tmpfs none /mnt && cp {shlex.quote(str(program))} {inside} && exec {inside}"
    return ["unshare", "--mount", "sh", "-c", script]


def by_exec(program: Path) -> list[str]:
    return ["sh", "-c", f"sleep 0.1; exec env {shlex.quote(str(program))}"]


@pytest.mark.parametrize("command", [in_other_root, by_exec])
def test_it_becomes_the_program(
    build: Build, tmp_path: Path, command: Callable[[Path], list[str]]
) -> None:
    words = command(build("leaderless"))
    if (
        words[0] == "unshare"
        and subprocess.run(["unshare", "--mount", "true"], check=False).returncode
    ):
        pytest.skip("mount namespaces are refused here")
    check(*profiled(tmp_path, *words))


@pytest.mark.parametrize("by", ["removed", "replaced"])
def test_another_file_has_its_name(build: Build, tmp_path: Path, by: str) -> None:
    """No names of the wrong file; and it says so."""
    program, other = tmp_path / "program", tmp_path / "other"
    shutil.copy(build("leaderless"), program)
    shutil.copy(build("long_section"), other)
    act = f"rm {program}" if by == "removed" else f"mv {other} {program}"
    script = tmp_path / "start"
    script.write_text(f"(sleep 0.2; {act}) & exec {program}\n")
    found, said = profiled(tmp_path, "sh", script)
    assert found["locks"][0]["wait_ns"] > 0
    assert not found["locks"][0]["name"]
    assert f"names in {os.path.realpath(program)}: that file was removed or replaced" in said


TIMES = 5  # a thread was lost in every other start, for want of memory in that instant


def test_threads_that_run_when_it_begins_are_all_watched(tmp_path: Path) -> None:
    program, file = tmp_path / "spin", tmp_path / "report.json"
    source = TOP / "tests/doctor/spin.c"
    subprocess.run(["cc", "-O1", "-pthread", "-o", program, source], check=True)
    with subprocess.Popen([program, "8"], stdout=subprocess.DEVNULL) as spins:
        words = ["profile", "--pid", str(spins.pid), "--seconds", "0.2", "--json", str(file)]
        try:
            for _ in range(TIMES):
                command = [sys.executable, "-m", "overlock_tools", *words]
                subprocess.run(command, capture_output=True, check=True, timeout=HANG_S)
                assert not json.loads(file.read_text())["lost"]["threads"]
        finally:
            spins.kill()


def test_processes_that_it_starts_are_counted(build: Build, tmp_path: Path) -> None:
    found, said = profiled(tmp_path, build("leaderless"), "fork")
    check(found, said)
    assert found["children"] == 1
    assert said.startswith("Not watched: a process that leaderless started")
