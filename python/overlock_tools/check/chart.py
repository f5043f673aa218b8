# SPDX-License-Identifier: MIT
"""An execution as a sequence chart: a row for each step, a column for each context."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from overlock_tools.check import steps
from overlock_tools.check.outcome import Outcome
from overlock_tools.check.source import Lines
from overlock_tools.check.steps import Row

# What a context is at between its own steps: the word where it begins, then the line.
STATES = {
    "runs": ("", "│", "runnable"),
    "relaxes": ("spins", "┊", "spins until a word changes"),
    "parks": ("sleeps", "z", "sleeps until a kick"),
    "off": ("off CPU", "░", "off its CPU"),
    "done": ("done", " ", ""),
}
HOLDING = "┃"
BRACKETS = {"holds": "┏", "released": "┗"}
ACTS = "●"  # where columns are too narrow for what is done
SHORT_ORDERS = {"relaxed": "rlx", "acquire": "acq", "release": "rel", "acq_rel": "a+r"}
OP_STYLE, STATE_STYLE, HOLD_STYLE, FAIL_STYLE = "bold", "dim", "green", "bold red"
ELSEWHERE = "italic dim"  # what no context does itself: store buffers, late kicks
LEAST_SOURCE = 20  # narrower than this, a source line says nothing
GOOD_SOURCE = 44  # narrower than this, orders are abbreviated to widen it
LEAST_VALUE = 20
GAP = 2
THIN = 2  # a context's column if it has its line only
UNBROKEN = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class _Widths:
    step: int
    context: int
    does: int  # 0: what is done stands in the context's own column
    value: int
    place: int
    source: int  # 0: only the place
    short: bool  # orders abbreviated

    @property
    def thin(self) -> bool:
        return self.does > 0


def _fitted(rows: Sequence[Row], contexts: int, width: int) -> _Widths:
    """Full words where there is room; the source gives way first, since it can be looked up."""
    step = max(len(row.step) for row in rows) + 3
    own = max((len(row.place) for row in rows if row.own), default=0)
    value = max([LEAST_VALUE, *(len(row.value) for row in rows if row.order)])
    remarks = max(len(row.value) for row in rows)
    text = max(len(row.source if row.own else row.place) for row in rows)
    fixed = step + value + GAP + own + GAP
    for thin, short, least in (
        (False, False, GOOD_SOURCE),
        (False, True, LEAST_SOURCE),
        (True, False, GOOD_SOURCE),
        (True, True, LEAST_SOURCE),
    ):
        does = max(len(_named(row, short)) for row in rows) + GAP
        words = max(len(word) for word, _, _ in STATES.values()) + GAP
        context = THIN if thin else THIN + max(does, words)
        does = does + len(f"T{contexts} ") if thin else 0
        source = width - fixed - contexts * context - does
        if source >= min(least, text):
            spare = max(0, min(source - text, remarks - value))
            return _Widths(step, context, does, value + spare, own, source - spare, short)
    place = max(len(row.place) for row in rows)
    value = max(LEAST_VALUE, width - step - contexts * context - does - GAP - place)
    return _Widths(step, context, does, value, place, 0, True)


def _named(row: Row, short: bool) -> str:
    if not row.order:
        return row.op
    order = SHORT_ORDERS.get(row.order, row.order)
    return f"{row.op}.{order}" if short else f"{row.op} {row.order}"


def chart(outcome: Outcome, width: int) -> list[Text]:
    """Lines of at most that width."""
    told = outcome.told
    if not told or not told.events:
        return []
    lines = Lines(outcome.job.subject)
    rows = steps.rows(told, lines, outcome.failure is not None)
    contexts = max(outcome.job.size.contexts, *(len(event.state) for event in told.events))
    return _Drawing(rows, contexts, width, lines).lines()


class _Drawing:
    def __init__(self, rows: Sequence[Row], contexts: int, width: int, source: Lines) -> None:
        self.rows, self.contexts, self.width = rows, contexts, width
        self.at = _fitted(rows, contexts, width)
        self.own = source.own.name if source.own else ""
        self.before = tuple("runs" for _ in range(contexts))
        self.seen: set[str] = set()

    def lines(self) -> list[Text]:
        found = [self._heading()]
        for row in self.rows:
            found += self._row(row)
        return found + self._legend()

    def _heading(self) -> Text:
        line = Text("step".rjust(self.at.step - 1) + " ", style="bold")
        for number in range(1, self.contexts + 1):
            name = str(number) if self.at.thin else f"T{number}"
            line.append(name.ljust(self.at.context))
        width = self.at.does + self.at.value + GAP
        line.append("value or effect"[: width - 1].ljust(width))
        line.append("line of " + self.own if self.own else "line")
        return self._cut(line)

    def _row(self, row: Row) -> list[Text]:
        values = textwrap.wrap(row.remark or row.value, self._room(row)) or [""]
        drawn = [self._line(row, values[0], first=True)]
        drawn += [self._line(row, more, first=False) for more in values[1:]]
        if row.states:
            self.before = row.states
        return drawn

    def _line(self, row: Row, value: str, first: bool) -> Text:
        style = FAIL_STYLE if row.fails else ""
        line = Text()
        mark = "✗" if row.fails and first else " "
        line.append(
            mark + (row.step if first else "").rjust(self.at.step - 2) + " ", style or "dim"
        )
        for number in range(1, self.contexts + 1):
            self._cell(line, row, number, first)
        if self.at.thin and not row.remark:
            does = f"T{row.context} {_named(row, self.at.short)}" if first else ""
            line.append(does.ljust(self.at.does), self._style(row))
        width = self._room(row) + GAP if first else len(value)
        line.append(value.ljust(width), style or ("dim" if row.remark else ""))
        if first:
            self._where(line, row, style)
        return self._cut(line)

    def _room(self, row: Row) -> int:
        """For what a step did; it may take the column of line numbers where that is empty."""
        if row.remark:
            return self.width - self.at.step - self.contexts * self.at.context
        free = 0 if row.own or not self.at.source else GAP + self.at.place
        return self.at.value + free

    def _where(self, line: Text, row: Row, style: str) -> None:
        """Numbers of the lock's own lines in a column; another file's name is where the text is."""
        numbered = row.own or not self.at.source
        line.append(row.place.rjust(self.at.place if numbered else 0), style or "cyan")
        if self.at.source and row.source:
            line.append(" " * GAP + row.source, style)

    def _cell(self, line: Text, row: Row, number: int, first: bool) -> None:
        """The context's line, and what it does on the right of it."""
        state = row.states[number - 1] if number <= len(row.states) else "runs"
        acts = number == row.context and first
        begins = first and number <= len(self.before) and self.before[number - 1] != state
        glyph, style = self._line_of(row, number, "runs" if acts and row.by_itself else state)
        word = ""
        if acts:
            glyph = BRACKETS.get(row.mark, ACTS if self.at.thin else glyph)
            word = _named(row, self.at.short)
        elif begins:
            word = STATES.get(state, (state, "", ""))[0]
        line.append(f"{glyph} ", style)
        if self.at.thin:
            return
        line.append(word.ljust(self.at.context - 2), self._style(row) if acts else style)

    def _line_of(self, row: Row, number: int, state: str) -> tuple[str, str]:
        _, glyph, _ = STATES.get(state, (state, "│", ""))
        self.seen.add(state)
        if number not in row.holders:
            return glyph, "red" if state == "off" else STATE_STYLE
        self.seen.add("holds")
        return (HOLDING, HOLD_STYLE) if state == "runs" else (glyph, "red")

    def _style(self, row: Row) -> str:
        if row.fails:
            return FAIL_STYLE
        return OP_STYLE if row.by_itself else ELSEWHERE

    def _legend(self) -> list[Text]:
        said = [
            f"{glyph} {what}"
            for state, (_, glyph, what) in STATES.items()
            if what and state in self.seen
        ]
        if "holds" in self.seen:
            said.append(f"{HOLDING} holds the lock")
        if self.at.thin:
            said.append(f"{ACTS} takes the step")
        if self.at.short:
            used = {row.order for row in self.rows}
            said += [f"{short} {order}" for order, short in SHORT_ORDERS.items() if order in used]
        whole = "   ".join(part.replace(" ", UNBROKEN) for part in said)
        wrapped = textwrap.wrap(whole, self.width)
        return [Text(line.replace(UNBROKEN, " "), style="dim") for line in wrapped]

    def _cut(self, line: Text) -> Text:
        line.rstrip()
        line.truncate(self.width, overflow="ellipsis")
        return line
