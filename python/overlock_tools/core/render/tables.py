# SPDX-License-Identifier: MIT
"""Tables for the terminal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.table import Table
from rich.text import Text

from overlock_tools.core.analyze import best_peer
from overlock_tools.core.model import quantities, results, stats
from overlock_tools.core.model.measures import MEASURES
from overlock_tools.core.model.results import Result

WIDTH = 100  # letters of a line


def _plain() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))


def _titled(title: str, table: Table) -> Group:
    """The title on a line of its own: a table's own title is wrapped to the table's width."""
    return Group(Text(title, style="bold"), table)


def matrix(result: Result, done: int, total: int) -> Group:
    """While it runs: medians so far, locks by numbers of threads."""
    result = results.named(result)
    table = _plain()
    table.add_column("lock", no_wrap=True)
    for n in result.threads:
        table.add_column(result.worded(quantities.count(n)), justify="right", min_width=9)
    rates = {(v, n): result.median_rate(v, n) for v in result.variants for n in result.threads}
    tops = {n: max(rates[v, n] or 0 for v in result.variants) for n in result.threads}
    for variant in result.variants:
        row: list[Text | str] = [variant]
        for n in result.threads:
            rate = rates[variant, n]
            style = ""
            if rate is not None and tops[n]:
                style = "bold green" if rate >= 0.9 * tops[n] else style
                style = "red" if rate < 0.1 * tops[n] else style
            row.append(Text(quantities.si(rate), style=style))
        table.add_row(*row)
    so_far = f", so far: {done} of {total} cells" if done < total else ""
    return _titled(f"{result.unit}/s, medians{so_far}", table)


@dataclass(frozen=True)
class Column:
    heading: str
    cells: list[str]
    dispensable: int = 0  # the greatest is left out first where there is no room

    @property
    def width(self) -> int:
        return 1 + max(len(self.heading), *map(len, self.cells))


def fitting(columns: list[Column], width: int = WIDTH) -> list[Column]:
    """What is shown where a line has so many letters."""
    kept = list(columns)
    while sum(column.width for column in kept) > width + 1:
        last = max(kept, key=lambda column: column.dispensable)
        if not last.dispensable:
            break
        kept.remove(last)
    return kept


def drawn(title: str, columns: list[Column]) -> Group:
    table = _plain()
    first, *others = fitting([column for column in columns if any(column.cells)])
    table.add_column(first.heading, no_wrap=True, overflow="ignore")
    for column in others:
        table.add_column(column.heading, justify="right", no_wrap=True)
    for row in zip(first.cells, *(column.cells for column in others), strict=True):
        table.add_row(*row)
    return _titled(title, table)


def _measured(
    result: Result, variants: list[str], threads: int, names: Sequence[str], least: int = 0
) -> list[Column]:
    """A column per measure, the last the most dispensable."""
    by_name = {measure.name: measure for measure in MEASURES}
    return [
        Column(
            by_name[name].heading,
            [quantities.shown(by_name[name], result.value(name, v, threads)) for v in variants],
            least + place,
        )
        for place, name in enumerate(names)
    ]


def detail(result: Result, threads: int, default: Callable[[str], str] | None = None) -> Group:
    """When it is done: one number of threads. Ratios are to the baseline, or to each's default."""
    result = results.named(result)
    base = default or (lambda _: result.baseline)
    variants = [v for v in result.variants if result.of(v, threads)]
    ratios = [quantities.ratio_text(result.ratio(v, base(v), [threads])) for v in variants]
    evenness = ("least_to_most", "jain") if result.in_guests else ("jain",)
    exact = ("spinning", "lhp", "lwp", "off_cpu", "hypercalls") if result.simulated else ()
    columns = [
        Column("lock", variants),
        Column("median", [_rate(result, v, threads) for v in variants]),
        Column("range", [_range(result, v, threads) for v in variants], 1),
        Column("÷ default" if default else f"÷ {result.baseline}", [value for value, _ in ratios]),
        Column("95 %", [interval for _, interval in ratios]),
        *_measured(result, variants, threads, ("run_time", "run_time_sd"), 2),
        *_measured(result, variants, threads, (*evenness, *exact, "p99", "gap", "cpu"), 4),
    ]
    over = threads / result.cpus
    title = (
        f"{quantities.count(threads)} on {result.cpus} CPUs ({over:g}×), {result.unit} per second"
    )
    return drawn(result.worded(title), columns)


