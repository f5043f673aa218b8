# SPDX-License-Identifier: MIT
"""Tables for the terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.console import Group
from rich.table import Table
from rich.text import Text

from overlock_tools.results import MEASURES, Measure, Result
from overlock_tools.stats import Ratio
from overlock_tools.workloads import WITHOUT_A_LOCK

WIDTH = 100  # letters of a line
SHARES = ("spinning", "spun", "waiters")  # measures that are shown in percent


def si(value: float | None) -> str:
    """A rate in three significant digits, with the unit's prefix."""
    if value is None:
        return "·"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor * 0.9995:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g} "


def plain(value: float | None) -> str:
    """A small number with three digits, a large one as a rate is."""
    if value is None:
        return ""
    return si(value) if value >= 999.5 else f"{value:.3g}"


def duration(ns: float | None) -> str:
    """A time in three significant digits, in the unit that fits."""
    if ns is None:
        return ""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size * 0.9995:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def seconds(value: float) -> str:
    return duration(value * 1e9)


def per_unit(per_million: float) -> str:
    """CPU time per unit of work, of what is kept as seconds per million."""
    return seconds(per_million * 1e-6)


def factor(value: float) -> str:
    """A ratio in about three significant digits, never in powers of ten."""
    if value >= 100:
        digits = max(0, len(str(int(value))) - 3)
        return f"{round(value / 10**digits) * 10**digits:,}"
    if value < 5e-5:
        return "< 0.0001" if value else "0"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.01 else f"{value:.4f}"


def span(low: str, high: str) -> str:
    """`1.2 M – 1.4 M` as `1.2 – 1.4 M`."""
    prefix = low[-1]
    return f"{low[:-1].strip() if prefix == high[-1] else low.strip()} – {high.strip()}"


def ratio_text(ratio: Ratio | None) -> tuple[str, str]:
    if ratio is None:
        return "", ""
    if ratio.low is None or ratio.high is None:
        return f"{factor(ratio.value)}×", ""
    return f"{factor(ratio.value)}×", f"{factor(ratio.low)} – {factor(ratio.high)}"


def shown(measure: Measure, value: float | None) -> str:
    """A measure's value with its unit, as short as it can be read."""
    if value is None:
        return ""
    if measure.name in SHARES:
        return f"{value:.0%}"
    if measure.name == "cpu":  # its heading has the unit
        return plain(value)
    texts = {"ns": duration, "s": seconds, "/s": si}
    if measure.unit in texts:
        return texts[measure.unit](value).strip()
    return f"{value:.2f}" if value < 10 else plain(value).strip()


def named(result: Result) -> Result:
    """A workload that takes no lock goes by its own name, not by that of the lock it was given."""
    if result.kind not in WITHOUT_A_LOCK or len(result.variants) > 1:
        return result
    name = result.kind
    cells = [replace(cell, variant=name) for cell in result.cells]
    return replace(result, variants=[name], baseline=name, cells=cells)


def _plain() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))


def _titled(title: str, table: Table) -> Group:
    """The title on a line of its own: a table's own title is wrapped to the table's width."""
    return Group(Text(title, style="bold"), table)


def count(threads: int) -> str:
    return f"{threads} thread" + ("" if threads == 1 else "s")


def matrix(result: Result, done: int, total: int) -> Group:
    """While it runs: medians so far, locks by numbers of threads."""
    result = named(result)
    table = _plain()
    table.add_column("lock", no_wrap=True)
    for n in result.threads:
        table.add_column(result.worded(count(n)), justify="right", min_width=9)
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
            row.append(Text(si(rate), style=style))
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


def _drawn(title: str, columns: list[Column]) -> Group:
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
            [shown(by_name[name], result.value(name, v, threads)) for v in variants],
            least + place,
        )
        for place, name in enumerate(names)
    ]


def detail(result: Result, threads: int, default: Callable[[str], str] | None = None) -> Group:
    """When it is done: one number of threads. Ratios are to the baseline, or to each's default."""
    result = named(result)
    base = default or (lambda _: result.baseline)
    variants = [v for v in result.variants if result.of(v, threads)]
    ratios = [ratio_text(result.ratio(v, base(v), [threads])) for v in variants]
    evenness = ("least_to_most", "jain") if result.in_guests else ("jain",)
    columns = [
        Column("lock", variants),
        Column("median", [_rate(result, v, threads) for v in variants]),
        Column("range", [_range(result, v, threads) for v in variants], 1),
        Column("÷ default" if default else f"÷ {result.baseline}", [value for value, _ in ratios]),
        Column("95 %", [interval for _, interval in ratios]),
        *_measured(result, variants, threads, ("run_time", "run_time_sd"), 2),
        *_measured(result, variants, threads, (*evenness, "p99", "gap", "cpu"), 4),
    ]
    over = threads / result.cpus
    title = f"{count(threads)} on {result.cpus} CPUs ({over:g}×), {result.unit} per second"
    return _drawn(result.worded(title), columns)


def _rate(result: Result, variant: str, threads: int) -> str:
    bound = "< " if result.cut(variant, threads) else ""
    return bound + si(result.median_rate(variant, threads)).strip()


def _range(result: Result, variant: str, threads: int) -> str:
    if result.cut(variant, threads):
        return "did not finish"
    if result.given_up(variant, threads):
        return "collapsed"
    rates = result.rates(variant, threads)
    return span(si(min(rates)), si(max(rates)))


WAITS = ("p50", "p90", "p99", "p99.9", "p99.99", "max", "gap", "handover", "hold")


def latency(result: Result, threads: int) -> Group | None:
    """The distribution of waiting, where it was measured."""
    result = named(result)
    variants = [v for v in result.variants if result.value("p50", v, threads) is not None]
    if not variants:
        return None
    columns = [Column("lock", variants), *_measured(result, variants, threads, WAITS)]
    title = f"waiting to acquire, {count(threads)} on {result.cpus} CPUs"
    return _drawn(result.worded(title), columns)


def overall(result: Result) -> Group:
    result = named(result)
    numbers = ", ".join(map(str, result.threads))
    ratios = {v: result.ratio(v, result.baseline, result.threads) for v in result.variants}
    known = {v: ratio for v, ratio in ratios.items() if ratio}
    table = _plain()
    table.add_column("lock")
    table.add_column("ratio", justify="right")
    table.add_column("95 %", justify="right")
    for variant in sorted(known, key=lambda v: -known[v].value):
        table.add_row(variant, *ratio_text(known[variant]))
    title = f"geometric mean over {numbers} threads, ÷ {result.baseline}"
    return _titled(result.worded(title), table)


def counters(result: Result, threads: int) -> Group | None:
    """Events per thousand acquisitions, where the counted build was asked for."""
    result = named(result)
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
    return _titled(result.worded(f"events per 1000 acquisitions, {count(threads)}"), table)
