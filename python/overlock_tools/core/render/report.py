# SPDX-License-Identifier: MIT
"""One page that shows what was measured and says what it means; it needs nothing from a network."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from overlock_tools.core.analyze import ministat, paper_claims, verdict, wording
from overlock_tools.core.analyze.derived import View
from overlock_tools.core.model import paper_settings
from overlock_tools.core.model.measures import MEASURES, Measure
from overlock_tools.core.model.quantities import ratio_text, shown, si
from overlock_tools.core.model.results import Result
from overlock_tools.core.render import canvas, figures, heat, plots
from overlock_tools.core.render.glossary import GLOSSARY, METHOD, SIMULATED
from overlock_tools.core.system import machine

# The page forbids the browser to load anything.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
THEME = '<button id="theme" type="button" hidden aria-label="Light or dark">◐</button>'


def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text()


def style_sheet() -> str:
    series = " ".join(
        f"--series-{i}: light-dark({light}, {dark});"
        for i, (light, dark) in enumerate(canvas.SERIES)
    )
    return _file("report.css").replace("/* series */", series)


def paragraphs(lines: Iterable[str], kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return "".join(f"<p{mark}>{escape(line)}</p>" for line in lines)


def said(lines: Sequence[str]) -> str:
    """The first is the conclusion."""
    return f'<div class="verdict">{paragraphs(lines)}</div>' if lines else ""


def details(summary: str, body: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{body}</details>" if body else ""


@dataclass(frozen=True)
class Row:
    cells: Sequence[str]  # the first is the row's name
    variant: str = ""
    baseline: bool = False

    @property
    def html(self) -> str:
        first, *rest = heat.broken(self.cells[0]), *map(escape, self.cells[1:])
        mark = f' data-s="{escape(self.variant)}"' if self.variant else ""
        mark += ' class="baseline"' if self.baseline else ""
        cells = "".join(f"<td>{cell}</td>" for cell in rest)
        return f'<tr{mark}><th scope="row">{first}</th>{cells}</tr>'


def table(headings: Sequence[str], rows: Iterable[Row], wordy: bool = False) -> str:
    kind = ' class="wordy"' if wordy else ""
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "".join(row.html for row in rows)
    return (
        f'<div class="scroll"><table{kind}><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


# The top of the page


def _contents(views: Sequence[View]) -> str:
    entries = "".join(
        f'<li><a href="#{view.anchor}">{escape(view.name)}</a></li>' for view in views
    )
    return f'<ul class="contents">{entries}</ul>'


def _overview(views: Sequence[View], conclusions: Sequence[str]) -> str:
    if len(views) == 1:
        return said(conclusions)
    lines = said([*conclusions, *verdict.overall(views)])
    tables = heat.tables(views)
    first = tables[0].html if tables else ""
    machines = _machines(views)
    if len(machines) > 1:
        warning = f"These results come from {len(machines)} machines: compare only within a column."
        first = paragraphs([warning], "warning") + first
    more = "".join(one.html for one in tables[1:])
    return (
        f"<section>{lines}{first}{details('Waiting, gaps and CPU time', more)}"
        f"<h3>Workloads</h3>{_contents(views)}</section>"
    )


# One result


def legend(view: View) -> str:
    """Those that stand out first; each a button that picks the lock out everywhere."""
    drawn = canvas.styles(view)
    ordered = sorted(view.variants, key=lambda v: (not drawn[v].role, not drawn[v].bold))
    entries = []
    for variant in ordered:
        style = drawn[variant]
        dashes = ' stroke-dasharray="6 3"' if style.dashed else ""
        line = (
            f'<line x1="0" y1="6" x2="28" y2="6" stroke="var(--series-{style.colour})" '
            f'stroke-width="{4 if style.bold else 2}"{dashes}/>'
        )
        role = f" <small>{style.role}</small>" if style.role else ""
        entries.append(
            f'<li><button type="button" aria-pressed="false" data-s="{escape(variant)}">'
            f'<svg viewBox="0 0 28 12" aria-hidden="true">{line}</svg>{escape(variant)}{role}'
            "</button></li>"
        )
    return (
        f'<ul class="legend" aria-label="Highlight a lock in all figures">{"".join(entries)}</ul>'
    )


def _captions(view: View) -> dict[str, list[str]]:
    """By figure what it shows, but for the conclusion, which stands above."""
    told = verdict.conclusion(view)
    return {
        kind.name: [line for line in map(view.result.worded, kind.said(view)) if line != told]
        for kind in figures.of(view)
    }


def _summary(view: View, captions: dict[str, list[str]]) -> list[str]:
    """The conclusion, and what no figure shows."""
    shown = {line for lines in captions.values() for line in lines}
    lines = [line for line in verdict.summary(view) if line not in shown]
    return list(dict.fromkeys([verdict.conclusion(view), *lines]))


def _figures(view: View, captions: dict[str, list[str]]) -> str:
    drawn = []
    for kind in figures.of(view):
        title = kind.title_of(view)
        picture = plots.svg(kind.draw(view, None), f"{view.name}: {title}")
        words = paragraphs(captions[kind.name]) + paragraphs([kind.how], "soft")
        drawn.append(
            f"<figure><h3>{escape(title)}</h3>{picture}<figcaption>{words}</figcaption></figure>"
        )
    return f'{legend(view)}<p class="soft">{escape(figures.key(view))}</p>' + (
        f'<div class="plots">{"".join(drawn)}</div>'
    )


def _scenario(view: View) -> str:
    proofs: dict[str, dict[str, Any]] = view.result.scenario.get("proof") or {}
    lines = []
    for name, proof in proofs.items():
        kept = "Verified from outside" if proof["held"] else "NOT HELD"
        lines.append(f"{kept}, {name}: {proof['words']}.")
    return paragraphs(lines)


def _parameters(result: Result) -> str:
    words = {
        "cs": "ns in the critical section",
        "ncs": "ns outside it",
        "rounds": "seeds" if result.simulated else "rounds, locks shuffled in each",
        "seconds": "s per cell",
        "turns": "iterations per thread",
        "cpus": "CPUs used",
    }
    values = {**result.parameters, **result.settings}
    known = [f"{_text(values[k])} {word}" for k, word in words.items() if values.get(k)]
    rest = [
        f"{k.replace('_', ' ')} {_text(v)}" for k, v in result.parameters.items() if k not in words
    ]
    return ", ".join(known + rest)


def _measures(view: View) -> list[Measure]:
    return [m for m in MEASURES if m.name != "rate" and view.has(m.name)]


def _table_of(view: View, threads: int, measures: Sequence[Measure]) -> str:
    result = view.result
    headings = ["lock", f"{result.unit}/s", "least", "most", f"÷ {result.baseline}", "95 %"]
    rows = []
    for variant in view.variants:
        rate = view.spread("rate", variant, threads)
        if not rate:
            continue
        value, interval = ratio_text(view.ratio(variant, result.baseline, [threads]))
        rates = [si(rate.value), si(rate.least), si(rate.most)]
        if view.unfinished(variant, threads):
            at_most = "< " if view.cut(variant, threads) else ""
            rates = [at_most + si(rate.value), "", view.why(variant, threads)]
        extra = [shown(m, view.value(m.name, variant, threads)) for m in measures]
        cells = [variant, *rates, value, interval, *extra]
        rows.append(Row(cells, variant, variant == result.baseline))
    if not rows:
        return ""
    over = f"{threads} threads on {result.cpus} CPUs, {threads / result.cpus:g}× overcommit"
    return f"<h3>{escape(over)}</h3>" + table(headings + [m.heading for m in measures], rows)


def _events(view: View) -> str:
    parts = []
    for n in view.threads:
        found = {v: view.result.events_per_thousand(v, n) for v in view.variants}
        counted = {v: events for v, events in found.items() if events}
        names = [
            name
            for name in next(iter(counted.values()), {})
            if any(events[name] for events in counted.values())
        ]
        if names:
            rows = [Row([v, *(f"{e[name]:.3g}" for name in names)], v) for v, e in counted.items()]
            parts.append(f"<h3>Events per 1000 acquisitions, {n} threads</h3>")
            parts.append(table(["lock", *(name.lower() for name in names)], rows))
    return "".join(parts)


def _all_figures(view: View) -> str:
    measures = _measures(view)
    words = [f"{m.heading}: {m.what}" for m in measures]
    meaning = f"÷ {view.result.baseline}: ratio of rates within rounds, with its 95 % interval"
    return (
        paragraphs(["; ".join([meaning, *words]) + "."], "soft")
        + "".join(_table_of(view, n, measures) for n in view.threads)
        + _events(view)
    )


def _ministats(result: Result) -> str:
    """Where Rao & Dunlap's statistic was asked for."""

    if result.statistic != paper_settings.MINISTAT:
        return ""
    return "".join(f"<pre>{escape(text)}</pre>" for text in ministat.compared(result))


