# SPDX-License-Identifier: MIT
"""The page of `overlock reproduce`: for every row of the papers whether it holds, and why.

Answers may come from other machines' files, so all that they say is escaped.
"""

import os
import shutil
import subprocess
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

from overlock_tools.core.model.paper_settings import CITED
from overlock_tools.core.model.plan import in_words
from overlock_tools.core.render import report
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import FAILED, MISSING, Fail, last_line
from overlock_tools.lab.reproduce import figure
from overlock_tools.lab.reproduce.answers import Answer, Answers, State
from overlock_tools.lab.reproduce.checks import Verdict
from overlock_tools.lab.reproduce.figure import entries, number, text
from overlock_tools.lab.reproduce.rows import RIG_WORDS, RIGS, Row

TITLE = "Five papers on spinlocks, reproduced"
NOT_RUN = "not run"
# By what a row or a cell is: its sign, which needs no colour, and its class.
MARKS: Mapping[str, tuple[str, str]] = {
    State.HOLDS: ("✓", "holds"),
    State.SHAPE: ("~", "shape"),
    State.NOT: ("✗", "not"),
    State.OPEN: ("?", "open"),
    NOT_RUN: ("–", "unrun"),
}
VERDICTS: Mapping[str, str] = {
    Verdict.HOLDS: State.HOLDS,
    Verdict.PARTLY: State.SHAPE,
    Verdict.NOT: State.NOT,
    Verdict.UNDECIDED: "not decided: the rounds do not agree",
    Verdict.VACUOUS: "not decided: the load hardly takes the locks",
    Verdict.NOTHING: "not measured",
}
SHORT = 100  # letters of a row's sentence in the matrix

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PRINT_S = 180
BY_HAND = "open the page in a browser and print it to a PDF file"


@dataclass(frozen=True)
class Told:
    """A row with what is known of it."""

    row: Row
    answers: Sequence[Answer]  # best first

    @cached_property
    def ran(self) -> list[Answer]:
        return [answer for answer in self.answers if answer.ran]

    @property
    def best(self) -> Answer | None:
        return self.ran[0] if self.ran else None

    @property
    def state(self) -> str:
        return self.best.state if self.best else NOT_RUN

    @property
    def contested(self) -> bool:
        return len({answer.state for answer in self.ran if answer.decided}) > 1

    def by(self, rig: str) -> list[Answer]:
        return [answer for answer in self.ran if answer.rig == rig]

    def lacks(self, rig: str) -> str | None:
        """What the rig lacks; none if the row does not ask it."""
        for answer in self.by(rig):
            return answer.lacks
        way = self.row.way(rig)
        return way.lacks if way else None

    @property
    def not_run(self) -> list[str]:
        return [way.rig for way in self.row.ways if not self.by(way.rig)]

    def takes(self, rig: str) -> list[str]:
        """Why a rig was not run where it was asked."""
        found = [answer.takes for answer in self.answers if answer.rig == rig]
        return list(dict.fromkeys(text(takes) for takes in found if takes))


def html(rows: Sequence[Row], answers: Answers, command: str = "overlock reproduce") -> str:
    """One file that needs nothing else."""
    told = [Told(row, answers.of(row)) for row in rows]
    rigs = [rig for rig in RIGS if any(one.lacks(rig) is not None for one in told)]
    papers = {paper: [t for t in told if t.row.paper == paper] for paper in _papers(rows)}
    matrix = "".join(_matrix(paper, its, rigs) for paper, its in papers.items())
    body = (
        f"<header><h1>{TITLE}</h1>{report.THEME}{_summary(told, papers)}</header>"
        f'<section id="matrix"><h2>Verdicts</h2>{_legend()}{matrix}</section>'
        + "".join(_paper(paper, its) for paper, its in papers.items())
    )
    style = Path(__file__).with_name("page.css").read_text()
    page = report.document(TITLE, f'<main class="reproduced">{body}</main>', text(command))
    return page.replace("</style>", f"{style}</style>", 1)


