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


def ratio_text(ratio: dict[str, Any] | None) -> tuple[str, str]:
    if ratio is None:
        return "", ""
    interval = f"{ratio['low']:.2f} – {ratio['high']:.2f}" if ratio["low"] is not None else ""
    return f"{ratio['value']:.2f}×", interval


def _plain(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)


def matrix(result: Result, done: int, total: int) -> Table:
    """While it runs: medians so far, locks by numbers of threads."""
    title = f"{result.unit}/s, medians so far: {done} of {total} cells"
    table = _plain(title)
    table.add_column("lock")
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
    table.add_column("lock")
    for heading in (f"{result.unit}/s", "range", f"÷ {result.baseline}", "95 %", "Jain"):
        table.add_column(heading, justify="right")
    table.add_column("switches/s", justify="right")
    for row in result.summary():
        if row["threads"] != threads:
            continue
        value, interval = ratio_text(row["ratio"])
        spread = f"{si(row['least'])} – {si(row['most'])}"
        switches = si(row["switches_per_second"])
        table.add_row(
            row["variant"],
            si(row["median"]),
            spread,
            value,
            interval,
            f"{row['jain']:.2f}",
            switches,
        )
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