def _judged(view: View) -> str:
    """But for the last, over all of them, which the summary has."""
    return paragraphs(judgement.sentence for judgement in view.judgements[:-1])


def _left_out(result: Result) -> list[str]:
    """What a reader would look for and not find."""
    lines = []
    if not result.complete:
        lines.append("The measurement was interrupted; only complete cells are shown.")
    if result.missing:
        lines.append(f"Not compared because not installed: {wording.listed(result.missing)}.")
    by_reason: dict[str, list[str]] = {}
    for entry in result.impossible:
        by_reason.setdefault(entry.why, []).append(f"{entry.variant} at {entry.threads}")
    return lines + [f"Impossible: {wording.listed(who)} ({why})." for why, who in by_reason.items()]


def _claims(view: View) -> str:
    """What the papers' figures say of this workload, and whether it is so here."""
    found = paper_claims.claims(view.result)
    if not found:
        return ""
    rows = [
        Row([f"{paper_settings.CITED[c.paper]}, {c.figure}", c.sentence, c.verdict, c.reason])
        for c in found
    ]
    claims = table(["paper", "claim", "here", "evidence"], rows, wordy=True)
    return f"<h3>Claims of the papers</h3>{claims}{_table_of_long(view.result)}"


def _table_of_long(result: Result) -> str:
    """The slides' run times of the byte lock beside ours: mean and standard deviation."""
    ours = {time.threads: time for time in paper_claims.byte_run_times(result)}
    if not ours:
        return ""
    theirs = {time.threads: time for time in paper_claims.BYTE_OF_LONG}

    def cells(time: paper_claims.RunTime | None) -> list[str]:
        return [f"{time.mean_ms:,.0f}", f"{time.sd_ms:,.0f}"] if time else ["", ""]

    rows = [
        Row([str(n), *cells(theirs.get(n)), *cells(ours.get(n))]) for n in sorted({*ours, *theirs})
    ]
    long = paper_settings.CITED["long"]
    head = ["threads", f"{long}: mean ms", "σ ms", "here: mean ms", "σ ms"]
    words = (
        f"Run time of {paper_claims.PAIRS_OF_LONG:,} lock-unlock pairs per thread with byte: "
        f"{long} on 32 CPUs, here on {result.cpus}."
    )
    return paragraphs([words], "soft") + table(head, rows)


