# SPDX-License-Identifier: MIT
"""A loop that ends by itself after some turns is not taken to wait until something changes."""

from pathlib import Path
from typing import Any

import pytest

from overlock_tools.bench import header_locks
from overlock_tools.check import foreign
from overlock_tools.cli.commands.new import scaffold
from tests.check import checking
from tests.mutant import changed

HERE = Path(__file__).parent
LOST, HOLDS = "lost wake-up", "holds"
EVERY_TURN = "--turns=all"


def check(
    folder: Path, lock: str, turns: int, asked: str, *options: str, faulty: bool = False
) -> dict[str, Any]:
    flags = f"-DLOCK={lock} -DTURNS={turns} -DPAUSE=" + (" -DFAULT" if faulty else "")
    compiled = foreign.compile_file(HERE / "loops.c", folder, None, flags)
    return checking.check(compiled, asked, "--budget=spurious=0", *options)


def check_hidden(folder: Path, lock: str, asked: str, *options: str, faulty: bool = False) -> Any:
    flags = f"-DLOCK={lock}" + (" -DFAULT" if faulty else "")
    made = foreign.make(HERE / "hidden.c", folder, None, flags)
    return checking.check(made.object, asked, *options), made.hidden


def verdict(result: dict[str, Any]) -> str:
    if result["failure"]:
        return str(result["failure"]["property"])
    return HOLDS if result["exhausted"] else "open"


@pytest.mark.parametrize("turns", range(1, 17))
@pytest.mark.parametrize("pause", ["", "__builtin_ia32_pause()"])
def test_sleeper_on_an_old_value_is_found_however_long_it_turns(
    tmp_path: Path, turns: int, pause: str
) -> None:
    flags = f"-DLOCK=old_look -DTURNS={turns} -DPAUSE={pause} -DFAULT"
    compiled = foreign.compile_file(HERE / "loops.c", tmp_path, None, flags)
    assert verdict(checking.check(compiled, "count 4x1 dduu")) == LOST


@pytest.mark.parametrize("turns", [1, 2, 100, 900])
@pytest.mark.parametrize("lock", ["spin_then_park", "nested", "last_look"])
@pytest.mark.parametrize("model", checking.MODELS)
def test_lost_wakeup_behind_a_loop_is_found(
    tmp_path: Path, lock: str, turns: int, model: str
) -> None:
    """Also where only the loop's last turn sees what is wrong."""
    result = check(tmp_path, lock, turns, f"lock 2x1 {model}", faulty=True)
    assert verdict(result) == LOST


@pytest.mark.parametrize("lock", ["spin_then_park", "nested", "last_look", "adaptive"])
@pytest.mark.parametrize("turns", [1, 2, 3, 100])
def test_right_lock_holds(tmp_path: Path, lock: str, turns: int) -> None:
    assert verdict(check(tmp_path, lock, turns, "lock 2x1")) == HOLDS


def test_turns_that_were_not_explored_are_told(tmp_path: Path) -> None:
    result = check(tmp_path, "spin_then_park", 100, "lock 2x1")
    (loop,) = result["loops"]
    text = (HERE / "loops.c").read_text().splitlines()
    assert "compare_exchange" in text[loop["line"] - 1]
    assert (loop["file"], loop["turns"]) == ("loops.c", 1)


@pytest.mark.parametrize("lock", ["spin_then_park", "nested", "last_look", "adaptive"])
def test_every_turn_can_be_explored(tmp_path: Path, lock: str) -> None:
    result = check(tmp_path, lock, 4, "lock 2x1", EVERY_TURN)
    assert verdict(result) == HOLDS
    assert "loops" not in result
    assert result["executions"] > check(tmp_path, lock, 4, "lock 2x1")["executions"]


