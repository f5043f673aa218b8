# SPDX-License-Identifier: MIT
"""The report of a program that was killed before it could write one, made of its records."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.model import defs
from overlock_tools.preload import live
from overlock_tools.system import files

LOOK_S = 0.5  # how often for the places of new calls, which a killed program cannot tell


def _sums(reader: live.Reader, pid: int) -> dict[int, list[int]]:
    """Of each call all that a record counts, from the events to the histogram of holds."""
    layout = defs.load().live
    n = (layout["hold"] - layout["events"]) // 8 + layout["buckets"]
    sums: dict[int, list[int]] = {}
    for path in sorted(reader.folder.glob(f"{pid}.*")):
        for site, values in live.read_raw(path.read_bytes(), layout, n):
            sums[site] = [a + b for a, b in zip(sums.get(site, [0] * n), values, strict=True)]
    return sums


def _histogram(counts: list[int]) -> list[list[int]]:
    return [[live.bucket_least(i), n] for i, n in enumerate(counts) if n]


def _site(values: list[int], knows_slices: bool) -> dict[str, Any]:
    layout, names = defs.load().live, [*defs.load().events]

    def part(name: str, n: int = 1) -> list[int]:
        return values[(layout[name] - layout["events"]) // 8 :][:n]

    events = dict(zip(names, values, strict=False))
    places = part("places", (layout["wait_ns"] - layout["places"]) // 8)
    each = len(places) // len(names)
    by_event = {name: places[i * each :][:each] for i, name in enumerate(names)}
    held, free = events["STALL_HELD"], events["STALL_FREE"]
    unknown = max(0, events["STALL"] - held - free)
    lost = {name: events[name] for name in ("LHP", "LWP")}
    return {
        "events": {name: n for name, n in events.items() if n},
        "places": {name: counts for name, counts in by_event.items() if any(counts)},
        "stalls": {"N": events["ACQUIRE"], "Nh": held, "Nw": free, "unknown": unknown},
        "preemptions": lost | {"PSP": sum(lost.values())} if knows_slices else None,
        **{name: part(name)[0] for name in live.TIMES},
        "hold": _histogram(part("hold", layout["buckets"])),
    }


def _sites(reader: live.Reader, pid: int, lock: str) -> Iterator[dict[str, Any]]:
    sums = _sums(reader, pid)
    for address in sorted(sums, key=lambda site: -sums[site][0]):
        site: dict[str, Any] = {"site": f"{address:#x}", "lock": lock}
        if place := reader.places.get((pid, address)):
            site |= {"module": place[0], "offset": place[1]}
        yield site | _site(sums[address], reader.knows_slices)


def report(reader: live.Reader, pid: int, lock: str) -> dict[str, Any]:
    """As schema/run.json has it, without what only the program itself knew."""
    reader.totals()  # whether slices are known
    sites = {"version": 2, "missed": 0, "sites": [*_sites(reader, pid, lock)]}
    return {"lock": lock, "pid": pid, "ended": False, "rules": [], "left": {}, "sites": sites}


@dataclass
class Witness:
    """Reports for a program that a signal ends."""

    reader: live.Reader
    pid: int
    program: str
    lock: str
    output: Path | None
    rows: int

    def tick(self) -> None:
        self.reader.totals()

    def end(self, code: int) -> None:
        if code >= 0:
            return  # the program has reported, or chose not to
        if self.output:
            made = report(self.reader, self.pid, self.lock)
            files.write(self.output, json.dumps(made, indent=1) + "\n")
            return
        title = f"{self.program} under {self.lock}, ended by signal {-code}"
        own = {s: counts for s, counts in self.reader.totals().items() if s[0] == self.pid}
        with live.terminal() as out:
            out.write(live.table(title, own, self.reader, self.rows))
