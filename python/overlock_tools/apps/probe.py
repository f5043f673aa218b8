# SPDX-License-Identifier: MIT
"""One counted cell of each program: whether its locks matter, and how long they are held."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from overlock_tools.apps import executor, results
from overlock_tools.apps.app import App
from overlock_tools.apps.executor import Setting
from overlock_tools.bench import subjects
from overlock_tools.bench.conditions.base import ended_in_order
from overlock_tools.bench.executor import Impossible
from overlock_tools.core.analyze.paper_claims import CSD_NS, MEAN_CSD_NS
from overlock_tools.core.model import plan
from overlock_tools.core.model.histograms import Times
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.plan import Place
from overlock_tools.core.model.quantities import duration, si
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail

# Waits of less than this share of the threads' time: another lock can hardly make a difference.
MATTERS = 0.01
WARM_UP_SECONDS = 0.5
MICROSECOND_NS = 1000.0


@dataclass(frozen=True)
class Probe:
    lock: str
    threads: int
    seconds: float


def cells(
    apps: Sequence[type[App]], probe: Probe, setting: Setting, out: Console
) -> Iterator[tuple[str, Cell]]:
    """By program's name; of one that does not run it is said why."""
    options = {
        "baseline": probe.lock,
        "seed": 1,
        "rounds": 1,
        "seconds": probe.seconds,
        "counters": True,
        "pilot": False,
    }
    place = Place(probe.lock, probe.threads)
    with ended_in_order(), executor.ready(setting) as ready:
        for app in apps:
            ready.take(app, app.parameters({}), [probe.threads])
            planned = results.planned(app, [probe.lock], [probe.threads], {}, options)
            one = ready.apps[app.name]
            ready.results[app.name] = results.new_result(planned, one, setting, [])
            try:
                one.set_up()
                answer = ready.measure(planned.line(1, place, probe.seconds))
                yield app.name, subjects.cell_of(answer, 1, probe.lock)
            except (Fail, Impossible) as error:
                out.print(f"{app.name}: {error}", soft_wrap=True, highlight=False)


@dataclass(frozen=True)
class Fact:
    """What a program's own locks were used for."""

    name: str
    per_second: float  # acquisitions
    waited: float  # of them, those that found the lock taken
    waiting: float  # of the threads' time

    @property
    def words(self) -> str:
        if self.waiting >= MATTERS:
            return "matters"
        return "hardly matters" if self.per_second >= 1 else "none is replaced"

    @classmethod
    def of(cls, name: str, cell: Cell) -> "Fact":
        acquired = cell.events.get("ACQUIRE", 0)
        waited = cell.events.get("SLOW_PATH", 0)
        waiting = (cell.wait_ns or 0) * 1e-9 / (cell.seconds * cell.threads)
        return cls(name, acquired / cell.seconds, waited / max(acquired, 1), waiting)


def facts(apps: Sequence[type[App]], probe: Probe, out: Console) -> list[Fact]:
    out.print(
        f"counted under {probe.lock}, {probe.threads} threads, {probe.seconds:g} s each:",
        highlight=False,
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("program", no_wrap=True)
    for heading in ("acquisitions", "waited", "of threads' time", "another lock"):
        table.add_column(heading, justify="right", no_wrap=True)
    counting = Setting(WARM_UP_SECONDS, counted=True)
    found = [Fact.of(name, cell) for name, cell in cells(apps, probe, counting, out)]
    for fact in found:
        rate = f"{si(fact.per_second)}/s"
        table.add_row(fact.name, rate, f"{fact.waited:.1%}", f"{fact.waiting:.1%}", fact.words)
    out.print(table)
    return found


@dataclass(frozen=True)
class Held:
    """How long a program's locks were held, beside Teabe et al.'s Figure 3."""

    name: str
    count: int
    median_ns: float
    mean_ns: float
    p99_ns: float
    longest_ns: float
    over_1_us: float
    over_mean_csd: float
    over_csd: float

    @classmethod
    def of(cls, name: str, cell: Cell) -> "Held | None":
        times = Times([cell.hold])
        if not times.count:
            return None
        return cls(
            name,
            times.count,
            times.percentile(50),
            times.mean,
            times.percentile(99),
            times.percentile(100),
            *(times.share_above(ns) for ns in (MICROSECOND_NS, MEAN_CSD_NS, CSD_NS)),
        )


HEADINGS = ("held", "median", "mean", "99 %", "longest", "≤ 1 µs", "≤ 2^12", "≤ 2^14")


def csd(apps: Sequence[type[App]], probe: Probe, file: Path | None, out: Console) -> int:
    """The durations of critical sections."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("program", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    found: list[dict[str, Any]] = []
    setting = Setting(WARM_UP_SECONDS, counted=True, histograms=True)
    for name, cell in cells(apps, probe, setting, out):
        held = Held.of(name, cell)
        if not held:
            table.add_row(name, "none")
            continue
        found.append(asdict(held))
        times = (held.median_ns, held.mean_ns, held.p99_ns, held.longest_ns)
        over = (held.over_1_us, held.over_mean_csd, held.over_csd)
        shares = (f"{1 - share:.2%}" for share in over)
        table.add_row(name, si(held.count), *map(duration, times), *shares)
    out.print(table)
    for line in (
        f"2^12 and 2^14 cycles: mean and bound of Teabe et al. 2017, {duration(MEAN_CSD_NS)} and "
        f"{duration(CSD_NS)} on their machines. Times are accurate within a factor of 1.5.",
        f"Hold times under {probe.lock} with {probe.threads} threads. The longest include sleep "
        "and preemption of the holder.",
    ):
        out.print(line, soft_wrap=True, highlight=False)
    if file:
        body = {"format": "overlock-csd", "version": 1, **asdict(probe), "programs": found}
        files.write(file, json.dumps(body, indent=1) + "\n")
    return 0


def threads_of(text: str, cpus: int) -> int:
    numbers = plan.parse_threads(text, cpus)
    if len(numbers) != 1:
        raise Fail(f"--threads {text}: expected one number, as in 4x")
    return numbers[0]
