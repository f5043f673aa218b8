# SPDX-License-Identifier: MIT
"""What the guest commands say on a terminal, and in a log."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from overlock_tools.core.analyze import ministat, paper_claims
from overlock_tools.core.model import paper_settings, plan, quantities, stats
from overlock_tools.core.model.measures import MEASURES, Measure
from overlock_tools.core.model.results import Result
from overlock_tools.guest import results
from overlock_tools.guest.build import Progress
from overlock_tools.guest.experiments.experiment import SMALLER, Experiment
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


def rates(result: Result, out: Console) -> None:
    """Locks by rigs: the median, and from the least to the most of the rounds."""
    guests = int(result.parameters["guests"])
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("lock", no_wrap=True)
    for vcpus in result.threads:
        table.add_column(f"{guests}×{vcpus}", justify="right", no_wrap=True)
    table.add_column("least/most of a vCPU", justify="right", no_wrap=True)
    for variant in result.variants:
        table.add_row(
            variant, *(_cell(result, variant, n) for n in result.threads), _even(result, variant)
        )
    out.print(Text(f"{result.title}, {result.unit} per second", style="bold"), table, "")
    for line in results.beyond(result):
        out.print(line, soft_wrap=True, highlight=False)


def _cell(result: Result, variant: str, threads: int) -> str:
    found = result.rates(variant, threads)
    if not found:
        return "·"
    bound = "< " if result.cut(variant, threads) else ""
    text = bound + quantities.si(result.median_rate(variant, threads)).strip()
    return f"{text} ({quantities.span(quantities.si(min(found)), quantities.si(max(found)))})"


def measures(result: Result, names: Sequence[str], out: Console) -> None:
    """Of each lock at each number of vCPUs, with the range of the rounds for rates."""
    known = {measure.name: measure for measure in MEASURES}
    guests = int(result.parameters["guests"])
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("lock", no_wrap=True)
    for heading in ("rig", *(known[name].heading for name in names)):
        table.add_column(heading, justify="right", no_wrap=True)
    for vcpus in result.threads:
        for variant in result.variants:
            if result.of(variant, vcpus):
                cells = [_measured(result, known[name], variant, vcpus) for name in names]
                table.add_row(variant, f"{guests}×{vcpus}", *cells)
    out.print(Text(f"{result.title}; rate in {result.unit}", style="bold"), table, "")


def _measured(result: Result, measure: Measure, variant: str, threads: int) -> str:
    if measure.name == "rate":
        return _cell(result, variant, threads)
    return quantities.shown(measure, result.value(measure.name, variant, threads))


def claims(experiment: Experiment, results: Mapping[str, Result], out: Console) -> None:
    """What the paper says, and whether it is so here."""
    for result in results.values():
        if result.statistic == paper_settings.MINISTAT:
            for text in ministat.compared(result):
                out.print(text, highlight=False)
    for part, claim in _claimed(experiment, results):
        where = f"{paper_settings.CITED[claim.paper]}, {claim.figure}" + (
            f", {part}" if part else ""
        )
        said = Text(f"{where}: {claim.sentence} [{claim.verdict}]", style="bold")
        out.print(said, soft_wrap=True)
        out.print(f"    {claim.reason}", soft_wrap=True, highlight=False)
    slices = {str(r.native["slices_by"]) for r in results.values() if "slices_by" in r.native}
    if slices:
        out.print(f"Source of slice ends: {', '.join(sorted(slices))}.")
    other = f"{experiment.otherwise}; {SMALLER}" if experiment.otherwise else SMALLER
    out.print(f"Differences from the paper: {other}.", soft_wrap=True)


def _claimed(
    experiment: Experiment, results: Mapping[str, Result]
) -> Iterator[tuple[str, paper_claims.Claim]]:
    """Of all parts together, then of each by itself, as far as it was measured there."""
    for claim in experiment.claims(results):
        yield "", claim
    for part, result in results.items():
        for claim in paper_claims.claims(result):
            ours = claim.paper == experiment.paper
            if ours and claim.verdict != paper_claims.Verdict.NOT_MEASURED:
                yield part, claim


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
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("lock", no_wrap=True)
    for heading in REPLAY:
        table.add_column(heading, justify="right", no_wrap=True)
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


def counts(result: Result, names: Sequence[str], out: Console) -> None:
    """Events by themselves: the median of the rounds."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("lock", no_wrap=True)
    for heading in ("vCPUs", *(name.lower() for name in names)):
        table.add_column(heading, justify="right", no_wrap=True)
    for vcpus in result.threads:
        for variant in result.variants:
            cells = result.of(variant, vcpus)
            found = [
                stats.median([c.events.get(name, 0) for c in cells]) for name in names if cells
            ]
            if found:
                table.add_row(variant, str(vcpus), *(quantities.plain(v).strip() for v in found))
    out.print(Text("Counted, medians", style="bold"), table, "")


def pairs(found: Mapping[str, Pair], baseline: str, out: Console) -> None:
    """Instructions of an uncontended spin_lock() and spin_unlock()."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("lock", no_wrap=True)
    for heading in ("lock()", "unlock()", "both", f"÷ {baseline}"):
        table.add_column(heading, justify="right", no_wrap=True)
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