def _rate(result: Result, variant: str, threads: int) -> str:
    bound = "< " if result.cut(variant, threads) else ""
    return bound + quantities.si(result.median_rate(variant, threads)).strip()


def _range(result: Result, variant: str, threads: int) -> str:
    if result.cut(variant, threads):
        return "did not finish"
    if result.given_up(variant, threads):
        return "collapsed"
    rates = result.rates(variant, threads)
    if result.simulated and len(rates) == 1:  # exact: another seed has another rate
        return ""
    return quantities.span(quantities.si(min(rates)), quantities.si(max(rates)))


WAITS = ("p50", "p90", "p99", "p99.9", "p99.99", "max", "gap", "handover", "hold")


def latency(result: Result, threads: int) -> Group | None:
    """The distribution of waiting, where it was measured."""
    result = results.named(result)
    variants = [v for v in result.variants if result.value("p50", v, threads) is not None]
    if not variants:
        return None
    columns = [Column("lock", variants), *_measured(result, variants, threads, WAITS)]
    title = f"waiting to acquire, {quantities.count(threads)} on {result.cpus} CPUs"
    return drawn(result.worded(title), columns)


def overall(result: Result) -> Group:
    result = results.named(result)
    numbers = ", ".join(map(str, result.threads))
    ratios = {v: result.ratio(v, result.baseline, result.threads) for v in result.variants}
    known = {v: ratio for v, ratio in ratios.items() if ratio}
    table = _plain()
    table.add_column("lock")
    table.add_column("ratio", justify="right")
    table.add_column("95 %", justify="right")
    for variant in sorted(known, key=lambda v: -known[v].value):
        table.add_row(variant, *quantities.ratio_text(known[variant]))
    title = f"geometric mean over {numbers} threads, ÷ {result.baseline}"
    return _titled(result.worded(title), table)


SHOWN = ("jain", "least_to_most", "gap", "cpu")


def judged(parts: Mapping[str, Result]) -> Group:
    """The baseline of each against the best of the others at each number of threads."""
    rows = [
        (name, part, j)
        for name, part in parts.items()
        for j in best_peer.judge_points(part, part.baseline)
    ]
    ours = " and ".join(dict.fromkeys(part.baseline for part in parts.values()))
    if not rows:
        needed = stats.rounds_needed()
        return Group(Text(f"There are too few rounds to judge {ours}: {needed} are needed."))
    by_name = {measure.name: measure for measure in MEASURES}

    def measured(name: str) -> list[str]:
        return [
            quantities.shown(by_name[name], part.value(name, j.ours, j.threads[0]))
            if len(j.threads) == 1
            else ""
            for _, part, j in rows
        ]

    columns = [
        Column("load", [name for name, _, _ in rows]),
        Column("threads", [str(j.threads[0]) if len(j.threads) == 1 else "all" for *_, j in rows]),
        Column("best other", [j.theirs for *_, j in rows]),
        Column("÷ it", [quantities.factor(j.bound.value) for *_, j in rows]),
        Column("≥", [_end(j.bound.low) for *_, j in rows]),
        Column("≤", [_end(j.bound.high) for *_, j in rows]),
        *(Column(by_name[name].heading, measured(name), i) for i, name in enumerate(SHOWN, 1)),
    ]
    return drawn(f"{ours} beside the best other lock; each bound holds at 95 %", columns)


def _end(bound: float | None) -> str:
    return "" if bound is None else quantities.factor(bound)


def counters(result: Result, threads: int) -> Group | None:
    """Events per thousand acquisitions, where the counted build was asked for."""
    result = results.named(result)
    rows = {v: result.events_per_thousand(v, threads) for v in result.variants}
    names = [
        n for n in next(filter(None, rows.values()), {}) if any(r.get(n) for r in rows.values())
    ]
    if not names:
        return None
    table = _plain()
    table.add_column("lock")
    for name in names:
        table.add_column(name.lower(), justify="right")
    for variant, events in rows.items():
        if events:
            table.add_row(variant, *(f"{events[n]:.3g}" if events[n] else "0" for n in names))
    return _titled(
        result.worded(f"events per 1000 acquisitions, {quantities.count(threads)}"), table
    )