def _papers(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.paper for row in rows))


def _cited(paper: str) -> str:
    return CITED.get(paper, paper)


# The top of the page


def _summary(told: Sequence[Told], papers: Mapping[str, Sequence[Told]]) -> str:
    cited = ", ".join(map(_cited, papers))
    about = (
        "Each row is a table, a figure or a numeric claim of a paper. The page shows whether it "
        f"holds here, on what it was examined, and what explains a difference. Papers: {cited}."
    )
    return report.paragraphs([about]) + report.said(_counts(told)) + _machines(told)


def _counts(told: Sequence[Told]) -> list[str]:
    best = [one.best for one in told if one.best and one.best.decided]
    meeting = sum(one.meets for one in best)
    simulated = sum(one.rig == "simulated" and not one.meets for one in best)
    others = len(best) - meeting - simulated
    lesser = f"{others} by another rig that does not meet it, " if others else ""
    states = Counter(one.state for one in told)
    return [
        f"{len(told)} rows, {len(best)} decided: {meeting} by a rig that meets the paper's "
        f"condition, {lesser}{simulated} by the simulator only.",
        f"{_by_state(states).capitalize()}.",
    ]


def _by_state(states: Mapping[str, int]) -> str:
    return "; ".join(f"{state}: {states.get(state, 0)}" for state in MARKS)


def _machines(told: Sequence[Told]) -> str:
    """Only where something was run."""
    by_machine: dict[str, list[Answer]] = {}
    for answer in (answer for one in told for answer in one.ran):
        by_machine.setdefault(text(answer.machine) or "unnamed", []).append(answer)
    if not by_machine:
        return report.paragraphs(["Nothing has been run."])
    rows = [
        report.Row([name, _each(RIG_WORDS[a.rig] for a in its), str(len(its)), *_when(its)])
        for name, its in by_machine.items()
    ]
    return report.table(["machine", "rigs", "answers", "commits", "dates"], rows, wordy=True)


def _when(answers: Sequence[Answer]) -> tuple[str, str]:
    dates = sorted({text(answer.date) for answer in answers if answer.date})
    ends = list(dict.fromkeys([*dates[:1], *dates[-1:]]))
    return _each((a.commit for a in answers if a.commit), "; "), " to ".join(ends)


def _each(values: Iterable[str], between: str = ", ") -> str:
    return between.join(dict.fromkeys(map(text, values)))


# The matrix


def _sign(state: str, word: bool = False) -> str:
    """What is seen is read out too, and the other way round."""
    sign = f'<span aria-hidden="true">{MARKS[state][0]}</span>'
    return f"{sign} <span{'' if word else ' class=unseen'}>{escape(state)}</span>"


def _badge(state: str, meets: bool = True) -> str:
    kind = "" if meets else " lacking"
    return f'<span class="badge is-{MARKS[state][1]}{kind}">{_sign(state, word=True)}</span>'


def _legend() -> str:
    marks = "".join(f"<li>{_badge(state)}</li>" for state in MARKS)
    lacking = '<li><span class="badge is-holds lacking">✓</span> hatched: the rig does not meet '
    return (
        f'<ul class="marks">{marks}{lacking}the paper\'s condition</li>'
        "<li>blank: the row is not for this rig</li></ul>"
        + report.paragraphs(
            [
                "The first column is the row's verdict: that of the rig which meets the paper's "
                "condition if one has decided, and of the simulator only if nothing else has."
            ],
            "soft",
        )
    )


