# SPDX-License-Identifier: MIT
"""A program that is our child for its report, whose stacks we name: `overlock run --stacks`.

It reports at its end, and whenever --counters-signal has it report; each time all that was asked
for is written anew. Programs that it starts report too, to files that nobody reads.
"""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Required, TypedDict

from overlock_tools.core.system import files, reading, symbols
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.reading import Count
from overlock_tools.run import live, stacks, tuning

Report = dict[str, Any]

WEIGHTS = stacks.WEIGHTS
LOOK_S = 0.2  # how often for a report that was asked for

# Those that cannot be caught, those of a fault, which would come again, and the C library's own.
UNFIT = {
    **dict.fromkeys(("KILL", "STOP"), "cannot be caught"),
    **dict.fromkeys(("SEGV", "BUS", "ILL", "FPE", "TRAP", "ABRT", "SYS"), "reports a fault"),
    **dict.fromkeys(("32", "33"), "belongs to the C library"),
}


def parse_signal(text: str) -> int:
    """`USR2`, `SIGUSR2`, `12` or `RTMIN`."""
    name = text.upper().removeprefix("SIG")
    if name.isascii() and name.isdigit() and 0 < int(name) <= signal.SIGRTMAX:
        number = int(name)
        name = next((s.name[3:] for s in signal.Signals if s.value == number), name)
    elif f"SIG{name}" in signal.Signals.__members__:
        number = signal.Signals[f"SIG{name}"].value
    else:
        raise Fail(f"--counters-signal {text}: there is no such signal; expected one such as USR2")
    if name in UNFIT:
        raise Fail(f"--counters-signal {text}: the signal {UNFIT[name]}; choose one such as USR2")
    return number


@dataclass
class To:
    """Where a report goes; to the terminal, if nowhere else."""

    program: str
    output: Path | None
    folded: Path | None
    rows: int

    def write(self, raw: Report) -> None:
        if not raw["sites"]:  # the checked library has found something, and its program has died
            if self.output:
                files.write(self.output, json.dumps(raw, indent=1) + "\n")
            return
        report = named(raw)
        if self.folded:
            files.write(self.folded, stacks.folded(report))
        if self.output:
            files.write(self.output, json.dumps(report, indent=1) + "\n")
        if not self.folded and not self.output:
            with live.terminal() as out:
                out.write(stacks.table(report, self.program, self.rows))


@cache
def tell(text: str) -> None:
    """On standard error, once."""
    print(f"overlock: {text}", file=sys.stderr)


def named(raw: Report) -> Report:
    if not symbols.tool():
        tell(
            f"{symbols.TOOL} is missing, so call sites have neither names nor lines; "
            f"install the package {symbols.PACKAGE}"
        )
    return stacks.named(raw)


# What is read of a report. schema/run.json has all of it, and names.


class _Site(TypedDict, total=False):
    site: Required[str]
    module: str
    offset: Count
    function: str
    events: Required[dict[str, Count]]
    places: Required[dict[str, list[Count]]]
    preemptions: Required[dict[str, Count] | None]
    wait_ns: Required[Count]
    hold_ns: Count
    hold: list[list[Count]]


class _Stack(TypedDict):
    site: str
    cut: bool
    waits: Count
    wait_ns: Count
    holds: Count
    hold_ns: Count
    frames: list[list[Count | None]]


class _Stacks(TypedDict):
    of: str
    modules: list[str]
    stacks: list[_Stack]


class _Sites(TypedDict):
    sites: list[_Site]


class _Report(TypedDict, total=False):
    lock: Required[str]
    ended: Required[bool]
    sites: Required[_Sites | None]
    stacks: _Stacks


def checked(text: bytes) -> Report:
    """The report of a program that may have written anywhere, or has been killed."""
    try:
        report: Report = reading.checked(_Report, reading.parsed(text.decode()), "the report")
        for site in report["sites"]["sites"] if report["sites"] else ():
            _check_site(site)
        if "stacks" in report:
            _check_stacks(report)
    except ValueError as error:
        raise Fail(f"the program's report is damaged ({error}); run it again") from error
    return report


def _check_site(site: Report) -> None:
    if "module" in site and "offset" not in site:
        raise ValueError("a module has no offset")
    if any(len(pair) != 2 for pair in site.get("hold", [])):
        raise ValueError("a hold is no pair of time and count")
    if any(len(counts) != len(tuning.PLACES) for counts in site["places"].values()):
        raise ValueError("the places have another number of buckets")
    if site["preemptions"] is not None and "LHP" not in site["preemptions"]:
        raise ValueError("there is no LHP")


def _check_stacks(report: Report) -> None:
    raw, known = report["stacks"], report["sites"]["sites"] if report["sites"] else []
    if raw["of"] not in stacks.WEIGHTS or any(f"{raw['of']}_ns" not in site for site in known):
        raise ValueError("the stacks are of nothing known")
    for module, offset in (pair for one in raw["stacks"] for pair in _pairs(one["frames"])):
        if offset is None or (module is not None and module >= len(raw["modules"])):
            raise ValueError("a frame is in no module")


def _pairs(frames: list[list[int | None]]) -> Iterator[tuple[int | None, int | None]]:
    for frame in frames:
        if len(frame) != 2:
            raise ValueError("a frame is no pair of module and offset")
        yield frame[0], frame[1]


@dataclass
class Reader:
    """What the program has reported and nobody has read yet."""

    path: Path
    read: tuple[int, int] | None = None

    def new(self) -> Report | None:
        try:
            status = self.path.stat()
            now = (status.st_ino, status.st_mtime_ns)
            if now == self.read:
                return None
            report = checked(self.path.read_bytes())
        except FileNotFoundError:
            return None
        self.read = now
        return report


@dataclass(frozen=True)
class Ended:
    pid: int
    code: int  # minus the signal that ended it
    last: Report | None  # the report at its end, if it wrote one

    @property
    def how(self) -> str:
        return f"ended by signal {-self.code}" if self.code < 0 else "ended by _exit() or exec"


@dataclass(frozen=True)
class Around:
    """What is called now and then while the program runs, and its standard input."""

    beside: Callable[["subprocess.Popen[bytes]"], None] | None = None
    read: int | None = None


def _wait(child: "subprocess.Popen[bytes]", look: Callable[[], None] | None) -> int:
    while look:
        try:
            return child.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            look()
    return child.wait()


def run(
    program: Path,
    args: tuple[str, ...],
    variables: dict[str, str],
    write: Callable[[Report], None],
    around: Around = Around(),
) -> Ended:
    """To its end; each report is written, those asked for by a signal too."""
    beside = around.beside
    child: subprocess.Popen[bytes] | None = None
    with tempfile.TemporaryDirectory(prefix="overlock-") as folder:
        path = Path(folder) / "report"
        env = variables | {"OVERLOCK_OUTPUT": f"{path}.%p"}
        env.pop("OVERLOCK_PID", None)  # it is a child of ours
        asking = live.asking_signal(variables)
        with live.forwarding(lambda: child, *asking):
            # Absolute, for subprocess looks a name alone up on PATH.
            child = running = subprocess.Popen(
                args, executable=program.absolute(), env=env, stdin=around.read
            )
            reader = Reader(Path(f"{path}.{running.pid}"))

            def look() -> None:
                if beside:
                    beside(running)
                try:
                    if report := reader.new():
                        write(report)
                except Fail as error:  # the program goes on, and so do we
                    tell(error.message)

            code = _wait(child, look if asking or beside else None)
        last = reader.new()
        if last:
            write(last)
        return Ended(running.pid, code, last if last and last["ended"] else None)
