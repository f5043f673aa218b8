# SPDX-License-Identifier: MIT
"""Nothing in a wait or a release allocates, waits for a terminal, or is a cancellation point.

Nor in the child of a fork, before the program's own handlers. tests/lib/paths looks at all
ways there.
"""

import os
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.run.conftest import Compile, environment, output, run
from tests.run.terminals import MODES, PAUSED, TAKES, on

FLAVOURS = ("", "-counted", "-checked")
SOON = {"OVERLOCK_LONGEST_SPIN_NS": "100000", "OVERLOCK_QUIET": "1"}  # so that waiters sleep
NOTE = "is a FIFO lock, and this program has"


def more(flavour: str, folder: Path) -> dict[str, str]:
    """With records that others may read, stacks, and findings, as far as there are any."""
    if not flavour:
        return SOON
    asked = {"OVERLOCK_LIVE": str(folder), "OVERLOCK_STACKS": "wait", "OVERLOCK_KNOWLEDGE": "all"}
    if flavour == "-checked":
        asked |= {"OVERLOCK_CHECK": "1", "OVERLOCK_DEADLOCK_NS": "100000000"}
    return SOON | asked


def in_waits(lock: str, flavour: str, folder: Path) -> dict[str, str]:
    library = native.file(f"liboverlock-run{flavour}.so")
    return environment(lock, library, **more(flavour, folder))


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("lock", ["ticket", "rota", "owner_qspin", "partitioned_ticket"])
def test_the_allocator_is_left_alone_and_nobody_is_cancelled(
    program: Compile, tmp_path: Path, lock: str, flavour: str
) -> None:
    assert output([program("in_waits.c")], in_waits(lock, flavour, tmp_path)) == "fine\n"


def test_findings_in_a_file_leave_the_allocator_alone(program: Compile, tmp_path: Path) -> None:
    report = tmp_path / "report"
    env = in_waits("tas_yield", "-checked", tmp_path) | {"OVERLOCK_OUTPUT": str(report)}
    assert output([program("in_waits.c")], env) == "fine\n"
    assert "long_wait" in report.read_text()


@pytest.mark.parametrize("mode", MODES)
def test_a_note_waits_for_no_terminal(program: Compile, tmp_path: Path, mode: str) -> None:
    ended = on(mode, [str(program("in_waits.c"))], in_waits("ticket", "", tmp_path), tmp_path)
    assert (ended.status, ended.printed) == (0, "fine\n"), ended
    assert (NOTE in ended.said) == (mode == TAKES), ended


def test_a_note_is_said_at_the_end_by_a_terminal_that_was_paused(
    program: Compile, tmp_path: Path
) -> None:
    lingers = str(program("lingering.c"))
    env = in_waits("ticket", "", tmp_path)
    assert NOTE in on(PAUSED, [lingers], env, tmp_path, resumed_at="waited").said


@pytest.mark.parametrize("mode", MODES)
def test_a_finding_waits_for_no_terminal(program: Compile, tmp_path: Path, mode: str) -> None:
    """And is said, to the last line, once that takes it."""
    env = in_waits("tas_yield", "-checked", tmp_path)
    ended = on(mode, [str(program("in_waits.c"))], env, tmp_path, resumed_at="fine")
    assert (ended.status, ended.printed) == (0, "fine\n"), ended
    assert ended.said.startswith("overlock: long_wait: a wait longer than --deadlock-timeout")
    assert ended.said.endswith("waits for no mutex; it is running\r\n"), ended.said[-200:]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_forks_child_uses_no_allocator_before_its_handlers(
    program: Compile, tmp_path: Path, flavour: str
) -> None:
    """The folder of records is gone, which must not be said by stdio either."""
    folder = tmp_path / "records"
    folder.mkdir()
    command: list[str | Path] = [program("fork_handlers.c"), folder, tmp_path / "elsewhere", "3"]
    done = run(command, in_waits("tas_yield", flavour, folder))
    assert (done.returncode, done.stdout, done.stderr) == (0, "3 of 3\n", "")


@pytest.mark.parametrize(("locks", "files"), [(True, 21), (False, 1)])
def test_a_child_that_locks_nothing_leaves_no_file(
    program: Compile, tmp_path: Path, *, locks: bool, files: int
) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    command: list[str | Path] = [program("fork_handlers.c"), folder, folder, "20"]
    command += [] if locks else ["without"]
    assert output(command, in_waits("tas_yield", "-counted", folder)) == "20 of 20\n"
    assert len(os.listdir(folder)) == files