@pytest.mark.parametrize(
    ("lock", "size"), [("exchange", "2x2"), ("plain", "2x2"), ("backoff", "2x1")]
)
@pytest.mark.parametrize("model", checking.MODELS)
def test_loop_without_end_waits(tmp_path: Path, lock: str, size: str, model: str) -> None:
    """All of it is explored: its state repeats."""
    result = check(tmp_path, lock, 1, f"lock {size} {model}", EVERY_TURN)
    assert verdict(result) == HOLDS
    assert "loops" not in result


def test_loop_whose_state_never_repeats_is_taken_to_be_without_end(tmp_path: Path) -> None:
    """And the result says so."""
    result = check(tmp_path, "statistic", 1, "lock 2x1")
    assert verdict(result) == HOLDS
    assert max(loop["turns"] for loop in result["loops"]) == 1_000_000


def test_waiter_without_end_spins_for_ever_if_its_holder_stops(tmp_path: Path) -> None:
    notes = check(tmp_path, "exchange", 1, "holder 2x1")["notes"]
    assert notes["stuck"] == notes["spin"] == 1


@pytest.mark.parametrize("lock", ["assembler", "function", "threads"])
def test_loop_that_ends_by_what_it_counts_unseen_is_followed(tmp_path: Path, lock: str) -> None:
    """The context's registers, its stack and what it announces repeat."""
    result, _ = check_hidden(tmp_path, lock, "lock 2x1", faulty=True)
    assert verdict(result) == "exclusion"


@pytest.mark.parametrize(
    ("lock", "asked"),
    [("assembler", "lock 2x1"), ("function", "lock 2x1"), ("threads", "holder 2x1")],
)
def test_loop_that_counts_unseen_is_not_taken_to_repeat(
    tmp_path: Path, lock: str, asked: str
) -> None:
    result, hidden = check_hidden(tmp_path, lock, asked)
    assert verdict(result) == HOLDS
    assert max(loop["turns"] for loop in result["loops"]) == 1_000_000
    text = (HERE / "hidden.c").read_text().splitlines()
    places = [n for n, line in enumerate(text, 1) if line.startswith("\t\tIN_ASSEMBLER(")]
    named = {
        "assembler": [f"assembler at hidden.c:{n}" for n in places],
        "function": ["memory of count_unseen()"],
    }
    assert list(hidden) == named.get(lock, [])


@pytest.mark.parametrize("asked", ["lock 2x2 sc", "lock 2x1 tso", "lock 2x1 c11"])
def test_thread_local_variables_are_each_contexts_own(tmp_path: Path, asked: str) -> None:
    """Also where others use them, as those in a queue do; and they are new in each execution."""
    result, hidden = check_hidden(tmp_path, "queue", asked)
    assert verdict(result) == HOLDS
    assert not hidden
    assert "loops" not in result


@pytest.mark.parametrize("polls", [3, 100, 1000])
def test_header_that_counts_its_polls_is_refused(tmp_path: Path, polls: int) -> None:
    text = scaffold("mine")
    assert verdict(_header(tmp_path, text)) == HOLDS
    counting = changed(
        text,
        ("\tol_count(OL_SLOW_PATH);", "\tunsigned polls = 0;\n\n\tol_count(OL_SLOW_PATH);"),
        (
            "\t\tol_relax_until(until);",
            f"\t\tif (++polls == {polls})\n\t\t\tol_fence();\n\t\tol_relax_until(until);",
        ),
    )
    result = _header(tmp_path, counting)
    assert verdict(result) == "misuse of the platform layer"
    line = 1 + counting.splitlines().index("\t\t\tol_fence();")
    assert f"mine.h:{line}" in result["failure"]["how"]


def _header(folder: Path, text: str) -> dict[str, Any]:
    header = folder / "mine.h"
    header.write_text(text)
    return checking.check(header_locks.compile_subject(header, folder), "lock 2x1")


@pytest.mark.parametrize("lock", checking.ids("locks"))
def test_no_lock_counts_its_polls(lock: str) -> None:
    result = checking.last_word("--lock", lock, *checking.of("lock 2x1"), "--polls")
    assert verdict(result) in (HOLDS, "open")
