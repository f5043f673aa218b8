# SPDX-License-Identifier: MIT
"""The page of `overlock reproduce`: a few rows, made up, with answers that may be hostile."""

import re
from collections.abc import Mapping, Sequence
from html import unescape
from math import inf
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.lab.reproduce import figure, page
from overlock_tools.lab.reproduce.answers import Answer, Answers, State
from overlock_tools.lab.reproduce.rows import MODELLED, Row, Way, load

HOSTILE = (
    """</style><script>alert("x")</script><img src=x onerror='y'>\x1b[2J\ud800 LABEL1 & font: a"""
)
Found = Mapping[str, Any]


def row(name: str, *rigs: str, **more: Any) -> Row:
    ways = [Way(rig, MODELLED if rig == "simulated" else "", "", {}) for rig in rigs]
    return Row(f"rao2012-{name}", "rao2012", f"Fig. {name}", f"Says {name}.", "any", ways, **more)


def found(paper: object = 3.89, median: object = 2.9, **more: Any) -> Found:
    ends = {"median": median, "least": 2.0, "most": 11}
    return {
        "what": "rate",
        "at": "2 VMs",
        "paper": paper,
        **ends,
        "count": 8,
        "verdict": "holds",
    } | more


def answer(
    name: str, rig: str, state: State = State.HOLDS, checks: Sequence[Found] = (), **more: Any
) -> Answer:
    lacks = MODELLED if rig == "simulated" else ""
    return Answer(
        f"rao2012-{name}", rig, state, lacks, checks, **{"machine": "A, 4 CPUs", "date": "d"} | more
    )


def section(text: str, name: str) -> str:
    sections: list[tuple[str, str]] = re.findall(
        r'<section class="row" id="([^"]*)">(.*?)</section>', text, re.DOTALL
    )
    assert [key for key, _ in sections].count(f"rao2012-{name}") == 1
    return dict(sections)[f"rao2012-{name}"]


def matrix_row(text: str, name: str) -> str:
    rows: list[str] = re.findall(r"<tr>.*?</tr>", text, re.DOTALL)
    (its,) = [one for one in rows if f'href="#rao2012-{name}"' in one]
    return its


