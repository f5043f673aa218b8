# SPDX-License-Identifier: MIT
"""Counters of a program while it runs: `overlock run --counters=1s`; and after it was killed.

Each process of it keeps its records in a file of OVERLOCK_LIVE (lib/site.h); nobody is asked, so a
program that is killed can be read to the end.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from struct import unpack_from
from typing import Any, Protocol, TextIO

from overlock_tools.core.model import defs
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.text import printable

ROWS = 12
TIMES = ("wait_ns", "spin_ns", "hold_ns", "handover_ns")

Counts = dict[str, int]
Site = tuple[int, int]  # process, address


def parse_interval(text: str, option: str = "--counters") -> float:
    """`1s`, `200ms`, `2.5` as seconds."""
    number, factor = text, 1.0
    for unit, size in (("ms", 1e-3), ("s", 1.0)):
        if text.endswith(unit):
            number, factor = text[: -len(unit)], size
            break
    try:
        seconds = float(number) * factor
    except ValueError:
        seconds = 0.0
    if not 0.01 <= seconds <= 3600:
        raise Fail(f"{option}={text} is not a time from 10ms to 3600s, as in {option}=1s")
    return seconds


def _places(data: bytes, layout: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Where each complete record begins, and its address of a call."""
    for block in range(layout["block"], len(data) - layout["block"] + 1, layout["block"]):
        used = min(unpack_from("N", data, block + layout["used"])[0], layout["block"])
        for at in range(
            block + layout["first"], block + used - layout["record"] + 1, layout["record"]
        ):
            (site,) = unpack_from("N", data, at + layout["site"])
            if site:
                yield at, site


def read_records(data: bytes, layout: dict[str, int]) -> Iterator[tuple[int, Counts]]:
    """Address of each call, and all counters of it."""
    names = list(defs.load().events)
    for at, site in _places(data, layout):
        values = unpack_from(f"={len(names)}Q", data, at + layout["events"])
        counts = dict(zip(names, values, strict=True))
        for name in TIMES:
            (counts[name],) = unpack_from("=Q", data, at + layout[name])
        yield site, counts


def add_records(sums: dict[Site, Counts], pid: int, data: bytes) -> None:
    for site, counts in read_records(data, defs.load().live):
        before = sums.setdefault((pid, site), dict.fromkeys(counts, 0))
        for name, n in counts.items():
            before[name] += n


def _is_of_our_space(data: bytes) -> bool:
    """Its process has the number here that it knows itself by, which no container's has."""
    (space,) = unpack_from("=Q", data.ljust(64, b"\0"), defs.load().live["space"])
    return bool(space == Path("/proc/self/ns/pid").stat().st_ino)


