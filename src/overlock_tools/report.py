# SPDX-License-Identifier: MIT
"""One page that says what was measured and what it means; it needs nothing from a network."""

from html import escape
from pathlib import Path
from typing import Any

from overlock_tools import machine, plots, verdict
from overlock_tools.results import MEASURES, Result, value_of
from overlock_tools.tables import plain, ratio_text, si

# The legend's lines, by the plot's style: full, dashed (peers), dotted (a second use of a colour).
DASHES = {"-": "", "--": ' stroke-dasharray="8 4"', ":": ' stroke-dasharray="2 3"'}


def style_sheet() -> str:
    def series(which: int) -> str:
        return " ".join(f"--series-{i}: {pair[which]};" for i, pair in enumerate(plots.SERIES))

    css = Path(__file__).with_name("report.css").read_text()
    return css.replace("/* light series */", series(0)).replace("/* dark series */", series(1))


def table(headings: list[str], rows: list[list[str]], marked: set[int] | None = None) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = []
    for i, row in enumerate(rows):
        mark = ' class="baseline"' if marked and i in marked else ""
        body.append(f"<tr{mark}>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>")
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def legend(result: Result) -> str:
    entries = []
    for variant, style in plots.styles(result).items():
        dashes = DASHES[style.line]
        colour = f"var(--series-{style.index % len(plots.SERIES)})"
        line = f'<line x1="0" y1="6" x2="32" y2="6" stroke="{colour}" stroke-width="3"{dashes}/>'
        entries.append(
            f'<li><svg viewBox="0 0 32 12" aria-hidden="true">{line}</svg>{escape(variant)}</li>'
        )
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _plots(result: Result) -> str:
    over = verdict.overcommitted(result) or result.threads
    figures = []
    hollow = " Hollow: did not finish, at most this." if any(c.cut for c in result.cells) else ""
    if len(result.threads) > 1:
        figures.append(
            figure(
                plots.svg(plots.rates(result), f"{result.title}: rate over threads"),
                f"Median of {result.settings['rounds']} rounds, bars from least to most. Both axes "
                "are logarithmic. Dashed: what comes with the system. Dotted line: threads = CPUs."
                + hollow,
            )
        )
    if result.ratio(result.variants[0], result.baseline, over):
        figures.append(
            figure(
                plots.svg(plots.ratios(result, over), f"{result.title}: ratios"),
                f"Geometric mean over {verdict.counts(over)} threads, bootstrap 95 % interval."
                + hollow,
            )
        )
    return f'{legend(result)}<div class="plots">{"".join(figures)}</div>'


def _detail(result: Result, threads: int) -> str:
    headings = ["lock", f"{result.unit}/s", "least", "most", f"÷ {result.baseline}", "95 %"]
    shown = [m for m in MEASURES if m.name != "rate" and _has(result, m.name)]
    rows: list[list[str]] = []
    marked: set[int] = set()
    for row in result.summary():
        if row["threads"] != threads:
            continue
        if row["variant"] == result.baseline:
            marked.add(len(rows))
        value, interval = ratio_text(row["ratio"])
        extra = [plain(result.median_of(m.name, row["variant"], threads)) for m in shown]
        rates = [si(row[key]) for key in ("median", "least", "most")]
        if result.cut(row["variant"], threads):
            rates = ["< " + rates[0], "", "did not finish"]
        rows.append([row["variant"], *rates, value, interval, *extra])
    over = f"{threads} threads on {result.cpus} CPUs, {threads / result.cpus:g}× overcommit"
    title = f"<h3>{escape(over)}</h3>"
    return title + table(headings + [m.heading for m in shown], rows, marked) if rows else ""


def _has(result: Result, measure: str) -> bool:
    """Not every kind of result knows every measure: a program does not say who did what."""
    if measure == "jain":
        return any(cell.per_thread for cell in result.cells)
    return any(value_of(measure, cell) for cell in result.cells)