def plain(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_each_row_has_one_section_and_one_line_of_the_matrix() -> None:
    rows = load()
    text = page.html([one for one in rows if not one.values], Answers())
    for one in rows:
        count = 0 if one.values else 1
        assert text.count(f'<section class="row" id="{one.id}"') == count
        assert text.count(f'<a href="#{one.id}"') == count


def test_counts() -> None:
    rows = [row(name, "guest", "simulated") for name in "abcde"]
    answers = Answers(
        [
            answer("a", "guest"),
            answer("a", "simulated", State.NOT),
            answer("b", "simulated", State.SHAPE),
            answer("c", "guest", State.NOT),
            answer("d", "guest", State.OPEN, [found(verdict="undecided")]),
            answer("e", "guest", State.OPEN, takes="a machine of 16 CPUs"),
        ]
    )
    text = plain(page.html(rows, answers))
    assert "5 rows, 3 decided: 2 by a rig that meets the paper's condition, 1 by the sim" in text
    assert "Holds: 1; holds in shape: 1; does not hold: 1; not decided: 1; not run: 1." in text


@pytest.mark.parametrize("state", [State.HOLDS, State.SHAPE, State.NOT])
def test_the_verdict_is_said_by_sign_word_and_colour(state: State) -> None:
    text = page.html(
        [row("a", "guest", "simulated")], Answers([answer("a", "guest", state, [found()])])
    )
    sign, kind = page.MARKS[state]
    line, its = matrix_row(text, "a"), section(text, "a")
    assert line.count(f"is-{kind}") == 2
    assert plain(line).startswith(f"{sign} {state} Fig. a Says a.")
    assert f"guests {sign} {state} simulator – not run" in plain(line)
    assert f"Verdict: {state}. Rig: guests, in the paper's condition." in plain(its)
    for other in set(page.MARKS) - {state, page.NOT_RUN}:
        assert f"is-{page.MARKS[other][1]}" not in line + its


def test_what_does_not_meet_the_condition_is_hatched_and_says_what_it_lacks() -> None:
    text = page.html([row("a", "simulated")], Answers([answer("a", "simulated")]))
    line = matrix_row(text, "a")
    assert line.count("is-holds lacking") == 2
    assert f'title="simulator: holds (A, 4 CPUs); does not meet the condition: {MODELLED}"' in line
    assert f"not in the paper's condition ({MODELLED})" in plain(section(text, "a"))


def test_what_was_not_run_says_so() -> None:
    rows = [row("a", "native", "simulated", values={"x": 3.0}), row("b", "native")]
    text = page.html(rows, Answers([answer("b", "native", State.OPEN, takes="32 CPUs", date="D")]))
    its = plain(section(text, "a"))
    assert "– not run" in its
    assert "Ways to run it: native, in the paper's condition. simulator, not in the" in its
    assert figure.PAPER_SIGN in its
    assert "median" not in its
    other = plain(section(text, "b"))
    assert "native, in the paper's condition. To run it takes: 32 CPUs." in other
    assert "A, 4 CPUs" not in text
    assert "Nothing has been run." in text
    assert "is-open" not in matrix_row(text, "b")


def test_machines_that_differ_are_both_shown() -> None:
    answers = Answers(
        [
            answer("a", "guest"),
            answer("a", "guest", State.NOT, machine="B, 8 CPUs", commit="c0ffee"),
        ]
    )
    text = page.html([row("a", "guest")], answers)
    assert plain(matrix_row(text, "a")).endswith("guests ✓ holds ✗ does not hold")
    assert "Guests (A, 4 CPUs): holds; guests (B, 8 CPUs): does not hold." in plain(text)
    assert "c0ffee" in text


def test_hostile_text_is_escaped() -> None:
    words: dict[str, Any] = {
        "why": HOSTILE,
        "takes": HOSTILE,
        "knowledge": HOSTILE,
        "commands": [HOSTILE],
    }
    checks = [
        found(what=HOSTILE, at=HOSTILE, paper=HOSTILE, verdict=HOSTILE, count=HOSTILE),
        found(median=None, text=HOSTILE),
        found(what="LABEL0 font-family: b"),
    ]
    where: dict[str, Any] = {
        "machine": HOSTILE,
        "commit": HOSTILE,
        "date": HOSTILE,
        "seconds": HOSTILE,
    }
    text = page.html(
        [row("a", "guest")], Answers([answer("a", "guest", checks=checks, **words, **where)])
    )
    assert "<script>alert" not in text
    assert "<img" not in text
    assert text.count("</style>") == text.count("<style")
    assert "\x1b" not in text
    text.encode()
    assert "&lt;script&gt;alert(&quot;x&quot;)" in section(text, "a")
    drawn = section(text, "a").partition("<svg")[2].partition("</svg>")[0]
    assert "LABEL0 font-family: b" in plain(drawn)
    assert drawn.count("<text") == drawn.count("</text>")


def test_the_figure_has_the_papers_mark_and_ours() -> None:
    one = row("a", "guest", "simulated", values={"x": 3.89}, axis="times")
    answers = [answer("a", "guest", checks=[found()]), answer("a", "simulated", checks=[found()])]
    both, ours, papers = (
        figure.of(one, answers),
        figure.of(one, answers[:1]),
        figure.of(one, []),
    )
    colours = [f"var(--series-{figure.COLOURS[rig]})" for rig in ("guest", "simulated")]
    assert all(colour in both for colour in colours)
    assert colours[0] in ours
    assert colours[1] not in ours
    assert not any(colour in papers for colour in colours)
    for drawn in (both, ours, papers):
        assert drawn.count("<figure>") == 1
        assert "times" in drawn
        assert f"{figure.PAPER_SIGN} Rao" in drawn
    assert drawn_marks(both) > drawn_marks(ours) > drawn_marks(papers) == 1


def drawn_marks(text: str) -> int:
    """The ticks of the axis have ink of their own, and no line of 1.4."""
    marked = re.findall(r'<use [^>]*style="([^"]*)"', text)
    hollow = [style for style in marked if "fill: none" in style or "stroke-width: 1.4" in style]
    return len(hollow) + sum("var(--series" in style for style in marked)


def test_infinite_values_and_bounds() -> None:
    one = row("a", "guest")
    checks = [found("> 1", "inf", most="inf"), found("≥ 1", 2, least=0, most=1000, at="3 VMs")]
    text = page.html([one], Answers([answer("a", "guest", checks=checks)]))
    its = section(text, "a")
    assert "∞ (2 – ∞)" in plain(its)
    assert its.partition("<svg")[2].partition("</svg>")[0].count("∞") == 2
    assert "▒ what Rao" in plain(its)


@pytest.mark.parametrize(
    ("paper", "region", "value"),
    [
        ("> 1", (1.0, inf), None),
        ("≥ 1", (1.0, inf), None),
        ("< 0.5", (-inf, 0.5), None),
        ("≤ 1e3", (-inf, 1000.0), None),
        ("about 1", None, 1.0),
        ("1 to 300 ms", None, None),
        ("< 1 µs", None, None),
        ("none", None, None),
        (4.8, None, 4.8),
        (True, None, None),
        (10**400, None, inf),
        (float("nan"), None, None),
    ],
)
def test_what_a_paper_states(
    paper: object, region: tuple[float, float] | None, value: float | None
) -> None:
    assert figure.bound(paper) == region
    assert figure.stated(paper) == value


@pytest.mark.parametrize("value", [0, -3.0, 1e-300, 1e300, "inf", 1])
def test_any_number_can_be_drawn(value: object) -> None:
    checks = [found(value, value, least=value, most=value)]
    assert "<svg" in figure.of(row("a", "guest"), [answer("a", "guest", checks=checks)])


def test_many_checks_are_several_figures() -> None:
    checks = [found(at=f"{n} VMs") for n in range(figure.MOST_LINES + 1)]
    drawn = figure.of(row("a", "guest"), [answer("a", "guest", checks=checks)])
    assert drawn.count("<figure>") == 2


def test_the_page_needs_nothing_else() -> None:
    text = page.html([row("a", "guest")], Answers([answer("a", "guest", checks=[found()])]))
    loads = re.findall(r'\b(?:src|href)="([^"]*)"|url\(([^)]*)\)|@import', text)
    assert all((a or b).startswith("#") for a, b in loads)


def test_no_browser_no_pdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Fail, match="print it"):
        page.pdf(tmp_path / "page.html", tmp_path / "page.pdf")
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    browser.chmod(0o755)
    with pytest.raises(Fail, match=r"broken.*print it"):
        page.pdf(tmp_path / "page.html", tmp_path / "page.pdf")
    assert not (tmp_path / "page.pdf").exists()
