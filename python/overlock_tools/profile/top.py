# SPDX-License-Identifier: MIT
"""`overlock profile --live`: each second, what the last second was lost to, on the terminal."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from overlock_tools.core.system.errors import FAILED, Fail
from overlock_tools.profile import advice, naming, report, show
from overlock_tools.profile.seen import Seen

Report = dict[str, Any]
COUNTS = ("waits", "wait_ns", "ran_ns")


def watched(
    answers: Iterable[Seen],
    program: str,
    rows: int,
    out: Console,
    root: Callable[[], Path | None] = lambda: None,
) -> Seen:
    """Shows them as they come; gives the last, which tells of the whole time."""
    before: Report = {}
    seen: Seen | None = None
    with Live(Text("looking ..."), console=out, auto_refresh=False, transient=True) as live:
        for seen in answers:
            now = report.make(seen, naming.of(seen, root()), program, {})
            live.update(screen(since(now, before), rows), refresh=True)
            before = now
    if not seen:
        raise Fail("overlock-profiler gave no answer", FAILED)
    return seen


def since(now: Report, before: Report) -> Report:
    """The same report, of what came after an earlier one; the longest waits first."""
    if not before:
        return now
    was = {_key(lock): lock for lock in before["locks"]}
    locks = [_less(lock, was.get(_key(lock), {}), COUNTS, ("split",)) for lock in now["locks"]]
    return {
        **_less(now, before, ("ns", "wanted_ns", "lost_ns"), ("times",)),
        "locks": sorted(locks, key=lambda lock: -lock["wait_ns"]),
    }


def _key(lock: Report) -> tuple[object, ...]:
    """The site of a lock is known only once somebody waited for it."""
    return lock["address"], lock["kind"], lock["name"]


def _less(now: Report, before: Report, counts: Iterable[str], tables: Iterable[str]) -> Report:
    numbers = {name: max(0, now[name] - before.get(name, 0)) for name in counts}
    rest: Report = {
        name: dict(Counter(now[name]) - Counter(before.get(name, {}))) for name in tables
    }
    return now | numbers | rest


def screen(found: Report, rows: int) -> RenderableType:
    whole = max(1, found["ns"])
    able = found["times"].get("preempted", 0) / whole
    head = Text.assemble(
        (found["program"], "bold"),
        f": {found['times'].get('running', 0) / whole:.2f} threads run, {able:.2f} have no CPU, "
        f"{found['lost_ns'] / whole:.2f} wait for locks; ",
        (f"{show.share(found['lost_ns'], found['wanted_ns'])} lost", "bold"),
    )
    return Group(head, _table(found, rows), Text("Ctrl-C ends it, with a report", style="dim"))


def _table(found: Report, rows: int) -> Table:
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("waiting", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("lock", ratio=2, overflow="ellipsis", no_wrap=True)
    table.add_column("what its holder was doing", ratio=3)
    locks = [lock for lock in found["locks"] if advice.counts(lock) and lock["wait_ns"]]
    for lock in locks[:rows]:
        table.add_row(
            f"{lock['wait_ns'] / max(1, found['ns']):.2f}",
            show.share(lock["wait_ns"], found["lost_ns"]),
            show.lock_name(lock),
            show.split_words(lock),
        )
    return table
