# SPDX-License-Identifier: MIT
"""What a search cannot follow is said in words, with its line; it is no failure, and no proof."""

from pathlib import Path
from typing import Any

import pytest

from overlock_tools.check import foreign
from tests.check import checking

HERE = Path(__file__).parent
TEXT = (HERE / "stuck.c").read_text().splitlines()


def line_of(part: str) -> str:
    (found,) = [n for n, line in enumerate(TEXT, 1) if part in line]
    return f"stuck.c:{found}"


def check(folder: Path, lock: str, asked: str) -> dict[str, Any]:
    compiled = foreign.compile_file(HERE / "stuck.c", folder, None, f"-DLOCK={lock}")
    return checking.check(compiled, asked, "--executions=5", "--seconds=5")


def left_open(result: dict[str, Any]) -> str:
    assert result["failure"] is None
    assert not result["exhausted"]
    (why,) = result["open"]
    return str(why)


def test_loop_without_an_access(tmp_path: Path) -> None:
    why = left_open(check(tmp_path, "hoisted", "lock 2x1"))
    assert (
        why == f"T2 loops at {line_of('while (l->held)')} without an access that the checker sees"
    )


def test_stack_is_exhausted(tmp_path: Path) -> None:
    why = left_open(check(tmp_path, "recursive", "lock 2x1"))
    assert why.startswith("T2: stack of 64 KiB exhausted at stuck.c:")


@pytest.mark.parametrize(
    ("lock", "says"),
    [
        ("aborts", f"the lock called abort() at {line_of('abort();')}"),
        ("asserts", f"assertion !l->held failed at {line_of('assert(!')}"),
    ],
)
def test_abort_is_a_failure_with_its_trace(tmp_path: Path, lock: str, says: str) -> None:
    failure = check(tmp_path, lock, "lock 2x1")["failure"]
    assert (failure["property"], failure["how"]) == ("abort", says)
    assert failure["events"][-1]["mark"] == f"FAILURE: abort: {says}"


@pytest.mark.parametrize("lock", ["statistic", "backoff"])
def test_loop_that_changes_memory_is_not_called_a_livelock(tmp_path: Path, lock: str) -> None:
    why = left_open(check(tmp_path, lock, "holder 2x1"))
    assert why.startswith("no end of T2's loop at stuck.c:")
    assert why.endswith(" within 4000 steps: its turns change memory")


def test_sleep_that_ends_at_once_spins_for_ever(tmp_path: Path) -> None:
    result = check(tmp_path, "busy", "holder 2x1")
    assert result["failure"] is None
    assert result["notes"]["spin"]
