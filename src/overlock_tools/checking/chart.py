# SPDX-License-Identifier: MIT
"""An execution as a sequence chart: a row for each step, a column for each context."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich.text import Text

from overlock_tools.checking.outcome import Event, Outcome
from overlock_tools.checking.source import Lines

# What a context is at between its own steps: the word where it begins, then the line.
STATES = {
    "runs": ("", "│", "could run"),
    "relaxes": ("spins", "┊", "spins: waits for a word to change"),
    "parks": ("sleeps", "z", "sleeps until it is kicked"),
    "off": ("off CPU", "░", "off its CPU"),
    "done": ("done", " ", ""),
}
HOLDING = "┃"
SHORT_ORDERS = {"relaxed": "rlx", "acquire": "acq", "release": "rel", "acq_rel": "a+r"}
OP_STYLE, STATE_STYLE, HOLD_STYLE, FAIL_STYLE = "bold", "dim", "green", "bold red"
LEAST_SOURCE = 22  # narrower than this, a source line says nothing
GOOD_SOURCE = 44  # narrower than this, orders are abbreviated to widen it
AMPLE_SOURCE = 70  # wider than this, remarks get room instead
LEAST_VALUE = 20
MOST_VALUE = 48
GAP = 2
UNBROKEN = "\N{NO-BREAK SPACE}"
MOST_PERIOD = 6  # steps of a loop that is told once


@dataclass(frozen=True)
class Row:
    """One step, or the remark that some steps come again."""

    step: str
    context: int
    op: str = ""
    order: str = ""  # of an access to memory
    value: str = ""
    place: str = ""
    own: bool = True  # a line of the lock's header
    source: str = ""
    states: tuple[str, ...] = ()
    holders: frozenset[int] = frozenset()
    fails: bool = False
    remark: str = ""

    def same(self, other: "Row") -> bool:
        return replace(self, step="") == replace(other, step="")


def _value(event: Event) -> str:
    """What it did to memory, else what it says of itself."""
    if not event.object or not event.op:
        return event.what
    at = f"{event.object} "
    if event.op == "load":
        return f"{at}is {event.old or event.new}"
    if event.op == "cas" and event.old == event.new:
        return f"{at}stays {event.old}"
    if event.op == "store" and not event.old:
        return f"{at}= {event.new}"
    return f"{at}{event.old} → {event.new}"


def _op(event: Event) -> str:
    return (event.op or (event.what.split() or ["?"])[0]).removeprefix("bit_")


@dataclass
class _Reader:
    """Turns events into rows, and knows who holds the lock meanwhile."""

    lines: Lines
    last: int
    fails: bool
    holders: set[int] = field(default_factory=set)

    def row(self, event: Event) -> Row:
        if event.mark == "holds":
            self.holders.add(event.context)
        elif event.mark:
            self.holders.discard(event.context)
        return Row(
            step=str(event.n),
            context=event.context,
            op=_op(event),
            order=event.order,
            value=_value(event),
            place=self._place(event),
            own=self.lines.is_own(event.file),
            source=self.lines.text(event.file, event.line) if event.line else "",
            states=event.state,
            holders=frozenset(self.holders),
            fails=self.fails and event.n == self.last,
        )

    def _place(self, event: Event) -> str:
        """Lines of the lock's own header by their numbers alone: the heading names it."""
        if not event.line:
            return ""
        if self.lines.is_own(event.file):
            return str(event.line)
        return f"{event.file.rpartition('/')[2]}:{event.line}"


def collapsed(rows: Sequence[Row]) -> list[Row]:
    """Steps that come again at once, with the same outcome, are told once."""
    found: list[Row] = []
    at = 0
    while at < len(rows):
        period, times = _repeats(rows, at)
        found += rows[at : at + period]
        if times > 1:
            first, end = at + period, at + period * times
            found.append(_again(rows[first:end], period, times - 1))
        at += period * times
    return found


