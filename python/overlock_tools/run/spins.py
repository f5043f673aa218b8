# SPDX-License-Identifier: MIT
"""`overlock run --spins`: waiting loops that yield, and what was found of them."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail, say
from overlock_tools.run import live
from overlock_tools.run.starting import starting

LIBRARY = "liboverlock-run-spins.so"
LOOK_S = 3600.0  # nothing is to be done before the program ends
AUTO = "auto"
DRY_RUN = "dry-run"
REPORT = "report"
NAMED = re.compile(r"[^,+]+\+0x[0-9a-f]+")  # a loop: libblis.so.4+0xb059e0
UNWANTED = "only if it is named"


def words(options: dict[str, Any]) -> str:
    """What the library is told; empty without --spins."""
    what: str | None = options["spins_what"]
    if what is None:
        return AUTO if options["spins"] else ""
    for word in what.split(","):
        if word not in (AUTO, DRY_RUN, REPORT) and not NAMED.fullmatch(word):
            raise Fail(
                f"--spins={word}: expected {AUTO}, {DRY_RUN}, {REPORT}, or a loop as they list it: "
                "libblis.so.4+0xb059e0"
            )
    return f"{AUTO},{what}" if what == REPORT else what


def reports(words: str) -> bool:
    return bool({DRY_RUN, REPORT} & set(words.split(",")))


def library() -> Path:
    try:
        return native.file(LIBRARY)
    except Fail as error:
        raise Fail(
            f"--spins needs x86-64, and libzydis-dev to be built: {error.message}"
        ) from error


def variables(words: str) -> dict[str, str]:
    return {"OVERLOCK_SPINS": words} if words else {}


@dataclass(frozen=True)
class Loop:
    object: str
    begin: int
    end: int
    kind: str
    refused: str  # why it is as it was; empty: it yields
    retargeted: int  # how often its jumps were: again when its object was loaded again
    waited: bool  # a thread did
    yields: int
    found: int  # of the yields: others ran
    yielded_ns: int

    @property
    def name(self) -> str:
        return f"{self.object}+{self.begin:#x}"


@dataclass(frozen=True)
class Process:
    pid: int
    why_not: str  # nothing was done, or not all
    last: bool  # at its end: nothing happened since
    loops: list[Loop]


def read(folder: Path) -> list[Process]:
    found = []
    for path in sorted(folder.glob("*.json")):
        raw = json.loads(path.read_text(errors="surrogateescape"))
        loops = [Loop(**loop) for loop in raw["loops"]]
        found.append(Process(raw["pid"], raw["why_not"], raw["last"], loops))
    return found


# What the library says of a loop that it left alone by choice, and how it is told.
SHOWN = {"": "yields", "only asked for": "would yield", UNWANTED: "would yield if it is named"}


def rows(process: Process, everything: bool) -> list[Loop]:
    """Loops in which threads waited, the most yields first; and, of a trial, all others."""
    waited = sorted((one for one in process.loops if one.waited), key=lambda one: -one.yields)
    others = [one for one in process.loops if not one.waited] if everything else []
    return waited + sorted(others, key=lambda one: one.refused not in SHOWN)


def table(loops: list[Loop]) -> Table:
    made = Table(box=None, pad_edge=False)
    for heading in ("loop", "kind", ""):
        made.add_column(heading, overflow="fold")
    for heading in ("yields", "others ran", "given away"):
        made.add_column(heading, justify="right")
    for loop in loops:
        counts = (f"{loop.yields}", f"{loop.found}", f"{loop.yielded_ns / 1e9:.2f} s")
        what = SHOWN.get(loop.refused, loop.refused)
        made.add_row(loop.name, loop.kind, what, *(counts if loop.waited else ()))
    return made


def summary(process: Process, program: str) -> str:
    changed = [loop for loop in process.loops if not loop.refused]
    words = [
        f"{program}, process {process.pid}: {len(changed)} waiting loops yield",
        f"threads waited in {sum(loop.waited for loop in changed)} of them",
        f"{sum(loop.yields for loop in changed)} yields",
    ]
    if cannot := sum(loop.refused not in SHOWN for loop in process.loops):
        words.append(f"{cannot} others cannot be changed")
    if not process.last:
        words.append("it wrote no last report: these are of when it last created a thread")
    return "; ".join(words)


@dataclass
class Reporter:
    folder: Path
    program: str
    everything: bool

    def tick(self) -> None:
        pass

    def end(self, _: int = 0) -> None:
        console = Console(stderr=True)
        for process in read(self.folder):
            if process.why_not:
                what = "not every library was looked at" if process.loops else "no loop was changed"
                say(f"process {process.pid}: {what}: {process.why_not}")
            if process.why_not and not process.loops:
                continue
            say(summary(process, self.program))
            if loops := rows(process, self.everything):
                console.print(table(loops))


def run(program: str, args: tuple[str, ...], variables: dict[str, str]) -> int:
    """Stays, and says at the end what was found."""
    folder: list[Path] = []

    def start(records: Path) -> "subprocess.Popen[bytes]":
        folder.append(records)
        env = variables | {"OVERLOCK_SPINS_OUTPUT": str(records)}
        return subprocess.Popen(args, executable=Path(program).absolute(), env=env)

    def listening(_: live.Reader, __: int) -> live.Listener:
        everything = DRY_RUN in variables["OVERLOCK_SPINS"].split(",")
        return Reporter(folder[0], Path(program).name, everything)

    with starting(program):
        return live.run(start, LOOK_S, listening)
