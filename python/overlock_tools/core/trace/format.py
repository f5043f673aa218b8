# SPDX-License-Identifier: MIT
"""The file of `overlock run --record`: docs/counters.md describes it for other readers.

trace = format.read(Path("server.trace"))
for thread in trace.threads:
    print(thread.name, trace.events_of(thread)["wait_ns"].sum())
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.trace import MOST_EVENTS

NAME, VERSION = "overlock-trace", 1
KINDS = ("acquire", "read", "release", "wait", "fail")  # by their numbers
ACQUIRE, READ, RELEASE, WAIT, FAIL = range(len(KINDS))
CLASSES = ("mutex", "rwlock", "spinlock")
UNKNOWN = 0xFFFF  # a site, or whom
EVENT = np.dtype(
    [
        ("at_ns", "<u8"),  # since the start: the lock is acquired, or about to be released
        ("work_ns", "<u8"),  # CPU time since this thread's previous event
        ("idle_ns", "<u8"),  # and time that it slept or waited for anything but a lock
        ("wait_ns", "<u8"),  # for the lock
        ("lock", "<u2"),
        ("site", "<u2"),
        ("whom", "<u2"),  # the number of the thread that held the lock, from 1; 0: nobody did
        ("kind", "u1"),
        ("reserved", "u1"),
    ]
)
MOST_HEADER = 64 << 20
STEP = 1 << 20
Events = npt.NDArray[np.void]


@dataclass(frozen=True)
class Lock:
    kind: str  # of CLASSES
    address: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Site:
    """A call in the program."""

    object: str  # a file
    offset: int
    function: str = ""
    where: str = ""  # file and line

    @property
    def name(self) -> str:
        return self.function or f"{Path(self.object).name or '?'}+{self.offset:#x}"


@dataclass(frozen=True)
class Thread:
    name: str
    tid: int
    began_ns: int
    first: int  # of its events
    events: int
    lost: int = 0


@dataclass(frozen=True)
class Trace:
    program: str
    machine: dict[str, Any]
    duration_ns: int
    locks: tuple[Lock, ...]
    sites: tuple[Site, ...]
    threads: tuple[Thread, ...]
    lost: dict[str, int]  # events, by why
    events: Events

    def events_of(self, thread: Thread) -> Events:
        return self.events[thread.first : thread.first + thread.events]

    @property
    def lost_events(self) -> int:
        return sum(self.lost.values())


def _header(trace: Trace) -> dict[str, Any]:
    return {
        "format": NAME,
        "version": VERSION,
        "program": trace.program,
        "machine": trace.machine,
        "duration_ns": trace.duration_ns,
        "fields": [[name, EVENT[name].str] for name in EVENT.names or ()],
        "kinds": list(KINDS),
        "lost": trace.lost,
        "locks": [asdict(lock) for lock in trace.locks],
        "sites": [asdict(site) for site in trace.sites],
        "threads": [
            {
                "name": t.name,
                "tid": t.tid,
                "began_ns": t.began_ns,
                "events": t.events,
                "lost": t.lost,
            }
            for t in trace.threads
        ],
    }


def packed(trace: Trace) -> bytes:
    line = json.dumps(_header(trace), separators=(",", ":")).encode() + b"\n"
    return gzip.compress(line + trace.events.tobytes(), 6, mtime=0)


def write(path: Path, trace: Trace) -> None:
    files.write(path, packed(trace))


class Broken(Exception):
    """Why a file is no trace."""


def read(path: Path) -> Trace:
    """Or one line that says what is wrong with it."""
    try:
        with open(path, "rb") as file:
            return unpacked(file)
    except Broken as error:
        raise Fail(f"{path} is not a whole trace of overlock run --record: {error}") from error
    except OSError as error:
        raise Fail(f"{path} cannot be read: {error.strerror or error}") from error


def unpacked(file: Any) -> Trace:
    with gzip.GzipFile(fileobj=file) as content:
        try:
            line = content.readline(MOST_HEADER)
            header = _parsed(line)
            threads = tuple(_threads(header))
            n = sum(thread.events for thread in threads)
            _must(n <= MOST_EVENTS, f"it says that it has {n} events, and {MOST_EVENTS} are most")
            raw = _exactly(content, n * EVENT.itemsize)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise Broken("it is cut short or damaged") from error
    return _trace(header, threads, np.frombuffer(raw, EVENT))


def _must(so: bool, otherwise: str) -> None:
    if not so:
        raise Broken(otherwise)


def _parsed(line: bytes) -> dict[str, Any]:
    _must(line.endswith(b"\n"), "its header is cut short, or there is none")
    try:
        header = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Broken("its header is not JSON") from error
    _must(isinstance(header, dict) and header.get("format") == NAME, "its header is another's")
    version = header.get("version")
    _must(version == VERSION, f"it has version {_short(version)}, and this reads {VERSION}")
    return dict(header)


def _short(value: Any) -> str:
    return repr(value)[:40]


def _whole(value: Any, what: str) -> int:
    fine = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64
    _must(fine, f"{what} is {_short(value)}, not a whole number")
    return int(value)


def _text(value: Any, what: str) -> str:
    _must(isinstance(value, str), f"{what} is {_short(value)}, not a text")
    return str(value)


def _rows(header: dict[str, Any], name: str) -> list[dict[str, Any]]:
    rows = header.get(name)
    fine = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    _must(fine, f"its header has no list of {name}")
    return rows if isinstance(rows, list) else []


def _threads(header: dict[str, Any]) -> Iterator[Thread]:
    first = 0
    for row in _rows(header, "threads"):
        began, events, lost, tid = (
            _whole(row.get(key), f"a thread's {key}")
            for key in ("began_ns", "events", "lost", "tid")
        )
        yield Thread(_text(row.get("name"), "a thread's name"), tid, began, first, events, lost)
        first += events


def _exactly(content: Any, wanted: int) -> bytes:
    """What is there decides how much memory is taken, not what the header says."""
    found = bytearray()
    while len(found) <= wanted:
        step = content.read(min(STEP, wanted + 1 - len(found)))
        if not step:
            break
        found += step
    _must(len(found) >= wanted, "events are missing at its end")
    _must(len(found) == wanted, "it has more events than its header says")
    return bytes(found)


def _lock(row: dict[str, Any]) -> Lock:
    kind = _text(row.get("kind"), "a lock's kind")
    _must(kind in CLASSES, f"a lock's kind is {_short(kind)}")
    return Lock(kind, _whole(row.get("address"), "a lock's address"))


def _site(row: dict[str, Any]) -> Site:
    texts = (_text(row.get(key), f"a site's {key}") for key in ("object", "function", "where"))
    path, function, where = texts
    return Site(path, _whole(row.get("offset"), "a site's offset"), function, where)


def _check_events(trace: Trace) -> None:
    events, whom, site = trace.events, trace.events["whom"], trace.events["site"]
    if not len(events):
        return
    _must(int(events["kind"].max()) < len(KINDS), "an event is of an unknown kind")
    _must(int(events["lock"].max()) < len(trace.locks), "an event has an unknown lock")
    fine = bool(((whom <= len(trace.threads)) | (whom == UNKNOWN)).all())
    _must(fine, "an event waits for a thread that there is not")
    fine = bool(((site < len(trace.sites)) | (site == UNKNOWN)).all())
    _must(fine, "an event has a site that there is not")


def _trace(header: dict[str, Any], threads: tuple[Thread, ...], events: Events) -> Trace:
    lost, machine = header.get("lost"), header.get("machine")
    if not isinstance(lost, dict) or not isinstance(machine, dict):
        raise Broken("its header does not say what was lost, and where it was recorded")
    trace = Trace(
        _text(header.get("program"), "the program"),
        machine,
        _whole(header.get("duration_ns"), "the duration"),
        tuple(map(_lock, _rows(header, "locks"))),
        tuple(map(_site, _rows(header, "sites"))),
        threads,
        {str(why): _whole(n, "a loss") for why, n in lost.items()},
        events,
    )
    _check_events(trace)
    return trace
