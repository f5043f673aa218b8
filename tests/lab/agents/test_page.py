# SPDX-License-Identifier: MIT
"""What a reader concludes from a slice page, and that readers which conclude more are found out."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.lab.agents.conftest import MADE, NO_END, OVER, Entry, Look, Page
from tests.processes import HANG_S

MS = 1_000_000
# The host's clock, and the guest's, which is ahead of it by this.
NOW, AHEAD = 5_000 * MS, 123_456_789


@pytest.fixture(scope="session")
def reader(look: Look) -> Path:
    return look()


def seen(program: Path, path: Path, *times: int, entry: int = 0) -> list[dict[str, Any]]:
    """What the entry means at these times of the guest."""
    done = subprocess.run(
        [program, "judge", path, str(entry)],
        input="".join(f"{time}\n" for time in times),
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def running(**changes: int) -> Entry:
    return Entry(
        **{
            "begin": NOW,
            "end": NOW + 3 * MS,
            "sure": NOW + 1 * MS,
            "published": NOW,
            **changes,
        }
    )


def page(tmp_path: Path, **changes: Any) -> Page:
    return Page(tmp_path / "page", **{"beat": NOW, **changes})


def test_an_entry_is_read_by_the_readers_own_clock(reader: Path, tmp_path: Path) -> None:
    path = page(tmp_path).write(running()).path
    first, later = seen(reader, path, NOW + AHEAD, NOW + AHEAD + MS)
    assert first["told"]
    assert (first["id"], first["end"], first["sure"]) == (7, NOW + 3 * MS, NOW + MS)
    assert first["offset"] == AHEAD
    assert later == first  # the second look at the same telling teaches nothing of the clock


def test_each_vcpu_has_its_own(reader: Path, tmp_path: Path) -> None:
    path = page(tmp_path).write(running(id=9), number=3).path
    assert seen(reader, path, NOW, entry=3)[0]["id"] == 9
    assert seen(reader, path, NOW, entry=0)[0]["id"] == 0
    assert not seen(reader, path, NOW, entry=4)[0]["whole"]


def test_the_places_of_later_hosts_are_believed(reader: Path, tmp_path: Path) -> None:
    """A host of this version may have more in the header, and in each entry."""
    wide = page(tmp_path, stride=128).write(running(id=8), number=2)  # entry 1, of 128 bytes
    assert seen(reader, wide.path, NOW, entry=1)[0]["id"] == 8
    moved = page(tmp_path, first=192).write(running(id=8), number=2)
    assert seen(reader, moved.path, NOW)[0]["id"] == 8


def test_who_is_off_its_cpu_has_no_end(reader: Path, tmp_path: Path) -> None:
    path = page(tmp_path).write(running(running=0)).path
    (found,) = seen(reader, path, NOW)
    assert (found["id"], found["end"], found["sure"]) == (7, 0, 0)


def test_no_end_in_sight_does_not_pass(reader: Path, tmp_path: Path) -> None:
    path = page(tmp_path).write(running(end=NO_END)).path
    assert seen(reader, path, NOW, NOW + 1000 * MS)[1]["end"] == NO_END


@pytest.mark.parametrize(
    "wrong",
    [
        {"magic": b"OVLKslcf"},
        {"version": 2},
        {"size": 8192},
        {"entries": 64},
        {"entries": 2**32 - 1},
        {"stride": 32},
        {"stride": 2**32 - 8, "entries": 2},
        {"stride": 68},
        {"first": 32},
        {"first": 4096, "entries": 1},
        {"first": 68},
    ],
    ids=str,
)
def test_what_is_no_page_of_ours_is_not_read(
    reader: Path, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    path = page(tmp_path, **wrong).write(running()).path
    assert seen(reader, path, NOW) == [{"opened": False}]


def test_entries_end_with_the_page(reader: Path, tmp_path: Path) -> None:
    last = page(tmp_path, entries=63).write(running(id=8), number=62)
    assert seen(reader, last.path, NOW, entry=62)[0]["id"] == 8


# What must not be believed: the page, and what is seen of it. Each has a mutant that believes it.

TORN = "if (!(seq & 1) && ol_load_relaxed(&there->seq) == seq)"
UNCOUNTED = "(int64_t)ol_load_relaxed(&map->page->lasting)"
LATE = "(int64_t)(host_now - e->end) > (int64_t)late"
STATE = "ol_load_acquire(&map->page->state) == OL_SLICE_PAGE_TOLD"
BOUND = "map->first + (uint64_t)map->stride * map->entries <= told"
WINDOW = "now - clock->began < OL_SLICE_WINDOW_NS ||"
TIMES = (NOW, NOW + 50 * MS, NOW + 3000 * MS)


# The page, the entry, at which of the times what is believed; the mutant that believes it.
MUTANTS: dict[str, tuple[dict[str, int], dict[str, int], int, str, tuple[str, str]]] = {
    "torn": ({}, {"seq": 3}, 0, "whole", (TORN, "if (ol_load_relaxed(&there->seq) == seq)")),
    # The host has not lived for 3 s.
    "killed": ({}, {}, 2, "told", (UNCOUNTED, "INT64_MAX")),
    "late": ({}, {}, 1, "end", (LATE, "late > INT64_MAX")),
    "over": ({"state": OVER}, {}, 0, "told", (STATE, "1")),
    "outside": ({"entries": 64}, {}, 0, "opened", (BOUND, "map->first <= told")),
}


def believed(program: Path, tmp_path: Path, what: str) -> bool:
    """Does the reader believe what stands there?"""
    head, entry, when, word, _ = MUTANTS[what]
    path = page(tmp_path, **head).write(running(**entry)).path
    return bool(seen(program, path, *TIMES[: when + 1])[when][word])


@pytest.mark.parametrize("what", MUTANTS)
def test_not_believed(reader: Path, tmp_path: Path, what: str) -> None:
    assert not believed(reader, tmp_path, what)


@pytest.mark.parametrize("what", MUTANTS)
def test_mutant_is_found_out(look: Look, tmp_path: Path, what: str) -> None:
    assert believed(look(*MUTANTS[what][-1]), tmp_path, what)


def test_a_page_that_is_being_made_tells_nothing(reader: Path, tmp_path: Path) -> None:
    path = page(tmp_path, state=MADE).write(running()).path
    assert not seen(reader, path, NOW)[0]["told"]


def race(program: Path, reads: int) -> dict[str, int]:
    done = subprocess.run(
        [program, "race", str(reads)], capture_output=True, text=True, timeout=HANG_S, check=True
    )
    found: dict[str, int] = json.loads(done.stdout)
    return found


def test_nothing_is_read_half(reader: Path) -> None:
    found = race(reader, 300_000)
    assert found["whole"]
    assert not found["mixed"]


def test_a_reader_without_its_second_look_is_found_out(look: Look) -> None:
    """It stops at the first. On one CPU these are a hundred slices, at whose ends one of the two is
    half-way more often than not: all would miss it less than once in 10^6."""
    assert race(look(TORN, "if (!(seq & 1))"), 50_000_000)["mixed"]


# The clock.


def tellings(program: Path, tmp_path: Path, drift: float, lateness: int) -> list[int]:
    """A guest whose clock runs faster by `drift`, and looks at each telling some time after it."""
    path = page(tmp_path).write(running()).path
    with subprocess.Popen(
        [program, "judge", path, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        wrong = []
        assert child.stdin
        assert child.stdout
        for n in range(200):
            host = NOW + n * 5 * MS
            with path.open("r+b") as file:
                file.seek(64 + 40)
                file.write(host.to_bytes(8, "little"))
            late = lateness if n % 4 else 1000
            offset = AHEAD + round(n * 5 * MS * drift)
            child.stdin.write(f"{host + offset + late}\n")
            child.stdin.flush()
            wrong.append(json.loads(child.stdout.readline())["offset"] - offset)
        child.stdin.close()
    return wrong


def slowest(program: Path, tmp_path: Path, drift: float) -> int:
    """How far off the offset is, at the worst, once two windows are over."""
    return max(abs(wrong) for wrong in tellings(program, tmp_path, drift, 2 * MS)[60:])


@pytest.mark.parametrize("drift", [0.0, 1e-4, -1e-4])
def test_the_clocks_drift_and_are_followed(reader: Path, tmp_path: Path, drift: float) -> None:
    assert slowest(reader, tmp_path, drift) < 25_000


def test_a_clock_that_is_set_once_is_found_out(look: Look, tmp_path: Path) -> None:
    assert slowest(look(WINDOW, "1 ||"), tmp_path, 1e-4) > 50_000
