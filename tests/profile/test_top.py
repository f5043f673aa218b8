# SPDX-License-Identifier: MIT
"""What `overlock profile --live` shows: the last second, not all of it."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from overlock_tools.core.system.errors import Fail
from overlock_tools.profile import top
from overlock_tools.profile.kinds import FUTEX_LOCK_PI
from tests.profile.test_report import ADDRESS, MS, lock, made, report_of

OTHER = ADDRESS + 64


def busy(address: int, ms: int, **states: int) -> dict[str, Any]:
    split = {"holder": {state: ns * MS for state, ns in states.items()}}
    more: dict[str, Any] = {
        "address": address,
        "offset": address,
        "wait_ns": ms * MS,
        "waited": split,
    }
    more["op"] = FUTEX_LOCK_PI if address == OTHER else 0  # locks of one kind would be one row
    return lock(**more, wall=split)


BEFORE = [busy(ADDRESS, 100, running=40, preempted=60), busy(OTHER, 30, running=30)]
AFTER = [busy(ADDRESS, 101, running=41, preempted=60), busy(OTHER, 90, running=30, asleep=60)]


def shown(*locks: list[dict[str, Any]], rows: int = 8) -> str:
    before: dict[str, Any] = {}
    for number, one in enumerate(locks, 1):
        now = report_of(locks=one, ns=number * 100 * MS)
        found, before = top.since(now, before), now
    out = Console(file=StringIO(), width=160)
    out.print(top.screen(found, rows))
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


def test_the_first_second() -> None:
    lines = shown(BEFORE).splitlines()
    assert "1.30 wait for locks" in lines[0]
    assert f"mutex at {ADDRESS:#x}" in lines[2]
    assert "holder preempted 60 %, holder running 40 %" in lines[2]


def test_later_only_what_is_new_and_what_costs_now_is_first() -> None:
    lines = shown(BEFORE, AFTER).splitlines()
    assert "0.61 wait for locks" in lines[0]
    assert f"inheritance at {OTHER:#x}" in lines[2]
    assert lines[2].split()[:3] == ["0.60", "98", "%"]
    assert "holder asleep 100 %" in lines[2]
    assert f"mutex at {ADDRESS:#x}" in lines[3]
    assert "holder running 100 %" in lines[3]


def test_only_so_many_locks() -> None:
    assert f"{ADDRESS:#x}" not in shown(BEFORE, AFTER, rows=1)


def test_answers_as_they_come_and_the_last_counts() -> None:
    text = StringIO()
    seen = [made(locks=BEFORE), made(locks=AFTER, ns=200 * MS)]
    out = Console(file=text, force_terminal=True, width=160)
    assert top.watched(iter(seen), "server", 8, out) is seen[-1]
    assert "1.30 wait for locks" in text.getvalue()
    assert "0.61 wait for locks" in text.getvalue()


def test_no_answer() -> None:
    with pytest.raises(Fail, match="gave no answer"):
        top.watched(iter([]), "server", 8, Console(file=StringIO()))
