# SPDX-License-Identifier: MIT
"""Drives overlock-bench: checks what is asked for, starts it, and takes its cells as they come."""

import contextlib
import json
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools import defs, machine, native, outside, stats
from overlock_tools.errors import FAILED, Fail, say
from overlock_tools.results import Cell, Result

# Beyond this a cell measures the kernel's handling of threads rather than locks.
MOST_THREADS = 10_000


@dataclass(frozen=True)
class Workload:
    """One that overlock-bench has: workload/workloads.def."""

    name: str
    title: str
    what: str


WORKLOADS = (
    Workload(
        "sections",
        "Critical and non-critical sections",
        "threads take turns in a critical section of fixed length, one lock",
    ),
)


@dataclass(frozen=True)
class Subjects:
    """What overlock-bench can measure, as it says itself."""

    facts: dict[str, Any]
    what: dict[str, str]
    peers: list[str]


def subjects(loaded: Sequence[str] = (), counted: bool = False) -> Subjects:
    program = native.file("overlock-bench-counted" if counted else "overlock-bench")
    done = subprocess.run(
        [program, *loaded], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise Fail(done.stderr.strip().removeprefix("overlock-bench: "), FAILED)
    for line in done.stderr.splitlines():  # of a variable that the library ignores
        say(line.removeprefix("overlock: "))
    facts = json.loads(done.stdout)
    listed = facts.pop("subjects")
    return Subjects(
        facts,
        {entry["id"]: entry["what"] for entry in listed},
        [entry["id"] for entry in listed if entry["kind"] == "peer"],
    )


def parse_variants(text: str, known: Subjects) -> list[str]:
    """`ticket,preemptable_ticket@tau=0@spin=500,all` as a list without repetitions."""
    variants: dict[str, None] = {}
    for word in filter(None, (word.strip() for word in text.split(","))):
        if word == "all":
            variants.update(dict.fromkeys(known.what))
        else:
            variants[_checked(word, known)] = None
    if not variants:
        raise Fail("--locks names no lock; `overlock locks` lists them, `all` takes all")
    return list(variants)


def _checked(variant: str, known: Subjects) -> str:
    name, *settings = variant.split("@")
    defs.known(known.what, name, "lock", "`overlock locks` lists them, peers included")
    checked = [name]
    for setting in settings:
        tunable, equals, value = setting.partition("=")
        if not equals:
            raise Fail(f"{variant}: a setting is NAME=VALUE, as in preemptable_ticket@tau=0")
        checked.append(f"{tunable}={defs.load().tunable(tunable).check(value)}")
    return "@".join(checked)


def parse_threads(text: str, cpus: int) -> list[int]:
    """`4,8` or, as multiples of the CPUs, `1x,2x`."""
    threads = set()
    for word in filter(None, (word.strip() for word in text.split(","))):
        number = word.removesuffix("x")
        if not (number.isascii() and number.isdigit()):
            raise Fail(f"--threads {text}: {word!r} is neither a number nor a multiple such as 2x")
        threads.add(int(number) * (cpus if word.endswith("x") else 1))
    if not threads or min(threads) < 1 or max(threads) > MOST_THREADS:
        raise Fail(f"--threads {text}: from 1 to {MOST_THREADS} threads, as in 4,8,16 or 1x,2x")
    return sorted(threads)


@dataclass(frozen=True)
class Plan:
    """What `overlock bench` asks overlock-bench for."""

    workload: Workload
    variants: list[str]
    threads: list[int]
    baseline: str
    cs_ns: float
    ncs_ns: float
    rounds: int
    seconds: float
    cpus: int | None
    counters: bool
    loaded: list[str]  # --lock-so options

    def arguments(self) -> list[str]:
        options = {
            "workload": self.workload.name,
            "threads": ",".join(map(str, self.threads)),
            "rounds": self.rounds,
            "seconds": self.seconds,
            "cs-ns": self.cs_ns,
            "ncs-ns": self.ncs_ns,
        }
        if self.cpus:
            options["cpus"] = self.cpus
        listed = [f"--{name}={value}" for name, value in options.items()]
        return self.loaded + listed + [f"--variant={variant}" for variant in self.variants]

    @property
    def cells(self) -> int:
        return len(self.variants) * len(self.threads) * self.rounds


def new_result(plan: Plan, command: str, known: Subjects) -> Result:
    settings = {
        "cpus": plan.cpus or machine.cpus(),
        "cs_ns": plan.cs_ns,
        "ncs_ns": plan.ncs_ns,
        "rounds": plan.rounds,
        "seconds": plan.seconds,
        "counters": plan.counters,
    }
    return Result(
        kind=plan.workload.name,
        title=plan.workload.title,
        unit="acquisitions",
        baseline=plan.baseline,
        command=command,
        settings=settings,
        machine=machine.facts(),
        native=known.facts,
        variants=plan.variants,
        threads=plan.threads,
        peers=[peer for peer in known.peers if peer in plan.variants],
    )


def _cell(line: dict[str, Any]) -> Cell:
    return Cell(
        round=line["round"],
        variant=line["variant"],
        threads=line["threads"],
        work=line["acquisitions"],
        seconds=line["seconds"],
        cpu_seconds=line["cpu_seconds"],
        voluntary=line["voluntary"],
        involuntary=line["involuntary"],
        per_thread=line["per_thread"],
        wrong=line["wrong"],
        drained=line["drained"],
        events=line.get("events", {}),
        wait_ns=line.get("wait_ns", 0),
        hold_ns=line.get("hold_ns", 0),
    )


@contextmanager
def _started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """The child is ended, and waited for, however we leave; it drops the cell it was at."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGTERM)
        child.wait()


def run(plan: Plan, result: Result, each: Callable[[], None]) -> None:
    """Fills result.cells, calling `each` after every one; interrupted, it leaves what is whole."""
    program = native.file("overlock-bench-counted" if plan.counters else "overlock-bench")
    then = machine.Load.now()
    with _started([str(program), *plan.arguments()]) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        for text in child.stdout:
            line = json.loads(text)
            if line["type"] == "cell":
                result.cells.append(_cell(line))
                each()
        said = child.stderr.read().strip().removeprefix("overlock-bench: ")
        code = child.wait()
    if code == 130:
        raise KeyboardInterrupt
    if code and not any(result.wrong()):
        raise Fail(said or f"overlock-bench ended with status {code}", FAILED)
    result.complete = len(result.cells) == plan.cells
    if warning := machine.busy_warning(then, machine.Load.now()):
        result.warnings.append(warning)


@contextmanager
def loaded_headers(headers: Sequence[Path], counted: bool) -> Iterator[list[str]]:
    """Compiles headers for as long as the context lasts; gives the --lock-so options."""
    with tempfile.TemporaryDirectory(prefix="overlock-") as folder:
        yield [
            f"--lock-so={outside.lock_id(h)}={outside.compile_lock(h, Path(folder), counted)}"
            for h in headers
        ]


def events_per_thousand(result: Result, variant: str, threads: int) -> dict[str, float]:
    """Median over rounds of each event per thousand acquisitions; counted build."""
    cells = [cell for cell in result.of(variant, threads) if cell.events.get("ACQUIRE")]
    if not cells:
        return {}
    return {
        name: stats.median([1000 * c.events[name] / c.events["ACQUIRE"] for c in cells])
        for name in cells[0].events
        if name != "ACQUIRE"
    }