def _repeats(rows: Sequence[Row], at: int) -> tuple[int, int]:
    """The shortest loop that begins there, and how often it is gone through."""
    for period in range(1, MOST_PERIOD + 1):
        times = 1
        while _same(rows, at, at + times * period, period):
            times += 1
        if times > 2 or (times == 2 and period > 1):  # a single row is no longer than the remark
            return period, times
    return 1, 1


def _same(rows: Sequence[Row], one: int, other: int, length: int) -> bool:
    if other + length > len(rows):
        return False
    return all(rows[one + i].same(rows[other + i]) for i in range(length))


def _again(rows: Sequence[Row], period: int, times: int) -> Row:
    last = rows[-1]
    what = "the step above" if period == 1 else f"the {period} steps above"
    often = "once more" if times == 1 else f"{times} times more"
    return Row(
        f"–{last.step}", 0, states=last.states, holders=last.holders, remark=f"{what}, {often}"
    )


@dataclass(frozen=True)
class _Widths:
    step: int
    context: int
    value: int
    place: int
    source: int  # 0: only the place
    short: bool  # orders abbreviated


def _fitted(rows: Sequence[Row], contexts: int, width: int) -> _Widths:
    """Full words where there is room; the source gives way first, since it can be looked up."""
    step = max((len(row.step) for row in rows), default=1) + 3
    own = max((len(row.place) for row in rows if row.own), default=0)
    narrow = max([LEAST_VALUE, *(len(row.value) for row in rows if row.order)])
    longest = max([narrow, *(len(row.value) for row in rows)])
    for short, value, least in (
        (False, min(longest, MOST_VALUE), AMPLE_SOURCE),
        (False, narrow, GOOD_SOURCE),
        (True, narrow, LEAST_SOURCE),
    ):
        context = max(len(_labelled(row, short)) for row in rows)
        context = max(context, *(len(word) for word, _, _ in STATES.values())) + GAP
        source = width - step - contexts * context - value - GAP - own - GAP
        if source >= least:
            return _Widths(step, context, value, own, source, short)
    place = max(len(row.place) for row in rows)
    value = max(LEAST_VALUE, width - step - contexts * context - GAP - place)
    return _Widths(step, context, value, place, 0, True)


def _labelled(row: Row, short: bool) -> str:
    if not row.order:
        return row.op
    return (
        f"{row.op}.{SHORT_ORDERS.get(row.order, row.order)}" if short else f"{row.op} {row.order}"
    )


def chart(outcome: Outcome, width: int) -> list[Text]:
    """Lines of at most that width."""
    failure = outcome.failure
    events = failure.events if failure else ()
    if not events:
        return []
    lines = Lines(outcome.job.subject)
    reader = _Reader(lines, events[-1].n, failure is not None)
    rows = collapsed([reader.row(event) for event in events])
    contexts = max(outcome.job.size.contexts, *(len(event.state) for event in events))
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
            line.append(f"{number}".ljust(self.at.context))
        line.append("what was seen or done".ljust(self.at.value + GAP)[: self.at.value + GAP])
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
        if number == row.context and first:
            style = FAIL_STYLE if row.fails else OP_STYLE
            if number in row.holders and not row.fails:
                style = f"{OP_STYLE} {HOLD_STYLE}"
            line.append(_labelled(row, self.at.short).ljust(self.at.context), style)
            return
        state = row.states[number - 1] if number <= len(row.states) else "runs"
        word, glyph, _ = STATES.get(state, (state, "│", ""))
        begins = first and number <= len(self.before) and self.before[number - 1] != state
        style = STATE_STYLE
        if number in row.holders:
            style = HOLD_STYLE
            glyph = HOLDING if state == "runs" else glyph
            self.seen.add("holds")
        if state == "off":
            style = "red"
        self.seen.add(state)
        line.append((word if begins and word else glyph).ljust(self.at.context), style)

    def _legend(self) -> list[Text]:
        said = [
            f"{glyph} {what}"
            for state, (_, glyph, what) in STATES.items()
            if what and state in self.seen
        ]
        if "holds" in self.seen:
            said.append(f"{HOLDING} holds the lock")
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
