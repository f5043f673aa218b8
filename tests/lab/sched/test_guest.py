# SPDX-License-Identifier: MIT
"""overlock-sched in a guest: QEMU counts its time, so a busy host changes nothing here."""

from itertools import groupby
from typing import Any

import pytest

from tests.lab.sched.conftest import Run

SLICE_S = 0.003
SHARES = "overlock-sched-load shares"
# Six threads that compute on two CPUs, and two that wake each ms: others want nearly every slice.
BUSY = f"{SHARES} 0.6 {'honest ' * 6} wakes wakes"


def by_role(said: dict[str, Any]) -> dict[str, float]:
    """The mean of each role's CPU times."""
    rows = sorted((row["role"], row["cpu_s"]) for row in said["shares"])
    roles = {role: [s for _, s in of] for role, of in groupby(rows, key=lambda row: row[0])}
    return {role: sum(times) / len(times) for role, times in roles.items()}


def test_slices_end_when_it_was_published(run: Run) -> None:
    _, counted = run(f"under sched {BUSY}")
    assert counted["taken"] > 200
    assert counted["within"] >= 0.99 * (counted["taken"] + counted["broken"])
    assert counted["slept"] > 200  # nobody who woke ended another's slice


def test_without_the_timer_ticks_end_slices(run: Run) -> None:
    _, counted = run(f"under 'sched --no-keep' {BUSY}")
    assert counted["taken"] > 50
    assert counted["within"] < 0.5 * counted["taken"]


def test_who_always_defers_gains_nothing(run: Run) -> None:
    said, counted = run(f"under sched {SHARES} 1 defers honest honest honest")
    cpu_s = by_role(said)
    assert counted["deferred"] > 50
    assert counted["overdue"] == counted["deferred"]  # it never gave it back, and had to leave
    assert cpu_s["defers"] <= 1.01 * cpu_s["honest"]


def test_defer_has_a_switch(run: Run) -> None:
    _, counted = run(f"under 'sched --no-defer' {SHARES} 0.3 defers defers defers defers")
    assert counted["threads"] == 4
    assert counted["deferred"] == 0


def test_who_always_names_another_gains_nothing(run: Run) -> None:
    said, counted = run(f"under sched {SHARES} 1 names names honest honest honest honest")
    cpu_s = by_role(said)
    assert counted["led"] > 20
    # It may be two slices ahead of the first in the queue, and in one of its own.
    assert cpu_s["names"] <= cpu_s["honest"] + 3 * SLICE_S


def test_lead_has_a_switch(run: Run) -> None:
    _, counted = run(f"under 'sched --no-lead' {SHARES} 0.3 names names honest honest")
    assert counted["named"] == 0


def test_publish_has_a_switch(run: Run) -> None:
    _, counted = run(f"under 'sched --no-publish' {SHARES} 0.2 defers names honest honest")
    assert counted["programs"] == counted["deferred"] == counted["named"] == 0


COMPUTE = "honest honest honest honest honest honest wakes wakes"
KEPT, EEVDF = "overlock sched", "EEVDF"


def test_guests_are_told_the_ends_that_are_kept(run: Run) -> None:
    """overlock-hostd watches threads as if they were vCPUs, and compares."""
    told, _ = run(f"under sched told 1 0 {COMPUTE}")
    assert told["end_by"].startswith(KEPT)
    assert told["taken"] > 200
    assert told["error_ns"]["count"] == told["taken"]
    assert told["error_ns"]["p99"] <= 50_000
    assert told["broken"] <= 0.01 * told["taken"]


def test_guests_are_told_when_an_end_is_put_off_or_another_slice_follows(run: Run) -> None:
    told, counted = run("under 'sched --defer-us 1000' told 1 0 defers defers honest")
    assert counted["deferred"] > 100
    assert told["error_ns"]["p99"] <= 50_000
    alone, counted = run("under sched told 1 0 honest")
    assert counted["alone"] > 200
    assert alone["written"] > 200 + 2 * alone["slices"]


def test_guests_are_told_nothing_of_a_scheduler_that_does_not_publish(run: Run) -> None:
    told, _ = run(f"under 'sched --no-publish' told 0.5 0 {COMPUTE}")
    assert told["taken"] > 50
    assert told["error_ns"]["count"] == 0


def test_guests_are_told_of_the_kernels_scheduler_once_ours_has_ended(run: Run) -> None:
    told, _ = run(f"under sched told 0.2 1 {COMPUTE}")
    assert told["end_by"].startswith(EEVDF)
    assert told["error_ns"]["count"] > 50


