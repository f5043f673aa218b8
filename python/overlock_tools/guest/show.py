# SPDX-License-Identifier: MIT
"""What the guest commands say on a terminal, and in a log."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from overlock_tools.core.model import plan, quantities
from overlock_tools.core.model.results import Result
from overlock_tools.guest import results
from overlock_tools.guest.build import Progress
from overlock_tools.guest.instruction_counts import Pair

LINE_SECONDS = 20.0


class Compiling:
    """A bar on a terminal, else a line now and then."""

    def __init__(self, console: Console, progress: Progress) -> None:
        self.console, self.progress = console, progress
        self.bar: Bar | None = None
        self.task: TaskID | None = None
        self.said = time.monotonic()

    def stage(self, what: str) -> None:
        self.console.print(what)
        self.said = time.monotonic()

    def step(self, _: str) -> None:
        done, total = self.progress.done, max(self.progress.total, self.progress.done)
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=done, total=total)
        elif time.monotonic() - self.said > LINE_SECONDS:
            left = self.progress.seconds_left
            rest = f", about {plan.in_words(left)} left" if left is not None else ""
            self.console.print(f"{done} of about {total} steps{rest}")
            self.said = time.monotonic()

    @contextmanager
    def shown(self) -> Iterator[None]:
        if not self.console.is_terminal:
            yield
            return
        columns = (TextColumn("steps"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Bar(*columns, console=self.console, transient=True) as self.bar:
            self.task = self.bar.add_task("build", total=None)
            yield
        self.bar = None


def table_of_locks(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("lock", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def rates(result: Result, out: Console) -> None:
    """Locks by rigs: the median, and from the least to the most of the rounds."""
    guests = int(result.parameters["guests"])
    rigs = (f"{guests}×{vcpus}" for vcpus in result.threads)
    table = table_of_locks(*rigs, "least/most of a vCPU")
    for variant in result.variants:
        table.add_row(
            variant, *(cell(result, variant, n) for n in result.threads), _even(result, variant)
        )
    out.print(Text(f"{result.title}, {result.unit} per second", style="bold"), table, "")
    for line in results.beyond(result):
        out.print(line, soft_wrap=True, highlight=False)


def cell(result: Result, variant: str, threads: int) -> str:
    found = result.rates(variant, threads)
    if not found:
        return "·"
    bound = "< " if result.cut(variant, threads) else ""
    text = bound + quantities.si(result.median_rate(variant, threads)).strip()
    return f"{text} ({quantities.span(quantities.si(min(found)), quantities.si(max(found)))})"


REPLAY: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "in order": lambda of: f"{of['in_order']:.0%}",
    "waiting": lambda of: f"{of['replayed']['waiting']:.1%}",
    "contended": lambda of: f"{of['replayed']['contended']:.1%}",
    "Δ wait share": lambda of: "few" if of["few"] else f"{of['waits']:.2f}",
    "Δ use": lambda of: f"{of['use']:.2f}",
    "pace": lambda of: f"{of['pace']:.2f}",
    "trace took": lambda of: f"{of['pass_seconds']:.3g} s" if of["pass_seconds"] else "",
    "missed": lambda of: ", ".join(of["misses"]) or "none",
}


def replays(result: Result, out: Console) -> None:
    """Each round of each lock beside what was recorded."""
    table = table_of_locks(*REPLAY)
    recorded = None
    for variant in result.variants:
        for cell in result.of(variant, result.threads[0]):
            for of in cell.replays:
                recorded = of["recorded"]
                table.add_row(variant, *(told(of) for told in REPLAY.values()))
    if recorded:
        title = f"Beside the recording, which waited {recorded['waiting']:.1%} of the time and "
        title += f"found {recorded['contended']:.1%} of the locks taken"
        out.print(Text(title, style="bold"), table)


def pairs(found: Mapping[str, Pair], baseline: str, out: Console) -> None:
    """Instructions of an uncontended spin_lock() and spin_unlock()."""
    table = table_of_locks("lock()", "unlock()", "both", f"÷ {baseline}")
    for lock, pair in found.items():
        ratio = (
            quantities.factor(pair.both / found[baseline].both) + "×" if baseline in found else ""
        )
        table.add_row(lock, str(pair.lock), str(pair.unlock), str(pair.both), ratio)
    title = "Instructions of an uncontended spin_lock() and spin_unlock()"
    out.print(Text(title, style="bold"), table)


def _even(result: Result, variant: str) -> str:
    """At the most vCPUs of the rigs."""
    share = result.value("least_to_most", variant, result.threads[-1])
    return "" if share is None else f"{share:.2f}"


def in_force(facts: dict[str, Any]) -> str:
    """As the guest itself says it."""
    parking = f", parking of waiters: {facts['parking']}" if facts.get("parking") else ""
    return f"{facts['lock']}{parking}"
