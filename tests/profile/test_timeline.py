# SPDX-License-Identifier: MIT
"""A timeline of a short story: two workers, a lock, an intruder."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from overlock_tools.profile import naming, timeline
from overlock_tools.profile.seen import Seen
from tests.profile.test_report import ADDRESS, lock, made
from tests.sim.command.test_timeline import SCHEMA, fault

ANN, BOB, INTRUDER = 11, 12, 13
US = 1000
OTHER = 0x6000
Entry = dict[str, Any]


def state(  # noqa: PLR0913 - a line of a story
    at: int, thread: int, does: str, waits: int = 0, *, call: str = "", taker: str = ""
) -> list[Any]:
    names = {ANN: "ann", BOB: "bob", INTRUDER: "intruder"}
    return ["state", at * US, thread, names[thread], does, waits, call, taker, bool(taker)]


def turn(at: int, role: str, thread: int, by: int, waiters: int) -> list[Any]:
    return ["lock", at * US, ADDRESS, role, thread, by, waiters]


# Ann has the lock and loses her CPU; Bob waits, is woken by her, waits for a CPU, and has the lock.
STORY = [
    state(0, ANN, "running"),
    state(0, BOB, "running"),
    turn(10, "holder", ANN, BOB, 1),
    state(10, BOB, "lock", ADDRESS, call="futex"),
    state(20, ANN, "preempted", taker="intruder"),
    state(20, INTRUDER, "running"),
    state(50, INTRUDER, "asleep", call="nanosleep"),
    state(50, ANN, "running"),
    turn(60, "next", 0, ANN, 1),
    turn(61, "next", BOB, ANN, 1),
    state(62, BOB, "preempted", ADDRESS, taker="ann"),
    state(70, ANN, "asleep", call="read"),
    state(70, BOB, "running", ADDRESS),
    turn(71, "holder", BOB, BOB, 0),
    turn(85, "unknown", 0, BOB, 0),
    state(90, BOB, "ended"),
    state(95, ANN, "running"),
    state(100, ANN, "ended"),
]


def told(changes: list[Any], **more: Any) -> list[Entry]:
    seen: Seen = made(changes=changes, **more)
    whole = json.loads(timeline.text(seen, naming.of(seen), "server"))
    Draft202012Validator(SCHEMA).validate(whole)
    found: list[Entry] = whole["traceEvents"]
    assert fault(found) == ""
    return found


def track(found: list[Entry], thread: int) -> list[tuple[float, float, str]]:
    return [(e["ts"], e["ts"] + e["dur"], e["name"]) for e in found if is_span(e, thread)]


def is_span(entry: Entry, thread: int) -> bool:
    return bool(entry["ph"] == "X" and entry["tid"] == thread)


def test_who_holds_it_and_what_it_is_waited_for() -> None:
    found = told(STORY)
    name = f"mutex at {ADDRESS:#x}"
    assert track(found, ANN) == [
        (0, 10, "running"),
        (10, 20, f"holds {name}"),
        (20, 50, f"holds {name}; preempted"),
        (50, 60, f"holds {name}"),
        (60, 70, "running"),
        (70, 95, "asleep"),
        (95, 100, "running"),
    ]
    assert track(found, BOB) == [
        (0, 10, "running"),
        (10, 70, f"waits for {name}"),
        (10, 20, "holder running"),
        (20, 50, "holder preempted"),
        (50, 60, "holder running"),
        (60, 61, "wake-up"),
        (61, 62, "wake-up"),
        (62, 70, "no CPU"),
        (70, 71, "running"),
        (71, 85, f"holds {name}"),
        (85, 90, "running"),
    ]


def test_who_took_the_cpu() -> None:
    causes = [e for e in told(STORY) if e.get("cat") == "cause" and e["name"] == "holder preempted"]
    assert [e["args"] for e in causes] == [{"of": f"ann {ANN}", "by": "intruder"}]


def test_an_arrow_leads_from_the_release_to_the_lock() -> None:
    arrows = [e for e in told(STORY) if e["ph"] in "sf"]
    assert [(e["ph"], e["tid"], e["ts"]) for e in arrows] == [("s", ANN, 59.999), ("f", BOB, 71)]


def test_a_release_that_served_nobody_has_none() -> None:
    """Ann took the lock again before Bob had a CPU: he goes to sleep at once."""
    ends = [
        turn(72, "holder", ANN, BOB, 1),
        state(72, BOB, "lock", ADDRESS),
        state(75, BOB, "ended"),
    ]
    before = [change for change in STORY if change[1] < 72 * US]
    assert not [e for e in told(before + ends) if e["ph"] in "sf"]


def test_who_released_it_had_it() -> None:
    """Of a lock that does not name its owner."""
    unknown = [turn(10, "unknown", 0, BOB, 1) if one == STORY[2] else one for one in STORY]
    assert track(told(unknown), BOB) == track(told(STORY), BOB)
    assert track(told(unknown), ANN) == track(told(STORY), ANN)


def test_what_is_no_lock_is_waited_for_on_purpose() -> None:
    condition = lock(address=OTHER, offset=OTHER, owners=0, value=7)
    changes = [
        state(0, ANN, "running"),
        state(5, ANN, "lock", OTHER),
        state(9, ANN, "running"),
        state(10, ANN, "ended"),
    ]
    found = track(told(changes, locks=[condition]), ANN)
    assert found[1] == (5, 9, f"waits on purpose: unknown futex at {OTHER:#x}")


@pytest.mark.parametrize(
    ("lost", "n", "said"),
    [
        (0, 3, ""),
        (7, 3, "the timeline lacks 7 of 10 changes, lost for want of space"),
        (7, timeline.MOST, "the timeline ends after 0.0 s: it keeps 300000 changes"),
    ],
)
def test_what_is_lacking_is_said(lost: int, n: int, said: str) -> None:
    seen = made(changes=[state(0, ANN, "running")] * n, lost={"changes": lost})
    assert timeline.lacks(seen) == said


def test_nothing_changed() -> None:
    assert [e["name"] for e in told([])] == ["process_name"]