def read_raw(data: bytes, layout: dict[str, int], n: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Address of each call, and the first n numbers that its record counts."""
    for at, site in _places(data, layout):
        yield site, unpack_from(f"={n}Q", data, at + layout["events"])


def bucket_least(bucket: int) -> int:
    """The least time, in ns, that it holds: lib/site.h."""
    return bucket if bucket < 2 else (2 + bucket % 2) << (bucket // 2 - 1)


@dataclass(frozen=True)
class Holds:
    """How long locks were held: how often a time of each bucket."""

    counts: tuple[int, ...] = ()

    def plus(self, other: "Holds") -> "Holds":
        pairs = zip_longest(self.counts, other.counts, fillvalue=0)
        return Holds(tuple(ours + theirs for ours, theirs in pairs))

    def since(self, then: "Holds") -> "Holds":
        return self.plus(Holds(tuple(-n for n in then.counts)))

    def pairs(self) -> list[list[float]]:
        """[ns, how often], without what did not occur."""
        return [[bucket_least(i), n] for i, n in enumerate(self.counts) if n]


@dataclass
class Reader:
    """All processes that ever wrote to the folder."""

    folder: Path
    own: int = 0  # the program's process. 0: the files of processes that have ended stay
    knows_slices: bool = True
    places: dict[Site, tuple[str, int]] = field(default_factory=dict)  # file, and where in it
    ended: dict[Site, Counts] = field(default_factory=dict)  # whose files are removed
    before_removal: Callable[[int], None] = lambda _: None  # of a process's files

    def totals(self) -> dict[Site, Counts]:
        sums = {site: dict(counts) for site, counts in self.ended.items()}
        over = []
        for path in sorted(self.folder.glob("[0-9]*.[0-9]*")):
            pid = int(path.name.partition(".")[0])
            is_over = self.own not in {0, pid} and not Path(f"/proc/{pid}").exists()
            data = path.read_bytes()
            self.knows_slices &= data[:1] != b"-"
            add_records(sums, pid, data)
            if is_over and _is_of_our_space(data):
                add_records(self.ended, pid, data)
                over.append(path)
        self.find_places(sums)
        for pid in {int(path.name.partition(".")[0]) for path in over}:
            self.before_removal(pid)
        for path in over:
            path.unlink()
        return sums

    def holds(self) -> Holds:
        """Of all locks of all processes; nothing unless times are kept."""
        layout, found = defs.load().live, Holds()
        for path in sorted(self.folder.glob("[0-9]*.[0-9]*")):
            data = path.read_bytes()
            for at, _ in _places(data, layout):
                found = found.plus(
                    Holds(unpack_from(f"={layout['buckets']}Q", data, at + layout["hold"]))
                )
        return found

    def find_places(self, sites: dict[Site, Counts]) -> None:
        """Where the calls are, while the process is there to ask."""
        unknown: dict[int, list[int]] = {}
        for pid, site in sites:
            if (pid, site) not in self.places:
                unknown.setdefault(pid, []).append(site)
        for pid, addresses in unknown.items():
            bases = module_bases(pid) or self.bases_at_start(pid)
            for address in addresses:
                module = next((m for m in bases if m[0] <= address < m[1]), None)
                if module:
                    self.places[pid, address] = module[3], address - module[2]

    def images(self, pid: int) -> list[Path]:
        """The files of the programs that the process was, one after the other by exec."""
        return sorted(self.folder.glob(f"{pid}.*"), key=lambda path: int(path.suffix[1:]))

    def has_reported(self, pid: int) -> bool:
        """Whether the last of them has written its last report."""
        images = self.images(pid)
        return bool(images) and images[-1].read_bytes()[1:2] == b"r"

    def bases_at_start(self, pid: int) -> list[tuple[int, int, int, str]]:
        """Of a process that has ended; without what it has loaded since."""
        layout = defs.load().live
        maps = b"".join(
            path.read_bytes()[layout["maps"] : layout["block"]] for path in self.images(pid)
        )
        whole, _, _ = maps.replace(b"\0", b"").rpartition(b"\n")
        return mappings(whole)

    def place(self, site: Site) -> str:
        if site not in self.places:
            return f"{site[1]:#x}"
        module, offset = self.places[site]
        return f"{Path(module).name}+{offset:#x}"


def module_bases(pid: int) -> list[tuple[int, int, int, str]]:
    """Start, end, and base of the file, of each mapping of one; none if the process has ended."""
    try:
        return mappings(Path(f"/proc/{pid}/maps").read_bytes())
    except OSError:
        return []


def mappings(maps: bytes) -> list[tuple[int, int, int, str]]:
    """The same of that file's text. A name in it can have any byte but a line break."""
    found = []
    bases: dict[str, int] = {}
    for line in printable(maps.decode(errors="replace")).split("\n"):
        parts = line.split(maxsplit=5)
        if len(parts) < 6 or not parts[5].startswith("/"):
            continue
        start, end = (int(part, 16) for part in parts[0].split("-"))
        base = bases.setdefault(parts[5], start - int(parts[2], 16))
        found.append((start, end, base, parts[5]))
    return found


def difference(now: dict[Site, Counts], before: dict[Site, Counts]) -> dict[Site, Counts]:
    """What has been counted since; sites where nothing was are left out."""
    changes = {}
    for site, counts in now.items():
        old = before.get(site, {})
        change = {name: n - old.get(name, 0) for name, n in counts.items()}
        if any(change.values()):
            changes[site] = change
    return changes


def summed(sites: dict[Site, Counts]) -> Counts:
    names = next(iter(sites.values()), {})
    return {name: sum(counts[name] for counts in sites.values()) for name in names}


def preemptions(sums: Counts, knows_slices: bool) -> str:
    """What the papers count, by their names."""
    stalls = (sums.get(name, 0) for name in ("STALL", "STALL_HELD", "STALL_FREE"))
    first = "{} waits over 1 us (Nh {}, Nw {})".format(*stalls)
    if not knows_slices:
        return f"{first}; LHP, LWP: unknown, no source of slice ends"
    lhp, lwp = sums.get("LHP", 0), sums.get("LWP", 0)
    return f"{first}; LHP {lhp}, LWP {lwp}, PSP {lhp + lwp}"


def table(title: str, sites: dict[Site, Counts], reader: Reader, rows: int = ROWS) -> str:
    """The busiest calls of the interval."""
    sums = summed(sites)
    ordered = sorted(sites, key=lambda site: -sites[site]["ACQUIRE"])
    several = len({pid for pid, _ in sites}) > 1
    lines = [f"overlock: {title}: {sums.get('ACQUIRE', 0)} acquisitions"]
    if ordered:
        lines.append(f"{'acquisitions':>14} {'waited':>12} {'wait ms':>12} {'spin ms':>12}  call")
    for site in ordered[:rows]:
        counts = sites[site]
        numbers = f"{counts['ACQUIRE']:>14} {counts['SLOW_PATH']:>12}"
        times = f"{counts['wait_ns'] / 1e6:>12.3f} {counts['spin_ns'] / 1e6:>12.3f}"
        process = f" in {site[0]}" if several else ""
        lines.append(f"{numbers} {times}  {reader.place(site)}{process}")
    if ordered[rows:]:
        rest = sum(sites[site]["ACQUIRE"] for site in ordered[rows:])
        lines.append(f"{rest:>14} at {len(ordered) - rows} other calls")
    if sums:
        lines.append(f"  {preemptions(sums, reader.knows_slices)}")
    return "\n".join(lines) + "\n"


def as_json(seconds: float, final: bool, sites: dict[Site, Counts], reader: Reader) -> str:
    """One line; counters that are 0 are left out, LHP and LWP are null where they are unknown."""
    rows: list[dict[str, Any]] = []
    for site, counts in sites.items():
        events = {k: v for k, v in counts.items() if v and k not in TIMES}
        times = {name: counts[name] for name in TIMES}
        preempted = {name: counts[name] for name in ("LHP", "LWP")}
        rows.append(
            {"pid": site[0], "site": f"{site[1]:#x}", "place": reader.place(site)}
            | {"events": events, **times}
            | {"preemptions": preempted if reader.knows_slices else None}
        )
    return json.dumps({"seconds": round(seconds, 3), "final": final, "sites": rows}) + "\n"


@dataclass
class Follower:
    """Says what has been counted since it last said something."""

    reader: Reader
    out: TextIO
    json_lines: bool
    rows: int = ROWS
    began: float = field(default_factory=time.monotonic)
    said: dict[Site, Counts] = field(default_factory=dict)

    def tick(self) -> None:
        now = self.reader.totals()
        self.say(difference(now, self.said), False)
        self.said = now

    def end(self, _: int = 0) -> None:
        """The totals, to the program's last moment."""
        self.say(difference(self.reader.totals(), {}), True)

    def say(self, sites: dict[Site, Counts], final: bool) -> None:
        seconds = time.monotonic() - self.began
        title = f"total, {seconds:.1f} s" if final else f"{seconds:.1f} s"
        if self.json_lines:
            self.out.write(as_json(seconds, final, sites, self.reader))
        else:
            self.out.write(table(title, sites, self.reader, self.rows))
        self.out.flush()


def folder() -> Path:
    """In memory, if there is such a place."""
    shared = Path("/dev/shm")  # noqa: S108 - mkdtemp makes a folder of our own there
    return Path(tempfile.mkdtemp(prefix="overlock-", dir=shared if shared.is_dir() else None))


@contextmanager
def forwarding(child: Callable[[], "subprocess.Popen[bytes] | None"], *more: int) -> Iterator[None]:
    """Ctrl-C reaches the program by itself; what is sent to us alone goes on to it."""

    def forward(number: int, _: Any) -> None:
        if running := child():
            running.send_signal(number)

    handlers: dict[int, Any] = dict.fromkeys((signal.SIGINT, signal.SIGQUIT), lambda *_: None)
    passed = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, *more)
    handlers |= dict.fromkeys(passed, forward)
    before = {number: signal.getsignal(number) for number in handlers}
    taken = [number for number in handlers if before[number] != signal.SIG_IGN]
    for number in taken:
        signal.signal(number, handlers[number])
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


