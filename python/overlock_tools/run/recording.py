# SPDX-License-Identifier: MIT
"""`overlock run --record`: a program's locks as they are, written down for replays."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overlock_tools.core.model import defs
from overlock_tools.core.system import files, native
from overlock_tools.core.system.errors import Fail, say
from overlock_tools.run import interpose, live, settings
from overlock_tools.run.starting import CANNOT_START, starting

if TYPE_CHECKING:  # NumPy takes longer to import than a program to start
    from overlock_tools.core.trace import raw
    from overlock_tools.core.trace.format import Trace

LIBRARY = "liboverlock-record.so"
LOOK_S = 3600.0  # nothing is to be done before the program ends
# Of these, --record can have none.
EXCLUDED = (
    *("counters", "counters_what", "histograms", "counters_signal", "output", "stacks", "folded"),
    *("weight", "check", "deadlock_timeout", "print", "monitor"),
)
Options = dict[str, Any]
Prepare = Callable[[str, Options], tuple[interpose.Prepared, dict[str, str]]]


def check(options: Options) -> None:
    for name in EXCLUDED:
        if options[name]:
            word = "--counters=1s" if name == "counters_what" else defs.load().options[name].word
            raise Fail(f"--record and {word} exclude each other; remove one", CANNOT_START)
    try:
        if options["record"] == "-":
            raise Fail("--record - is standard output, the program's own; give a file")
        files.check_writable(Path(options["record"]))
    except Fail as error:
        raise Fail(error.message, CANNOT_START) from error


def prepared(program: str, options: Options, prepare: Prepare) -> interpose.Prepared:
    """The recording library alone, or before that of `overlock run`."""
    library = native.file(LIBRARY)
    if interpose.names_a_lock(options):
        found, _ = prepare(program, options)
        return found.before(library)
    try:
        return interpose.prepare(library, program)
    except Fail as error:
        raise Fail(error.message, max(error.code, CANNOT_START)) from error


@dataclass
class Writer:
    """Makes the trace when the program has ended, however it did."""

    folder: Path
    program: str
    path: str
    written: tuple[Path, ...] = ()

    def tick(self) -> None:
        pass

    def end(self, _: int = 0) -> None:
        from overlock_tools.core.trace import raw

        found = [(pid, one) for pid, each in raw.processes(self.folder).items() for one in each]
        if settings.PID in self.path:
            for pid, one in found:
                self._write(Path(self.path.replace(settings.PID, str(pid))), one)
        elif not any(self.folder.iterdir()):
            say(
                f"no trace is written: {self.program} could not make a file in {self.folder}; "
                "the disk is full, or `ulimit -f` is too low"
            )
        elif found:
            self._write(Path(self.path), max(found, key=lambda one: len(one[1].events))[1])
        else:
            say(f"{self.program} locked no mutex, rwlock or spinlock of glibc: no trace is written")

    def _write(self, path: Path, one: "raw.Raw") -> None:
        from overlock_tools.core.trace import format as traces
        from overlock_tools.core.trace import raw

        trace = raw.trace_of(one, self.program)
        traces.write(path, trace)
        say(f"{path}: {told(trace)}")


LOST = {
    "limit": "later events are lost (--record-events, or a full disk)",
    "threads": "events of threads after the first 4096 are left out",
    "locks": "events of locks after the first 32768 are left out",
}


def told(trace: "Trace") -> str:
    active = sum(1 for thread in trace.threads if thread.events)
    text = (
        f"{len(trace.events)} events of {active} threads on {len(trace.locks)} locks, "
        f"{trace.duration_ns / 1e9:.3g} s"
    )
    lost = [f"{n} {LOST[why]}" for why, n in trace.lost.items() if n]
    return "; ".join([text, *lost])


def run(program: str, args: tuple[str, ...], options: Options, prepare: Prepare) -> int:
    check(options)
    path, variables = prepared(program, options, prepare)

    def start(records: Path) -> "subprocess.Popen[bytes]":
        ours = {
            "OVERLOCK_RECORD": str(records),
            "OVERLOCK_RECORD_EVENTS": str(options["record_events"]),
        }
        return subprocess.Popen(
            (program, *args), executable=Path(path).absolute(), env=variables | ours
        )

    folder: list[Path] = []

    def begun(records: Path) -> "subprocess.Popen[bytes]":
        folder.append(records)
        return start(records)

    def listening(_: live.Reader, __: int) -> live.Listener:
        return Writer(folder[0], Path(program).name, options["record"])

    with starting(path):
        code = live.run(begun, LOOK_S, listening)
    return live.end_as(code)
