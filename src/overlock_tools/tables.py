# SPDX-License-Identifier: MIT
"""Tables for the terminal."""

from typing import Any

from rich.table import Table
from rich.text import Text

from overlock_tools.measure import events_per_thousand
from overlock_tools.results import Result


def si(value: float | None) -> str:
    """A rate in three significant digits, with the unit's prefix."""
    if value is None:
        return "·"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g} "


def plain(value: float | None) -> str:
    """A small number with three digits, a large one as a rate is."""
    if value is None:
        return ""
    return si(value) if value >= 1000 else f"{value:.3g}"


def factor(value: float) -> str:
    """A ratio in about three significant digits, never in powers of ten."""
    if value >= 100:
        digits = max(0, len(str(int(value))) - 3)
        return f"{round(value / 10**digits) * 10**digits:,}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.01 else f"{value:.4f}"


def span(low: str, high: str) -> str:
    """`1.2 M – 1.4 M` as `1.2 – 1.4 M`."""
    prefix = low[-1]
    return f"{low[:-1].strip() if prefix == high[-1] else low.strip()} – {high.strip()}"


def ratio_text(ratio: dict[str, Any] | None) -> tuple[str, str]:
    if ratio is None:
        return "", ""
    known = ratio["low"] is not None
    interval = f"{factor(ratio['low'])} – {factor(ratio['high'])}" if known else ""
    return f"{factor(ratio['value'])}×", interval


def _plain(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)


def matrix(result: Result, done: int, total: int) -> Table:
    """While it runs: medians so far, locks by numbers of threads."""
    title = f"{result.unit}/s, medians so far: {done} of {total} cells"
    table = _plain(title)
    table.add_column("lock", no_wrap=True)
    for n in result.threads:
        table.add_column(f"{n} threads", justify="right", min_width=9)
    tops = {n: max(result.median_rate(v, n) or 0 for v in result.variants) for n in result.threads}
    for variant in result.variants:
        row: list[Text | str] = [variant]
        for n in result.threads:
            rate = result.median_rate(variant, n)
            style = ""
            if rate is not None and tops[n]:
                style = "bold green" if rate >= 0.9 * tops[n] else style
                style = "red" if rate < 0.1 * tops[n] else style
            row.append(Text(si(rate), style=style))
        table.add_row(*row)
    return table


def detail(result: Result, threads: int) -> Table:
    """When it is done: one number of threads."""
    over = threads / result.cpus
    table = _plain(f"{threads} threads on {result.cpus} CPUs ({over:g}×)")
    table.add_column("lock", no_wrap=True, overflow="ignore")
    for heading in (f"{result.unit}/s", "range", f"÷ {result.baseline}", "95 %", "Jain"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in result.summary():
        if row["threads"] != threads:
            continue
        value, interval = ratio_text(row["ratio"])
        fair = f"{row['jain']:.2f}" if any(c.per_thread for c in result.cells) else ""
        cut = result.cut(row["variant"], threads)
        rate = ("< " if cut else "") + si(row["median"])
        spread = "did not finish" if cut else span(si(row["least"]), si(row["most"]))
        table.add_row(row["variant"], rate, spread, value, interval, fair)
    return table


def overall(result: Result) -> Table:
    numbers = ", ".join(map(str, result.threads))
    table = _plain(f"geometric mean over {numbers} threads, ÷ {result.baseline}")
    table.add_column("lock")
    table.add_column("ratio", justify="right")
    table.add_column("95 %", justify="right")
    for row in sorted(result.overall(), key=lambda row: -float(row["ratio"]["value"])):
        table.add_row(row["variant"], *ratio_text(row["ratio"]))
    return table


def counters(result: Result, threads: int) -> Table | None:
    """Events per thousand acquisitions, where the counted build was asked for."""
    rows = {v: events_per_thousand(result, v, threads) for v in result.variants}
    names = [
        n for n in next(filter(None, rows.values()), {}) if any(r.get(n) for r in rows.values())
    ]
    if not names:
        return None
    table = _plain(f"events per 1000 acquisitions, {threads} threads")
    table.add_column("lock")
    for name in names:
        table.add_column(name.lower(), justify="right")
    for variant, events in rows.items():
        if events:
            table.add_row(variant, *(f"{events[n]:.3g}" if events[n] else "0" for n in names))
    return table