def asking_signal(variables: Mapping[str, str]) -> list[int]:
    """That of --counters-signal, if there is one."""
    return [int(variables["OVERLOCK_SIGNAL"])] if "OVERLOCK_SIGNAL" in variables else []


class Listener(Protocol):
    """Is told now and then, and once the program has ended, how."""

    def tick(self) -> None: ...
    def end(self, code: int) -> None: ...


def follow(child: "subprocess.Popen[bytes]", listener: Listener, interval: float) -> int:
    due = time.monotonic() + interval
    while True:
        try:
            code = child.wait(max(0.0, due - time.monotonic()))
            break
        except subprocess.TimeoutExpired:
            listener.tick()
            due = max(due + interval, time.monotonic())
    listener.end(code)
    return code


def end_as(code: int) -> int:
    """Its exit code is ours; if a signal ended it, the same one ends us."""
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
        return 128 - code  # the first process of a container survives its own signals
    return code


def run(
    start: Callable[[Path], "subprocess.Popen[bytes]"],
    interval: float,
    listening: Callable[[Reader, int], Listener],
    *more: int,
) -> int:
    """Starts the program as a child of ours, with that folder, and follows it to its end."""
    child: subprocess.Popen[bytes] | None = None
    records = folder()
    try:
        with forwarding(lambda: child, *more):
            child = start(records)
            code = follow(child, listening(Reader(records, child.pid), child.pid), interval)
    finally:
        shutil.rmtree(records, ignore_errors=True)
    return end_as(code)


def terminal() -> TextIO:
    """Where a report goes that has no file: standard error, if there is no terminal."""
    try:
        return open("/dev/tty", "w", encoding="utf-8")
    except OSError:
        return open(os.dup(sys.stderr.fileno()), "w", encoding="utf-8")
