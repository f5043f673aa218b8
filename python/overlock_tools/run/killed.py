# SPDX-License-Identifier: MIT
"""The report of a program that ended before it could write one, made of its records.

By a signal, by _exit(), or because it has become a program that does not count: by exec.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.core.model import defs
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import say
from overlock_tools.run import live, settings

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
    """As schema/run.json has it, without what only the program itself knew. After totals()."""
    sites = {"version": 2, "missed": 0, "sites": [*_sites(reader, pid, lock)]}
    return {"lock": lock, "pid": pid, "ended": False, "rules": [], "left": {}, "sites": sites}


def of_others(reader: live.Reader, own: int, program: str) -> str:
    """What processes counted that the program started; empty if that is nothing."""
    counts: dict[int, int] = {}
    for (pid, _), counted in reader.totals().items():
        if pid != own:
            counts[pid] = counts.get(pid, 0) + counted["ACQUIRE"]
    n = sum(counts.values())
    processes = f"{len(counts)} processes" if len(counts) > 1 else "a process"
    return f"{n} acquisitions of {processes} that {program} started" if n else ""


@dataclass
class Witness:
    """Reports for a program that has not, and says what no report has."""

    reader: live.Reader
    pid: int
    program: str
    lock: str
    output: Path | None
    rows: int
    is_disabled: bool = False  # by OVERLOCK_DISABLE: nothing is to be counted

    def __post_init__(self) -> None:
        if self.reports_each():
            self.reader.before_removal = self._report_other

    def reports_each(self) -> bool:
        return self.output is not None and settings.PID in self.output.name

    def tick(self) -> None:
        self.reader.totals()

    def end(self, code: int) -> None:
        if self.is_disabled:
            return
        found = self.reader.totals()
        images = self.reader.images(self.pid)
        if not images:
            self._say_why()
        elif not self.reader.has_reported(self.pid):
            self._report(f"signal {-code}" if code < 0 else "_exit() or exec")
        elif earlier := self._counted(images[:-1]):
            say(
                f"the report of {self.program} lacks {earlier} acquisitions of the programs that "
                "its process was before, until exec"
            )
        if self.reports_each():
            for pid in sorted({pid for pid, _ in found} - {self.pid}):
                self._report_other(pid)
        else:
            self._say_of_others()
        if self.output and self.output.parent == self.reader.folder and self.output.exists():
            files.write(files.STDOUT, self.output.read_bytes())

    def _report_other(self, pid: int) -> None:
        """Of a process that it started, and that did not write its report."""
        if self.reader.images(pid) and not self.reader.has_reported(pid):
            self._write(pid)

    def _say_of_others(self) -> None:
        """That it started: they write no report unless the name of the file has %p."""
        if others := of_others(self.reader, self.pid, self.program):
            say(f"not in the report: {others}; --output FILE.%p reports each")

    def _counted(self, images: list[Path]) -> int:
        layout = defs.load().live
        counts = (live.read_records(path.read_bytes(), layout) for path in images)
        return sum(one["ACQUIRE"] for found in counts for _, one in found)

    def _say_why(self) -> None:
        say(
            f"there is no report: {self.program} did not load overlock's library; is it statically "
            "linked, set-user-ID, or not there?"
        )

    def _write(self, pid: int) -> None:
        assert self.output
        to = self.output.with_name(self.output.name.replace(settings.PID, str(pid), 1))
        files.write(to, json.dumps(report(self.reader, pid, self.lock), indent=1) + "\n")

    def _report(self, by: str) -> None:
        if self.output:
            self._write(self.pid)
            return
        title = f"{self.program} under {self.lock}, ended by {by}"
        own = {s: counts for s, counts in self.reader.totals().items() if s[0] == self.pid}
        with live.terminal() as out:
            out.write(live.table(title, own, self.reader, self.rows))
