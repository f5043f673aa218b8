# SPDX-License-Identifier: MIT
"""Condition variables (include/overlock/cond.h) in the model checker: no wake-up is lost, a waiter
that gives up takes none along, and the memory may be freed once the waits have returned. Each
mutant lacks one of these."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.check import checking
from tests.check.checking import check, failure
from tests.conftest import TOP
from tests.mutant import changed

HERE = Path(__file__).parent
HEADER = TOP / "include/overlock/cond.h"
TIMED = "-DTIMED"
FREES = "-DFREES"
# One deadline passes, when the adversary says so.
ONE_DEADLINE = ("--no-timeouts", "--budget=expiry=1")
WALK = ("--search=walk", "--seed=1", "--executions=20000")


def compiled(folder: Path, *flags: str, lock: str = "ttas", header: str | None = None) -> Path:
    mutant = None if header is None else (HEADER.name, header)
    return checking.compiled(HERE / "condition.cpp", folder, *flags, lock=lock, header=mutant)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("timed"), TIMED)


@pytest.mark.parametrize(
    "asked",
    [
        *("2x2 ws", "3x1 wwb", "3x1 wwB", "3x1 wws", "3x1 wwS"),
        *("2x1 ws tso", "2x1 wB tso", "2x1 ws c11", "2x1 wB c11"),
    ],
)
def test_no_wake_up_is_lost(plain: Path, asked: str) -> None:
    result = check(plain, f"wait {asked}")
    assert (failure(result), result["exhausted"]) == ("", True), result


@pytest.mark.parametrize("asked", ["2x1 ws", "2x1 wS tso", "2x1 wb c11"])
def test_no_wake_up_is_lost_on_one_cpu(plain: Path, asked: str) -> None:
    result = check(plain, f"wait {asked}", "--budget=lies=1")
    assert (failure(result), result["exhausted"]) == ("", True), result


@pytest.mark.parametrize("model", ["tso", "c11"])
@pytest.mark.parametrize("asked", ["3x1 wwB", "3x1 wwS", "4x1 wwwb", "4x2 wwsb"])
def test_none_is_lost_among_more(plain: Path, asked: str, model: str) -> None:
    assert not failure(check(plain, f"wait {asked} {model}", *WALK))


@pytest.mark.parametrize("model", ["sc", "tso", "c11"])
def test_none_is_lost_to_a_deadline(timed: Path, model: str) -> None:
    result = check(timed, f"wait 2x1 ws {model}", *ONE_DEADLINE)
    assert (failure(result), result["exhausted"]) == ("", True), result


@pytest.mark.parametrize("asked", ["3x1 wws", "3x1 wwb", "4x2 wwsb", "5x1 wwwbs"])
def test_none_is_lost_to_a_deadline_among_more(timed: Path, asked: str) -> None:
    assert not failure(check(timed, f"wait {asked}", *ONE_DEADLINE, *WALK))


@pytest.mark.parametrize(
    ("lock", "flags"), [("rota", ["-DBY_CLOCK=true"]), ("ticket", []), ("mcs", [])]
)
def test_other_locks(tmp_path: Path, lock: str, flags: list[str]) -> None:
    library = compiled(tmp_path, *flags, lock=lock)
    assert not failure(check(library, "wait 4x2 wwsb", *WALK))


@pytest.mark.parametrize("model", ["sc", "tso", "c11"])
def test_the_last_waiter_may_free_it(tmp_path: Path, model: str) -> None:
    result = check(compiled(tmp_path, FREES), f"frees 2x1 {model}")
    assert (failure(result), result["exhausted"]) == ("", True), result


@dataclass(frozen=True)
class Mutant:
    """A header with one text replaced, and how it is caught."""

    name: str
    right: str
    wrong: str
    asked: str
    caught_as: str
    flags: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


LOST = "lost wake-up"
GONE = "use after release"
WAKE = "\tol_pv_byte_unlock(&c->lock);\n\tol_cond_wake(first);\n\tol_cond_wake(second);\n"
WAKE_EARLY = "\tol_cond_wake(first);\n\tol_cond_wake(second);\n\tol_pv_byte_unlock(&c->lock);\n"
MANY = ("wait 4x1 wwwb", LOST, (), WALK)
PREPARE = "struct ol_node *node = ol_cond_prepare(c);"
RELEASE = "ol_##id##_unlock(l);"
MUTANTS = [
    Mutant("relays nothing", "if (ol_load_relaxed(&c->granted)) {", "if (false) {", *MANY),
    Mutant("forgets the second", "ol_cond_wake(second);", "", "wait 3x1 wwb", LOST),
    Mutant(
        "broadcasts to one",
        "ol_cond_grant(c, UINT32_MAX)",
        "ol_cond_grant(c, 1)",
        "wait 3x1 wwb",
        LOST,
    ),
    Mutant("wakes no sleeper", "ol_kick(&node->wait, OL_ANY, 1);", "", "wait 2x1 ws", LOST),
    Mutant(
        "queues too late",
        f"{PREPARE}\t\t\t\t\\\n\t\tuint32_t woken;\t\t\t\t\t\t\t\t\\\n\t\t{RELEASE}",
        f"uint32_t woken;\t\t\\\n\t\t{RELEASE}\t\t\\\n\t\t{PREPARE}",
        *("wait 2x1 ws", LOST),
    ),
    Mutant(
        "wakes before it is done",
        WAKE,
        WAKE_EARLY,
        *("frees 2x1", GONE, (FREES,)),
    ),
    Mutant(
        "leaves with a wake-up on its way",
        "until = OL_NEVER;",
        "break;",
        *("wait 3x1 wws", GONE, (TIMED,), (*ONE_DEADLINE, *WALK)),
    ),
    Mutant(
        "leaves its grant behind",
        "if (ahead < granted)",
        "if (false)",
        *("wait 4x1 wwwb", "wild access", (TIMED,), (*ONE_DEADLINE, *WALK)),
    ),
    Mutant(
        "stays in the queue",
        "if (ahead < waiting) ol_cond_take(c, before);",
        "",
        *("wait 3x1 wws", GONE, (TIMED,), (*ONE_DEADLINE, *WALK)),
    ),
    Mutant(
        "looks without the queue's lock",
        "ol_pv_byte_lock(&c->lock); granted =",
        "granted =",
        *("wait 4x1 wwSS", GONE, (TIMED,), (*ONE_DEADLINE, *WALK)),
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught(tmp_path: Path, mutant: Mutant) -> None:
    header = changed(HEADER.read_text(), (mutant.right, mutant.wrong))
    library = compiled(tmp_path, *mutant.flags, header=header)
    assert failure(check(library, mutant.asked, *mutant.more)) == mutant.caught_as
