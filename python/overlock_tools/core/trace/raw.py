# SPDX-License-Identifier: MIT
"""What the recording library left behind, a file per process, as a trace."""

import contextlib
import mmap
import struct
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from overlock_tools.core.model import defs
from overlock_tools.core.system import machine, symbols
from overlock_tools.core.trace import format as traces
from overlock_tools.core.trace.format import (
    EVENT,
    RELEASE,
    WAIT,
    Events,
    Lock,
    Site,
    Thread,
    Trace,
)

HEAD = struct.Struct("=10Q")  # run/record/record.h
LOCK = np.dtype(
    {"names": ["address", "kind"], "formats": ["u8", "u1"], "offsets": [0, 10], "itemsize": 64}
)
SITE = np.dtype([("address", "u8"), ("offset", "u8"), ("object", "u8")])
THREAD = np.dtype(
    [("tid", "u4"), ("name", "S16"), ("unused", "u4"), ("began", "u8"), ("lost", "u8")]
)
RAW_EVENT = np.dtype(
    [
        ("at", "u8"),
        ("before", "u8"),
        ("wait", "u8"),
        ("idle_us", "u4"),
        ("lost_us", "u4"),
        ("lock", "u2"),
        ("site", "u2"),
        ("whom", "u2"),
        ("kind", "u1"),
        ("unused", "u1"),
    ]
)
TICKS = 1 << 30
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Head:
    began: int
    ns_per_2_30: int
    empty_hold: int
    empty_think: int
    most_chunks: int
    n_chunks: int
    n_threads: int
    n_objects: int
    lost_threads: int
    lost_locks: int


@dataclass(frozen=True)
class Raw:
    """A process's record, its events by thread."""

    head: Head
    objects: list[str]
    locks: Array
    sites: Array
    threads: Array
    events: Array
    of: Array  # the number of each event's thread, from 1

    def ns(self, ticks: Array) -> npt.NDArray[np.uint64]:
        with np.errstate(invalid="ignore"):  # of times that are none
            return (ticks.astype(np.float64) * (self.head.ns_per_2_30 / TICKS)).astype(np.uint64)


def _table(data: Any, at: list[int], row: np.dtype[Any], n: int) -> Array:
    return np.frombuffer(data, row, min(n, at[2]), at[0]).copy()


def _chunks(data: Any, lists: dict[str, Any], head: Head) -> tuple[Array, Array]:
    """Events in the order of their threads, each thread's in its own order."""
    start, size, _ = lists["chunks"]
    by_thread: dict[int, list[Array]] = defaultdict(list)
    there = (len(data) - start) // size
    for i in range(min(head.n_chunks, head.most_chunks, there)):
        thread, n = struct.unpack_from("=II", data, start + i * size)
        n = min(n, lists["chunk"])
        if thread and n:
            at = start + i * size + size - lists["chunk"] * lists["event"]
            by_thread[thread].append(np.frombuffer(data, RAW_EVENT, n, at).copy())
    found = [(np.concatenate(by_thread[t]), t) for t in sorted(by_thread)]
    if not found:
        return np.empty(0, RAW_EVENT), np.empty(0, np.int64)
    return (
        np.concatenate([events for events, _ in found]),
        np.concatenate([np.full(len(events), t) for events, t in found]),
    )


def _check(raw: Raw) -> Raw:
    """The process may have written over it by a fault of its own."""
    if (
        (raw.of > len(raw.threads)).any()
        or (raw.events["kind"] >= len(traces.KINDS)).any()
        or (raw.locks["kind"] >= len(traces.CLASSES)).any()
    ):
        raise ValueError("the record is damaged")
    return raw


def read(path: Path) -> Raw | None:
    """None: the process was killed before its record was whole, or it has no event."""
    lists = defs.raw_lists()["record"]
    if path.stat().st_size < lists["chunks"][0]:
        return None
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        head = Head(*HEAD.unpack_from(data))
        events, of = _chunks(data, lists, head)
        at, size, most = lists["objects"]
        n = min(head.n_objects, most)
        texts = [bytes(data[at + i * size : at + (i + 1) * size]) for i in range(n)]
        raw = Raw(
            head,
            [text.split(b"\0", 1)[0].decode(errors="replace") for text in texts],
            _table(data, lists["locks"], LOCK, lists["locks"][2]),
            _table(data, lists["sites"], SITE, lists["sites"][2]),
            _table(data, lists["threads"], THREAD, head.n_threads),
            events,
            of,
        )
        return _check(raw)