def late(said: dict[str, Any]) -> list[float]:
    """CPU times of the threads that came late."""
    return [row["cpu_s"] for row in said["shares"] if row["late_ms"]]


def test_who_slept_does_not_catch_up(run: Run) -> None:
    """The first to wake finds a CPU idle; others come soon, and have slept as long."""
    said, _ = run(f"under sched {SHARES} 0.7 honest honest+400 {'honest+410 ' * 3}")
    assert max(late(said)) - min(late(said)) <= 0.010 + 3 * SLICE_S


def test_who_had_a_cpu_alone_does_not_pay_for_that_later(run: Run) -> None:
    said, _ = run(f"under sched {SHARES} 0.7 honest {'honest+400 ' * 4}")
    afterwards = said["shares"][0]["cpu_s"] - 0.4
    assert afterwards >= min(late(said)) - 3 * SLICE_S


def test_who_leads_others_leaves_a_neighbour_its_share(run: Run) -> None:
    """Up to two slices ahead, and one of its own."""
    said, counted = run("under sched hog owner_qspin 7 1")
    assert counted["led"] > 1000
    assert abs(said["cpu_s"] - said["fair_s"]) <= 3 * SLICE_S


def test_weights_are_those_of_nice(run: Run) -> None:
    """A thread at nice 5 has 335/1024 of the time of one at 0."""
    said, _ = run(f"under sched {SHARES} 1 {'honest light ' * 4}")
    cpu_s = by_role(said)
    assert cpu_s["light"] / cpu_s["honest"] == pytest.approx(335 / 1024, rel=0.2)


def test_who_yields_gives_away_as_much_as_its_slice(run: Run) -> None:
    """On average: of three yields two come back at once here, and the third lasts till a tick."""
    alone, beside, short = run("yields 0 0.05; yields 1 0.2; yields 1 0.1 100000")
    assert alone["at_once"] == 1
    assert alone["us_per_yield"] < 10
    for said, slice_us in ((beside, beside["slice_us"]), (short, 100)):
        assert said["slice_us"] == slice_us
        assert said["us_per_yield"] == pytest.approx(slice_us, rel=0.2)


def bench(lock: str) -> str:
    request = f"workload=sections variant={lock} threads=8 seconds=0.2"
    line = f"echo {request} | overlock-bench --lock-so ticket_told=/usr/lib/ticket_told.so"
    return f'sh -c "{line}"'


def test_a_lock_that_gives_its_cpu_to_whose_turn_it_is_does_not_collapse(run: Run) -> None:
    _, cell, counted = run(f"under sched {bench('ticket_told')}")
    _, alone, _ = run(f"under 'sched --no-publish' {bench('ticket_told')}")
    assert not cell["wrong"]
    assert counted["led"] > 50
    assert cell["acquisitions"] > 10 * alone["acquisitions"]


def test_a_lock_that_knows_its_slice_does_not_collapse(run: Run) -> None:
    _, cell, _ = run(f"under sched {bench('i_spin@csd=200000')}")
    _, alone, _ = run(f"under 'sched --no-publish' {bench('i_spin@csd=200000')}")
    assert cell["acquisitions"] > 10 * alone["acquisitions"]


def test_new_threads_soon_know_their_slices(run: Run) -> None:
    """The process that tells them goes before forty threads that have had no CPU yet."""
    joined, told, _ = run("under sched joins 8 40")
    assert joined["known"] == joined["joins"] == 8
    assert told["waited_s"] <= 2 * SLICE_S


def test_a_killed_loader_leaves_nothing_behind(run: Run) -> None:
    (said,) = run("kills 5")
    assert said["kills"] == 5
    assert said["stuck"] == said["complaints"] == 0


HELD = "RATE=1000000000 LENGTH=5000000-5000000 chaos"


def test_a_thread_that_chaos_stops_is_runnable(run: Run) -> None:
    """It has its CPU four times for each of 20 acquisitions, or it sleeps."""
    (napped,) = run(f"{HELD} nap 1 held 20")
    seen, counted = run(f"{HELD} sched 1 held 20")
    assert napped["runnable"] < napped["asleep"]
    assert seen["asleep"] < seen["runnable"]
    assert seen["cpu_ms"] < seen["wall_ms"] / 2
    assert counted["held"] >= 80


def test_there_is_one_at_a_time(run: Run) -> None:
    said = run(
        "under sched sh -c 'overlock-sched 2>&1 | grep -q \"end that one first\" && echo {}'"
    )
    assert said[0] == {}


def test_two_threads_of_a_switch_are_timed(run: Run) -> None:
    (said,) = run("overlock-sched-load switches 0.05")
    assert said["yield_ns"] > 0
    assert said["sleep_ns"] > 0