def _machines(views: Sequence[View]) -> list[str]:
    """Each once, in the order of the results."""
    return list(dict.fromkeys(machine.headline(view.result.machine) for view in views))


def _command(result: Result) -> str:
    return f"<p>Command:</p><pre>{escape(result.command)}</pre>"


def _dates(views: Sequence[View]) -> list[str]:
    """The first and the last; older results have none."""
    dates = sorted(
        {view.result.settings["date"] for view in views if "date" in view.result.settings}
    )
    return [f"Measured on {' to '.join(dict.fromkeys([dates[0], dates[-1]]))}."] if dates else []


def _section(view: View, several_machines: bool, alone: bool) -> str:
    result, captions = view.result, _captions(view)
    where = [f"Measured on {machine.headline(result.machine)}."] if several_machines else []
    title = "" if view.name == result.title else paragraphs([result.title + "."])
    return result.worded(
        f'<section id="{view.anchor}"><h2>{escape(view.name)}</h2>{said(_summary(view, captions))}'
        f"{title}{_scenario(view)}"
        f"{paragraphs([*where, *verdict.about_locks(result)])}"
        f'<p class="soft">{escape(_parameters(result))}.</p>'
        f"{paragraphs([*_left_out(result), *result.warnings], 'warning')}"
        f"{_claims(view)}{_figures(view, captions)}"
        f"{details('The best lock against the best peer, by number of threads', _judged(view))}"
        f"{details('Comparison by ministat', _ministats(result))}"
        f"{details('All figures', _all_figures(view))}"
        f"{'' if alone else _command(result)}</section>"
    )


