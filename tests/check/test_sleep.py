# SPDX-License-Identifier: MIT
"""Waiters that sleep until the release (run/sleepers.h), explored by the model checker under
locks of each kind: exclusion, no wake-up is lost, and nobody spins for ever for a holder that has
lost its CPU for good."""

from pathlib import Path
from typing import Any

import pytest

from overlock_tools.bench import header_locks
from overlock_tools.core.model import defs
from tests.check import checking
from tests.check.checking import failure
from tests.conftest import TOP
from tests.mutant import changed

SLEEPERS = TOP / "run/sleepers.h"
TRAITS = "OL_FIFO", "OL_LATE_FIFO", "OL_NEEDS_NODES"  # those that sleepers.h asks for

# Polling, yielding, FIFO by a word, FIFO by nodes, out of turn, and waiting in two places.
KINDS = ["tas", "tas_yield", "ticket", "mcs", "clh", "preemptable_ticket", "qspin", "twa"]


def header(lock: str, folder: Path, sleepers: Path = SLEEPERS, looks: bool = False) -> Path:
    """`lock`, made to sleep."""
    has = defs.load().lock(lock).traits
    traits = [t for t in TRAITS if t.removeprefix("OL_").lower() in has]
    out = folder / f"sleeping_{lock}.h"
    out.write_text(
        f"#define SLEEPING {lock}\n"
        f"#define SLEEPING_HEADER <overlock/lock/{lock}.h>\n"
        f"#define SLEEPING_TRAITS {' | '.join(traits) or '0'}\n"
        f"#define SLEEPING_LOOKS {int(looks)}\n"
        f'#define SLEEPERS "{sleepers}"\n'
        f'#include "{TOP}/tests/check/sleep/sleeping.h"\n'
    )
    return out


def check(subject: Path, scenario: str, size: str, model: str) -> dict[str, Any]:
    compiled = header_locks.compile_subject(subject, subject.parent)
    return checking.check(compiled, f"{scenario} {size} {model}")


@pytest.mark.parametrize("lock", KINDS)
def test_nobody_spins_for_ever_behind_a_stopped_holder(tmp_path: Path, lock: str) -> None:
    result = check(header(lock, tmp_path), "holder", "2x2", "sc")
    assert (result["verdict"], result["exhausted"]) == ("holds", True), result
    assert result["notes"]["stuck"] > 0  # there was somebody to wait
    assert result["notes"]["spin"] == 0, result["notes"]


def test_without_sleeping_they_do(tmp_path: Path) -> None:
    """Found by the same question, asked of the lock itself."""
    subject = tmp_path / "ticket.h"
    subject.write_text((TOP / "include/overlock/lock/ticket.h").read_text())
    assert check(subject, "holder", "2x2", "sc")["notes"]["spin"] > 0


@pytest.mark.parametrize("model", ["sc", "tso", "c11"])
@pytest.mark.parametrize("lock", KINDS)
def test_no_wakeup_is_lost(tmp_path: Path, lock: str, model: str) -> None:
    result = check(header(lock, tmp_path), "lock", "2x1", model)
    assert (result["verdict"], result["exhausted"]) == ("holds", True), result


def test_a_release_that_looks_at_the_gate_first_may_miss_a_sleeper(tmp_path: Path) -> None:
    """Why all sleep is timed: sleep.c cannot look after the unlock, for the mutex may be gone."""
    result = check(header("ticket", tmp_path, looks=True), "lock", "2x1", "sc")
    assert failure(result) == "lost wake-up"


MUTANTS = {
    "nobody is kicked": ("return &w->state;", "return 0;", "2x1"),
    "unlocks outside the bucket": (
        "ops->unlock(lock); /* within the bucket, lest the one we woke sleeps again first */"
        "leave(b);",
        "leave(b); ops->unlock(lock);",
        "2x2",
    ),
    "woken in vain, tells nobody": ("} else if (w->relays) {", "} else if (false) {", "3x1"),
    "leaves itself in the list": ("remove_from(b, w);", "", "2x2"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(tmp_path: Path, name: str) -> None:
    right, wrong, size = MUTANTS[name]
    here = ('"wait.h"', f'"{TOP}/run/wait.h"')
    mutant = tmp_path / "sleepers.h"
    mutant.write_text(changed(SLEEPERS.read_text(), (right, wrong), here))
    assert failure(check(header("ticket", tmp_path, mutant), "lock", size, "sc")), name


@pytest.mark.parametrize("model", ["sc", "tso", "c11"])
def test_what_sleeps_in_turns_is_exhausted(model: str) -> None:
    """By its clock: what a release has stored is visible once that time has passed, also in C11."""
    result = checking.last_word(*checking.options(f"2x1 {model} lock prompt=0"), "--lock", "rota")
    assert not failure(result)
    assert result["exhausted"]