def _events(result: Result) -> str:
    from overlock_tools.measure import events_per_thousand

    parts = []
    for n in result.threads:
        found = {v: events_per_thousand(result, v, n) for v in result.variants}
        known = {v: events for v, events in found.items() if events}
        names = [
            name for name in next(iter(known.values()), {}) if any(e[name] for e in known.values())
        ]
        if names:
            rows = [[v, *(f"{e[name]:.3g}" for name in names)] for v, e in known.items()]
            parts.append(f"<h3>Events per 1000 acquisitions, {n} threads</h3>")
            parts.append(table(["lock", *(name.lower() for name in names)], rows))
    return "".join(parts)


def _glossary(result: Result) -> str:
    """What the columns mean."""
    words = [
        f"{m.heading}: {m.what}" for m in MEASURES if m.name != "rate" and _has(result, m.name)
    ]
    meaning = f"÷ {result.baseline}: median rate to that of {result.baseline}, with a bootstrap"
    return f'<p class="soft">{escape("; ".join([f"{meaning} interval over rounds", *words]))}.</p>'


def _settings(result: Result) -> str:
    words = {
        "cs_ns": "ns in the critical section",
        "ncs_ns": "ns outside it",
        "rounds": "rounds, locks shuffled in each",
        "seconds": "s per cell",
        "cpus": "CPUs used",
    }
    return ", ".join(
        f"{result.settings[key]:g} {word}" for key, word in words.items() if key in result.settings
    )


def _section(result: Result) -> str:
    said = "".join(f"<p>{escape(line)}</p>" for line in result.verdict)
    warnings = "".join(f'<p class="warning">{escape(line)}</p>' for line in result.warnings)
    partial = (
        ""
        if result.complete
        else '<p class="warning">It was interrupted: only complete cells are shown.</p>'
    )
    details = _glossary(result) + "".join(_detail(result, n) for n in result.threads)
    details += _events(result)
    return (
        f"<section><h2>{escape(result.title)}</h2>"
        f'<p class="soft">{escape(_settings(result))}.</p>'
        f'<div class="verdict">{said}</div>{partial}{warnings}{_plots(result)}'
        f"<details><summary>All figures</summary>{details}</details>"
        f"<p>Run it again:</p><pre>{escape(result.command)}</pre></section>"
    )


def _flat(facts: dict[str, Any]) -> list[list[str]]:
    def text(value: Any) -> str:
        if isinstance(value, list):
            return ", ".join(text(v) for v in value)
        if isinstance(value, dict):
            return ", ".join(f"{k} {text(v)}" for k, v in value.items())
        return f"{value:g}" if isinstance(value, float) else str(value)

    return [[key.replace("_", " "), text(value)] for key, value in facts.items()]


def _machine(result: Result) -> str:
    measured = {key: value for key, value in result.native.items() if key != "type"}
    return (
        "<section><h2>This machine</h2>"
        f"<p>{escape(machine.headline(result.machine))}</p>"
        f"<details><summary>All facts, and what the library measured at its start</summary>"
        f"{table(['fact', ''], _flat(result.machine) + _flat(measured))}</details></section>"
    )


def html(results: list[Result], command: str, conclusions: list[str] | None = None) -> str:
    """The page; `conclusions` stand above what each result says by itself."""
    first = results[0]
    lead = "".join(f"<p>{escape(line)}</p>" for line in conclusions or [])
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Overlock report</title><style>{style_sheet()}</style></head><body>"
        "<header><h1>Locks when threads outnumber CPUs</h1>"
        f'<p class="soft">{escape(machine.headline(first.machine))}</p></header>'
        + (f'<div class="verdict">{lead}</div>' if lead else "")
        + "".join(_section(result) for result in results)
        + _machine(first)
        + f"<footer><h2>How this was made</h2><pre>{escape(command)}</pre></footer></body></html>\n"
    )