# The bottom


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{k} {_text(v)}" for k, v in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _machine(result: Result, title: str) -> str:
    native = {key: value for key, value in result.native.items() if key != "type"}
    rows = [Row([k.replace("_", " "), _text(v)]) for k, v in {**result.machine, **native}.items()]
    facts = table(["fact", "value"], rows)
    return (
        f"<section><h2>{title}</h2>{paragraphs([machine.headline(result.machine)])}"
        f"{details('All facts, and the startup measurements of the library', facts)}</section>"
    )


def _facts_of(views: Sequence[View]) -> list[tuple[str, Result]]:
    """A result of each machine, with what its facts are called."""
    found = {machine.headline(view.result.machine): view.result for view in reversed(views)}
    if len(found) == 1:
        of = "The simulated machine" if views[0].result.simulated else "This machine"
        return [(of, views[0].result)]
    return [(f"Machine {n}", found[line]) for n, line in enumerate(_machines(views), 1)]


def _method(views: Sequence[View]) -> str:
    measured = METHOD if any(not view.result.simulated for view in views) else ()
    simulated = SIMULATED if any(view.result.simulated for view in views) else ()
    terms = "".join(f"<dt>{escape(t)}</dt><dd>{escape(m)}</dd>" for t, m in GLOSSARY.items())
    return (
        f"<section><h2>Method</h2>{paragraphs([*measured, *simulated])}"
        f"{details('Glossary', f'<dl>{terms}</dl>')}</section>"
    )


def document(title: str, body: str, command: str) -> str:
    """All around a page's own text."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style_sheet()}</style></head><body>"
        f"{body}<footer><h2>Command for this page</h2><pre>{escape(command)}</pre></footer>"
        f"<script>{_file('report.js')}</script></body></html>\n"
    )


def html(
    results: Sequence[Result],
    command: str,
    conclusions: Sequence[str] = (),
    threads: int | None = None,
) -> str:
    """The page; `conclusions` stand above what each result says by itself."""
    views = [View(result, threads, place) for place, result in enumerate(results)]
    machines, alone = _machines(views), len(views) == 1
    body = (
        "<header><h1>Locks when threads outnumber CPUs</h1>"
        f"{THEME}{paragraphs([*machines, *_dates(views)], 'soft')}"
        f"{_command(results[0]) if alone else ''}</header>"
        + _overview(views, conclusions)
        + "".join(_section(view, len(machines) > 1, alone) for view in views)
        + "".join(_machine(result, title) for title, result in _facts_of(views))
        + _method(views)
    )
    return document("Overlock report", body, command)
