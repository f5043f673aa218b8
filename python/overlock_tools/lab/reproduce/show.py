# SPDX-License-Identifier: MIT
"""What `overlock reproduce` says on a terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from overlock_tools.core.model.plan import in_words
from overlock_tools.lab.reproduce.answers import Answer, Answers, State
from overlock_tools.lab.reproduce.rows import RIG_WORDS, Row

NOT_RUN = "not run"
STYLES = {State.HOLDS: "green", State.SHAPE: "cyan", State.NOT: "red", State.OPEN: "dim"}


def verdicts(rows: Sequence[Row], answers: Answers, out: Console) -> None:
    table = Table(box=None, padding=(0, 1, 0, 0))
    for heading in ("row", "verdict", "by", "the paper"):
        table.add_column(heading)
    for row in rows:
        best = answers.best(row)
        state = best.state if best else NOT_RUN
        style = STYLES[best.state] if best else "dim"
        table.add_row(Text(row.id), Text(state, style), Text(by(best)), Text(row.says))
    out.print(table)


def by(answer: Answer | None) -> str:
    """The rig; `*` where it does not meet the paper's condition."""
    if answer is None:
        return ""
    return RIG_WORDS[answer.rig] + ("" if answer.meets else "*")


def reasons(rows: Sequence[Row], answers: Answers, out: Console) -> None:
    """Of a few rows: all that is known."""
    for row in rows:
        out.print(Text(f"\n{row.id}: {row.cited}", "bold"))
        out.print(f"  needs {row.needs}", soft_wrap=True)
        for answer in answers.of(row):
            where = f"{RIG_WORDS[answer.rig]}, {answer.machine}, {answer.commit or 'no commit'}"
            lacks = f"; it lacks {answer.lacks}" if answer.lacks else ""
            out.print(Text(f"  {answer.state}:", STYLES[answer.state]), f"{where}{lacks}")
            for found in answer.found:
                out.print(f"    {found_line(found)}", soft_wrap=True, highlight=False)
            for text in filter(None, (answer.why, answer.takes)):
                out.print(f"    {text}", soft_wrap=True, highlight=False)


def found_line(found: Mapping[str, Any]) -> str:
    at = f", {found['at']}" if found["at"] else ""
    if text := found.get("text"):
        return f"{found['what']}{at}: {text}; the paper: {found['paper']}"
    ends = f"{found['median']} ({found['least']} – {found['most']})"
    here = ends if found["median"] is not None else "nothing"
    return f"{found['what']}{at}: {here}; the paper: {found['paper']} [{found['verdict']}]"


def counts(rows: Sequence[Row], answers: Answers) -> str:
    """`140 rows: 70 decided, 41 of them by a rig that meets the paper's condition ...`"""
    best = [answers.best(row) for row in rows]
    decided = [one for one in best if one and one.decided]
    meeting = sum(one.meets for one in decided)
    simulated = sum(one.rig == "simulated" for one in decided)
    states = Counter(one.state for one in decided)
    each = ", ".join(f"{states[state]} {state.value}" for state in State if states[state])
    return (
        f"{_many(len(rows), 'row')}, {len(decided)} decided ({each or 'none'}): {meeting} by a rig "
        f"that meets the paper's condition, {simulated} by the simulator alone. * does not meet it."
    )


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def forecast(seconds: float, questions: int) -> str:
    return f"{_many(questions, 'question')}, about {in_words(seconds)}; Ctrl-C keeps what is done"