def _matrix(paper: str, told: Sequence[Told], rigs: Sequence[str]) -> str:
    heads = ["verdict", "row", *(RIG_WORDS[rig] for rig in rigs)]
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    body = "".join(_matrix_row(one, rigs) for one in told)
    counts = _by_state(Counter(one.state for one in told))
    return (
        f'<h3><a href="#{escape(paper)}">{escape(_cited(paper))}</a></h3>'
        f"{report.paragraphs([f'{len(told)} rows: {counts}.'], 'soft')}"
        f'<div class="scroll"><table class="matrix"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _matrix_row(told: Told, rigs: Sequence[str]) -> str:
    row, best = told.row, told.best
    short = textwrap.shorten(text(row.says), SHORT, placeholder=" …")
    where = f'<a href="#{escape(row.id)}">{escape(row.where)}</a>'
    cells = "".join(_cell(told, rig) for rig in rigs)
    return (
        f"<tr><td>{_badge(told.state, not best or best.meets)}</td>"
        f'<th scope="row">{where} <span class="short">{escape(short)}</span></th>{cells}</tr>'
    )


def _cell(told: Told, rig: str) -> str:
    lacks = told.lacks(rig)
    if lacks is None:
        return '<td class="none"></td>'
    found = told.by(rig)
    states = _states(found)
    kind = f"is-{MARKS[states[0]][1]}{' lacking' if lacks else ''}"
    said = [f"{state} ({text(a.machine)})" for a in found for state in [a.state]] or [NOT_RUN]
    said += [f"does not meet the condition: {text(lacks)}"] if lacks else []
    title = escape(f"{RIG_WORDS[rig]}: {'; '.join(said)}")
    signs = " ".join(map(_sign, states))
    return (
        f'<td class="{kind}" title="{title}"><span class="rig">{escape(RIG_WORDS[rig])}</span> '
        f"{signs}</td>"
    )


def _states(found: Sequence[Answer]) -> list[str]:
    """All that machines have decided; without such, that it is not."""
    decided = [answer.state for answer in found if answer.decided]
    return list(dict.fromkeys(decided or [answer.state for answer in found])) or [NOT_RUN]


# A row's section


def _paper(paper: str, told: Sequence[Told]) -> str:
    heading = f"<h2>{escape(_cited(paper))}</h2>"
    rows = "".join(map(_row, told))
    return f'<section class="paper" id="{escape(paper)}">{heading}{rows}</section>'


def _row(told: Told) -> str:
    row = told.row
    return (
        f'<section class="row" id="{escape(row.id)}">'
        f"<h3>{escape(row.where)} {_badge(told.state, not told.best or told.best.meets)}</h3>"
        f"{report.paragraphs([row.says], 'says')}"
        f"{report.paragraphs([f'Condition: {row.needs}.', *_verdict(told)])}"
        f"{figure.of(row, told.ran)}{''.join(map(_answer, told.ran))}{_not_run(told)}</section>"
    )


def _verdict(told: Told) -> Iterator[str]:
    if not told.best:
        yield "Not run: there is no answer to this row yet."
        return
    yield f"Verdict: {told.state}. Rig: {_rig(told.best.rig, told.best.lacks)}."
    if told.contested:
        each = _each((_where(a, told) + f": {a.state}" for a in told.ran if a.decided), "; ")
        yield f"The answers differ. {each[:1].upper()}{each[1:]}."


def _where(answer: Answer, told: Told) -> str:
    several = len(told.by(answer.rig)) > 1
    return RIG_WORDS[answer.rig] + (f" ({text(answer.machine)})" if several else "")


def _rig(rig: str, lacks: str) -> str:
    if lacks:
        return f"{RIG_WORDS[rig]}, not in the paper's condition ({text(lacks)})"
    return f"{RIG_WORDS[rig]}, in the paper's condition"


def _answer(answer: Answer) -> str:
    takes = [f"To decide it takes: {text(answer.takes)}."] if answer.takes else []
    knowledge = [f"What the lock knew of its CPUs: {text(answer.knowledge)}."]
    commands = "".join(f"<li><code>{escape(text(one))}</code></li>" for one in answer.commands)
    count = len(answer.commands)
    return (
        f'<div class="answer"><h4>{escape(RIG_WORDS[answer.rig])} '
        f"{_badge(answer.state, answer.meets)}</h4>"
        f"{report.paragraphs([text(answer.why)] if answer.why else [])}{report.paragraphs(takes)}"
        f"{_found(answer)}{report.paragraphs(knowledge if answer.knowledge else [], 'soft')}"
        f"{report.details(_counted(count, 'command'), f'<ol>{commands}</ol>' if count else '')}"
        f"{report.paragraphs([_circumstances(answer)], 'soft')}</div>"
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _circumstances(answer: Answer) -> str:
    seconds = number(answer.seconds)
    known = [
        answer.machine,
        f"commit {answer.commit}" if answer.commit else "",
        answer.date,
        f"took {_took(seconds)}" if seconds is not None and isfinite(seconds) else "",
    ]
    return "; ".join(text(one) for one in known if one) + "."


def _took(seconds: float) -> str:
    return "less than 1 s" if seconds < 0.5 else in_words(seconds)


def _not_run(told: Told) -> str:
    """The ways that are left; what a rig's machine lacked when it was asked."""
    items = []
    for rig in told.not_run:
        takes = "; ".join(told.takes(rig))
        more = f". To run it takes: {takes}" if takes else ""
        items.append(f"<li>{escape(_rig(rig, told.lacks(rig) or '') + more)}.</li>")
    what = "Not run:" if told.ran else "Ways to run it:"
    return f'<div class="unrun"><p>{what}</p><ul>{"".join(items)}</ul></div>' if items else ""


def _found(answer: Answer) -> str:
    found = entries(answer)
    if not found:
        return ""
    heads = ["what", "at", "paper", "here: median (least – most)", "rounds", "verdict"]
    rows = [report.Row(_cells(one)) for one in found]
    table = report.table(heads, rows, wordy=True)
    return report.details(f"What was found: {_counted(len(found), 'check')}", table)


def _cells(found: Mapping[str, Any]) -> list[str]:
    verdict = text(found.get("verdict", ""))
    count = found.get("count")
    return [
        text(found.get("what", "")),
        text(found.get("at", "")),
        _shown(found.get("paper", "")),
        _here(found),
        "" if count is None else text(count),
        VERDICTS.get(verdict, verdict),
    ]


def _here(found: Mapping[str, Any]) -> str:
    if words := found.get("text"):
        return text(words)
    median, least, most = (found.get(name) for name in ("median", "least", "most"))
    if number(median) is None:
        return "nothing"
    if least == median == most:
        return _shown(median)
    return f"{_shown(median)} ({_shown(least)} – {_shown(most)})"


def _shown(value: object) -> str:
    """A number with all of its digits, unless they are very many."""
    known = number(value)
    if known is None:
        return "" if value is None else text(value)
    if not isfinite(known):
        return "∞"
    return f"{known:,.0f}" if 1000 <= abs(known) < 1e12 else f"{known:.4g}"


# On paper


def pdf(html_file: Path, to: Path) -> None:
    """As a browser prints it."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not browser:
        raise Fail(f"{to}: no Chromium to print with; {BY_HAND}", MISSING)
    with tempfile.TemporaryDirectory(prefix="overlock-pdf-") as folder:
        printed = Path(folder) / "page.pdf"
        _print(browser, html_file, printed, Path(folder) / "profile")
        files.write(to, printed.read_bytes())


def _print(browser: str, html_file: Path, to: Path, profile: Path) -> None:
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    places = [f"--user-data-dir={profile}", f"--print-to-pdf={to}", html_file.resolve().as_uri()]
    try:
        done = subprocess.run(
            [browser, *FLAGS, *root, *places],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=PRINT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Fail(f"{browser} does not print ({error}); {BY_HAND}", FAILED) from error
    if done.returncode or not to.is_file():
        raise Fail(f"{browser} does not print ({last_line(done.stderr)}); {BY_HAND}", FAILED)
