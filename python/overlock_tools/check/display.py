# SPDX-License-Identifier: MIT
"""What a terminal shows of checks: while they run, at the end, and where one failed."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from overlock_tools.check.capabilities import Lists
from overlock_tools.check.chart import chart
from overlock_tools.check.job import Job
from overlock_tools.check.outcome import FAILS, HOLDS, Outcome
from overlock_tools.check.pool import Pool, Running
from overlock_tools.core.model.quantities import duration, si
from overlock_tools.core.system.terminal import Running as Live

STYLES = {HOLDS: "green", FAILS: "bold red"}
DRAW_EVERY_SECONDS = 0.25
SAY_EVERY_SECONDS = 10.0


def count(number: int) -> str:
    return f"{number:,}"


def name(job: Job) -> str:
    parts = [job.subject.shown, job.shown_scenario, job.model, str(job.size)]
    return " ".join([*parts, *([job.weaken] if job.weaken else [])])


def headed(*headings: tuple[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading, justify in headings:
        table.add_column(heading, justify="right" if justify == "right" else "left", no_wrap=True)
    return table


class Progress:
    """What runs now, redrawn on a terminal; elsewhere a line for each result, and now and then."""

    def __init__(self, out: Console, total: int) -> None:
        self.out, self.total = out, total
        self.done = self.failed = 0
        self.pool: Pool | None = None
        self.drawn = self.said = time.monotonic()
        self.live = Live(out, self._drawn, self._line)

    def tick(self) -> None:
        now = time.monotonic()
        every = DRAW_EVERY_SECONDS if self.out.is_terminal else SAY_EVERY_SECONDS
        if now - self.drawn >= every:
            self.drawn = now
            self.live.update()

    def finished(self, outcome: Outcome) -> None:
        self.failed += outcome.verdict == FAILS

    def _drawn(self) -> RenderableType:
        table = headed(
            *(("checking", ""), ("executions", "right"), ("per second", "right")),
            *(("steps", "right"), ("time", "right")),
        )
        for one in self._running():
            table.add_row(
                *(name(one.job), count(one.executions), si(one.rate).strip()),
                *(count(one.steps), duration(one.seconds * 1e9)),
            )
        return Group(table, Text(self._sum()))

    def _running(self) -> Sequence[Running]:
        return [one for one in self.pool.running if not one.paused] if self.pool else ()

    def _sum(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done} of {self.total} done{failed}; Ctrl-C stops and keeps finished checks"

    def _line(self) -> str:
        running = ", ".join(
            f"{name(one.job)}: {count(one.executions)} executions, {si(one.rate).strip()}/s"
            for one in self._running()
        )
        return f"{self.done} of {self.total} done; {running}" if running else ""


LOG_WIDTH = 1000  # nothing is wrapped there
WIDE = 110  # enough for rates beside the verdicts
NARROW = 96  # too little for full numbers and a column each for scenario, model and size
MOST_WIDTH = 120  # of a chart: events, and their places at the right
LEFT, RIGHT = "left", "right"


def put(out: Console, what: RenderableType, log_width: int | None = None) -> None:
    """A log is spared the spaces that fill a table's lines, and lines may be of any length."""
    if out.is_terminal:
        out.print(what)
        return
    before, out.width = out.width, log_width or out.width
    with out.capture() as captured:
        out.print(what)
    out.width = before
    out.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def results(outcomes: Sequence[Outcome], width: int, joined: bool = False) -> Table:
    """A line for each, or one for those models that differ in nothing else.

    On a narrow terminal verdicts go on below, and no column is cut.
    """
    narrow, rates = width < NARROW, width >= WIDE
    about = [("of", LEFT)] if narrow else [(name, LEFT) for name in ("scenario", "model", "size")]
    table = headed(
        *(("lock", LEFT), *about, ("runs" if narrow else "executions", RIGHT), ("time", RIGHT)),
        *([("per second", RIGHT)] if rates else []),
        ("verdict", LEFT),
    )
    table.columns[-1].no_wrap = False
    for row in _rows(outcomes, joined):
        one, job = row[0], row[0].job
        executions, seconds = sum(o.executions for o in row), sum(o.seconds for o in row)
        of = [job.shown_scenario, ", ".join(o.job.model for o in row), str(job.size)]
        numbers = [si(executions).strip() if narrow else count(executions), duration(seconds * 1e9)]
        numbers += [si(executions / seconds if seconds else 0.0).strip()] if rates else []
        table.add_row(
            *(job.subject.shown, *([" ".join(of)] if narrow else of)),
            *([""] * len(numbers) if one.error else numbers),
            _verdict(row),
        )
    return table


