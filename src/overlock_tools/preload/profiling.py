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
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from overlock_tools.preload import live, stacks
from overlock_tools.system import files, symbols
from overlock_tools.system.errors import Fail

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
            with open("/dev/tty", "w", encoding="utf-8") as out:
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
            report: Report = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return None
        self.read = now
        return report


@dataclass(frozen=True)
class Ended:
    code: int  # minus the signal that ended it
    last: Report | None  # the report at its end, if it wrote one

    @property
    def how(self) -> str:
        return f"ended by signal {-self.code}" if self.code < 0 else "ended by _exit() or exec"


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
    number: int | None = None,
) -> Ended:
    """To its end; each report is written, those asked for by that signal too."""
    child: subprocess.Popen[bytes] | None = None
    with tempfile.TemporaryDirectory(prefix="overlock-") as folder:
        path = Path(folder) / "report"
        env = variables | {"OVERLOCK_OUTPUT": f"{path}.%p"}
        env.pop("OVERLOCK_PID", None)  # it is a child of ours
        live.forwarding(lambda: child, *([number] if number else []))
        # Absolute, for subprocess looks a name alone up on PATH.
        child = subprocess.Popen(args, executable=program.absolute(), env=env)
        reader = Reader(Path(f"{path}.{child.pid}"))

        def look() -> None:
            try:
                if report := reader.new():
                    write(report)
            except Fail as error:  # the program goes on, and so do we
                tell(error.message)

        code = _wait(child, look if number else None)
        last = reader.new()
        if last:
            write(last)
        return Ended(code, last if last and last["ended"] else None)