def _numbered(used: Array, size: int) -> Array:
    """The new number of each row: they are numbered by their first event; unknown ones stay so."""
    rows, first = np.unique(used, return_index=True)
    numbers = np.full(max(size, traces.UNKNOWN + 1), traces.UNKNOWN, np.uint16)
    kept = rows[np.argsort(first)]
    kept = kept[kept < size]
    numbers[kept] = np.arange(len(kept))
    return numbers


def _kept(numbers: Array, size: int) -> list[int]:
    """The old rows in their new order."""
    there = np.flatnonzero(numbers[:size] != traces.UNKNOWN)
    return [int(i) for i in there[np.argsort(numbers[there])]]


def _named(raw: Raw, rows: list[int]) -> tuple[Site, ...]:
    offsets: dict[str, set[int]] = defaultdict(set)
    places = []
    for i in rows:
        number, offset = int(raw.sites[i]["object"]), int(raw.sites[i]["offset"])
        path = raw.objects[number - 1] if 0 < number <= len(raw.objects) else ""
        places.append((path, offset))
        if path:
            offsets[path].add(offset)
    calls = {path: symbols.look_up(Path(path), wanted) for path, wanted in offsets.items()}
    sites = []
    for path, offset in places:
        found = calls.get(path, {}).get(offset, ())
        call = found[0] if found else symbols.Call()
        sites.append(Site(path, offset, call.function or "", call.where))
    return tuple(sites)


def _in_ns(raw: Raw, order: Array) -> Events:
    """In the order of `order`, which is that of the clock, to number locks by."""
    old, ns = raw.events, raw.ns
    events = np.zeros(len(old), EVENT)
    events["at_ns"] = ns(old["at"] - np.minimum(old["at"], raw.head.began))
    events["wait_ns"] = ns(old["wait"])
    events["idle_ns"] = old["idle_us"].astype(np.uint64) * 1000
    ends = np.isin(old["kind"], (RELEASE, WAIT))
    ours = np.where(ends, raw.head.empty_hold, raw.head.empty_think).astype(np.uint64)
    spent = ns(old["before"] - np.minimum(old["before"], ours))
    gone = events["idle_ns"] + old["lost_us"].astype(np.uint64) * 1000
    events["work_ns"] = spent - np.minimum(spent, gone)
    known = (old["whom"] != raw.of) & (old["whom"] <= len(raw.threads))
    events["whom"] = np.where(known, old["whom"], traces.UNKNOWN)
    events["kind"] = old["kind"]
    locks, sites = (_numbered(old[key][order], len(table)) for key, table in _tables(raw))
    events["lock"], events["site"] = locks[old["lock"]], sites[old["site"]]
    return events


def _tables(raw: Raw) -> tuple[tuple[str, Array], tuple[str, Array]]:
    return ("lock", raw.locks), ("site", raw.sites)


def trace_of(raw: Raw, program: str) -> Trace:
    order = np.argsort(raw.events["at"], kind="stable")
    events = _in_ns(raw, order)
    locks, sites = (_numbered(raw.events[key][order], len(table)) for key, table in _tables(raw))
    counts = np.bincount(raw.of, minlength=len(raw.threads) + 1)
    threads, first = [], 0
    for i, row in enumerate(raw.threads):
        n, began = int(counts[i + 1]), int(row["began"])
        name = row["name"].decode(errors="replace")
        began_ns = int(raw.ns(np.array([max(0, began - raw.head.began)], np.uint64))[0])
        threads.append(Thread(name, int(row["tid"]), began_ns, first, n, int(row["lost"])))
        first += n
    return Trace(
        program,
        machine.facts(),
        int(events["at_ns"].max()) if len(events) else 0,
        tuple(
            Lock(traces.CLASSES[int(raw.locks[i]["kind"])], int(raw.locks[i]["address"]))
            for i in _kept(locks, len(raw.locks))
        ),
        _named(raw, _kept(sites, len(raw.sites))),
        tuple(threads),
        {
            "limit": sum(thread.lost for thread in threads),
            "threads": raw.head.lost_threads,
            "locks": raw.head.lost_locks,
        },
        events,
    )


def processes(folder: Path) -> dict[int, list[Raw]]:
    """By process; those without an event are left out."""
    found: dict[int, list[Raw]] = defaultdict(list)
    for path in sorted(folder.iterdir()):
        with contextlib.suppress(OSError, ValueError):
            raw = read(path)
            if raw and len(raw.events):
                found[int(path.name.partition(".")[0])].append(raw)
    return found
