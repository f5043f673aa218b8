# SPDX-License-Identifier: MIT
"""Tables for the terminal."""

from typing import Any

from rich.console import Group
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


def _plain() -> Table:
    return Table(box=None, pad_edge=False)


def _titled(title: str, table: Table) -> Group:
    """The title on a line of its own: a table's own title is wrapped to the table's width."""
    return Group(Text(title, style="bold"), table)


def count(threads: int) -> str:
    return f"{threads} thread" + ("" if threads == 1 else "s")


def matrix(result: Result, done: int, total: int) -> Group:
    """While it runs: medians so far, locks by numbers of threads."""
    table = _plain()
    table.add_column("lock", no_wrap=True)
    for n in result.threads:
        table.add_column(count(n), justify="right", min_width=9)
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
    so_far = f", so far: {done} of {total} cells" if done < total else ""
    return _titled(f"{result.unit}/s, medians{so_far}", table)


def detail(result: Result, threads: int) -> Group:
    """When it is done: one number of threads."""
    over = threads / result.cpus
    table = _plain()
    table.add_column("lock", no_wrap=True, overflow="ignore")
    fair = any(cell.per_thread for cell in result.cells)  # a program does not say who did what
    headings = ("median", "range", f"÷ {result.baseline}", "95 %", *(["Jain"] if fair else []))
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in result.summary():
        if row["threads"] != threads:
            continue
        value, interval = ratio_text(row["ratio"])
        jain = [f"{row['jain']:.2f}"] if fair else []
        cut = result.cut(row["variant"], threads)
        rate = ("< " if cut else "") + si(row["median"])
        spread = "did not finish" if cut else span(si(row["least"]), si(row["most"]))
        table.add_row(row["variant"], rate, spread, value, interval, *jain)
    return _titled(
        f"{count(threads)} on {result.cpus} CPUs ({over:g}×), {result.unit} per second", table
    )


def overall(result: Result) -> Group:
    numbers = ", ".join(map(str, result.threads))
    table = _plain()
    table.add_column("lock")
    table.add_column("ratio", justify="right")
    table.add_column("95 %", justify="right")
    for row in sorted(result.overall(), key=lambda row: -float(row["ratio"]["value"])):
        table.add_row(row["variant"], *ratio_text(row["ratio"]))
    return _titled(f"geometric mean over {numbers} threads, ÷ {result.baseline}", table)


def counters(result: Result, threads: int) -> Group | None:
    """Events per thousand acquisitions, where the counted build was asked for."""
    rows = {v: events_per_thousand(result, v, threads) for v in result.variants}
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
    return _titled(f"events per 1000 acquisitions, {count(threads)}", table)
