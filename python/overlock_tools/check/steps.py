# SPDX-License-Identifier: MIT
"""An execution as rows to be shown: what each step did, and loops told once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from overlock_tools.check.outcome import Event, Failure
from overlock_tools.check.source import Lines

HOLDING_BY = {"holds": 1, "released": -1}  # marks of the client
MOST_PERIOD = 24  # steps of a loop that is told once: a fair cycle of two contexts has twelve


@dataclass(frozen=True)
class Row:
    """One step, or the remark that some steps come again."""

    step: str = field(compare=False)
    context: int
    by_itself: bool = True
    op: str = ""
    order: str = ""  # of an access to memory
    value: str = ""
    place: str = ""
    own: bool = True  # a line of the lock's header
    source: str = ""
    states: tuple[str, ...] = ()
    holders: frozenset[int] = frozenset()
    mark: str = ""  # with this step it holds the lock, or has released it
    fails: bool = False
    remark: str = ""


NOBODYS = ("deadlock", "lost wake-up")
FAILURE = "FAILURE: "  # how the checker begins its last word
ARTICLES = ("a", "an")


def _words(event: Event) -> tuple[str, str]:
    """What is done, and to what: read one after the other."""
    if event.what.startswith(FAILURE):
        return "FAILS", event.what.removeprefix(FAILURE).partition(": ")[0]  # why: in the heading
    if not event.object or not event.op:
        words = event.what.replace(",", "", 1).split()
        if words[:1] and words[0] in ARTICLES:
            words = words[1:]
        return words[0] if words else "?", " ".join(words[1:])
    return event.op, f"{event.object} {_change(event)}"


def _change(event: Event) -> str:
    if event.op == "load":
        return f"is {event.old or event.new}"
    if event.op == "cas" and event.old == event.new:
        return f"stays {event.old}"
    if event.op == "store":
        return f"= {event.new}" + (", in its buffer" if "store buffer" in event.what else "")
    return f"{event.old} → {event.new}"


@dataclass
class _Reader:
    """Turns events into rows, and knows who holds a lock meanwhile."""

    lines: Lines
    failure: Failure
    fails: bool
    held: Counter[int] = field(default_factory=Counter)

    def rows(self) -> list[Row]:
        found: list[Row] = []
        for event in self.failure.events:
            if event.mark in HOLDING_BY:
                self.held[event.number] += HOLDING_BY[event.mark]
                if found and found[-1].context == event.number:  # the step that it comes from
                    found[-1] = self._marked(found[-1], event)
                    continue
            if self._is_the_end(event):
                break
            found.append(self._row(event))
        if self.fails and not (found and found[-1].fails):
            remark, states = self.failure.property, found[-1].states if found else ()
            found.append(Row("", 0, states=states, fails=True, remark=remark))
        return found

    def _is_the_end(self, event: Event) -> bool:
        """That nobody can go on is the doing of no step: it is told below the last."""
        return self.failure.property in NOBODYS and event.what.startswith(FAILURE)

    def _holders(self) -> frozenset[int]:
        return frozenset(context for context, times in self.held.items() if times > 0)

    def _marked(self, row: Row, event: Event) -> Row:
        return replace(row, mark=event.mark, holders=self._holders())

    def _row(self, event: Event) -> Row:
        op, value = _words(event)
        return Row(
            step=str(event.n),
            context=event.number,
            by_itself=event.by_itself,
            op=op,
            order=event.order,
            value=value,
            place=self._place(event),
            own=self.lines.is_own(event.file),
            source=self.lines.text(event.file, event.line) if event.line else "",
            states=event.state,
            holders=self._holders(),
            fails=event.what.startswith(FAILURE),
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
    return all(rows[one + i] == rows[other + i] for i in range(length))


def _again(rows: Sequence[Row], period: int, times: int) -> Row:
    last = rows[-1]
    what = "the step above" if period == 1 else f"the {period} steps above"
    often = "once more" if times == 1 else f"{times} times more"
    return Row(
        f"–{last.step}", 0, states=last.states, holders=last.holders, remark=f"{what}, {often}"
    )


def rows(told: Failure, lines: Lines, fails: bool) -> list[Row]:
    return collapsed(_Reader(lines, told, fails).rows())
