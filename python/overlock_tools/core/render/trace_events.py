# SPDX-License-Identifier: MIT
"""Timelines for ui.perfetto.dev, in the Chrome trace event format: times in microseconds."""

import json
from collections.abc import Iterable
from typing import Any

Entry = dict[str, Any]


def document(entries: Iterable[Entry], unit: str, indent: int | None = None) -> str:
    """`unit`: what a microsecond of the timeline is."""
    said = {
        "traceEvents": list(entries),
        "displayTimeUnit": "ns",
        "otherData": {"unit": unit},
    }
    return json.dumps(said, indent=indent) + "\n"


def process(pid: int, name: str) -> Entry:
    return _named("process_name", pid, 0, name)


def thread(pid: int, tid: int, name: str) -> Entry:
    return _named("thread_name", pid, tid, name)


def _named(what: str, pid: int, tid: int, name: str) -> Entry:
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def order(pid: int, tid: int, place: int) -> Entry:
    """Tracks stand in this order."""
    args = {"sort_index": place}
    return {"name": "thread_sort_index", "ph": "M", "pid": pid, "tid": tid, "args": args}


def span(track: tuple[int, int], name: str, start: float, end: float, **more: Any) -> Entry:
    at = {"ts": start, "dur": end - start, "pid": track[0], "tid": track[1]}
    return {"name": name, "ph": "X", **at, **more}


def arrow(
    name: str, number: int, tail: tuple[int, int, float], head: tuple[int, int, float]
) -> list[Entry]:
    """From a track's slice at a time to another's; each: process, thread, time."""
    ends = []
    for phase, (pid, tid, time) in (("s", tail), ("f", head)):
        entry = {"name": name, "ph": phase, "cat": name, "id": number, "ts": time}
        ends.append({**entry, "pid": pid, "tid": tid, **({"bp": "e"} if phase == "f" else {})})
    return ends