def _rows(outcomes: Sequence[Outcome], joined: bool) -> list[list[Outcome]]:
    rows: dict[tuple[object, ...], list[Outcome]] = {}
    for number, one in enumerate(outcomes):
        job = one.job
        same = (job.subject, job.shown_scenario, job.size, one.words)
        rows.setdefault(same if joined else (number,), []).append(one)
    return list(rows.values())


def _verdict(row: Sequence[Outcome]) -> Text:
    verdict = Text(row[0].words, style=STYLES.get(row[0].verdict, "yellow"))
    cached = all(one.cached for one in row)
    return verdict.append("  (cached)", style="dim") if cached else verdict


def listing(out: Console, known: Lists) -> None:
    usual = {kind: f"{what}  [{known.usual[kind]}]" for kind, what in known.budgets.items()}
    for heading, entries in (
        ("scenarios", known.scenarios),
        ("models", known.models),
        ("budgets  [default per context]", usual),
    ):
        out.print(Text(heading, style="bold"))
        table = Table.grid(padding=(0, 2))
        for word, what in entries.items():
            table.add_row(Text(f"  {word}"), Text(what))
        put(out, table)
    out.print(Text("locks", style="bold"))
    for lock, scenarios in known.locks.items():
        left_out = [name for name in known.scenarios if name in known.explored - scenarios]
        out.print(Text(f"  {lock}" + (f"  (without {', '.join(left_out)})" if left_out else "")))
    out.print(Text("ways to wait that are no locks", style="bold"))
    for wait, its in known.waits.items():
        out.print(Text(f"  {wait}"))
        table = Table.grid(padding=(0, 2))
        for word, what in its.items():
            table.add_row(Text(f"    {word}"), Text(what))
        put(out, table)


def sentence(outcomes: Sequence[Outcome]) -> str:
    """The whole in a line."""
    held = sum(one.verdict == HOLDS for one in outcomes)
    failed = sum(one.verdict == FAILS for one in outcomes)
    rest = len(outcomes) - held - failed
    words = [f"{held} of {len(outcomes)} checks exhausted: hold"] if held else []
    words += [f"{failed} FAIL{'S' if failed == 1 else ''}"] if failed else []
    words += [f"{rest} not exhausted"] if rest else []
    return "; ".join(words)


def _steps(out: Console, outcome: Outcome) -> None:
    if lines := chart(outcome, min(out.width, MOST_WIDTH)):
        out.print()
        for line in lines:
            out.print(line, soft_wrap=True)


def execution(out: Console, outcome: Outcome) -> None:
    """One that was replayed."""
    if outcome.failure:
        counterexample(out, outcome)
        return
    out.print(f"{name(outcome.job)}: {outcome.words}")
    _steps(out, outcome)


def counterexample(out: Console, outcome: Outcome) -> None:
    """At most a page for a small one: what failed, how it came about, how to see it again."""
    failure, job = outcome.failure, outcome.job
    if not failure:
        return
    about = [job.subject.shown, f"scenario {job.shown_scenario}", job.model, str(job.size)]
    about += [f"{kind}={n}" for kind, n in job.budgets]
    about += [] if job.clock is None else [f"clock={job.clock}"]
    about += [f"relaxed {job.weaken}"] if job.weaken else []
    said = ", ".join(about) + ": "
    out.print()
    out.print(Text.assemble((said, "bold"), (f"FAILS: {failure.property}", "bold red")))
    if failure.how:
        out.print(Text(failure.how))
    _steps(out, outcome)
    if failure.replay:
        out.print()
        command = Text(f"  {job.command_to_replay(failure.replay)}")
        out.print(Text("To replay it:"))
        out.print(command, soft_wrap=True)  # in one piece, to be pasted


def on_threads(native: Mapping[str, Any]) -> str:
    """The same execution on real threads."""
    followed = f"{native['followed']} of {native['of']} steps"
    if native["left"]:
        return f"On real threads: left the execution after {followed}: {native['left']}."
    if native["property"]:
        return f"On real threads: {native['property']}, after {followed}: {native['how']}."
    return f"On real threads: {followed}, and nothing failed."
