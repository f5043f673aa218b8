# SPDX-License-Identifier: MIT
"""The report as a page for browsers, which needs nothing from a network."""

from html import escape
from typing import Any

from overlock_tools.core.render import report as page
from overlock_tools.core.render.report import Row
from overlock_tools.core.system.symbols import Call
from overlock_tools.profile import advice, causes, show

Report = dict[str, Any]

HEADINGS = (
    "lock",
    "kind",
    "wait ms",
    "share",
    "waits",
    "longest ms",
    "what its holder was doing",
)


def _locks(report: Report) -> str:
    """Waits on purpose are no loss: of these there is no table."""
    rows = [_row(lock, report["lost_ns"]) for lock in report["locks"] if advice.counts(lock)]
    return f"<h2>Locks</h2>{page.table(HEADINGS, rows, wordy=True)}" if rows else ""


def _row(lock: Report, lost: int) -> Row:
    return Row(
        (
            show.lock_name(lock),
            lock["kind"],
            show.ms(lock["wait_ns"]),
            show.share(advice.lost(lock), lost),
            str(lock["waits"] or "-"),
            show.ms(lock["longest_ns"]),
            show.split_words(lock),
        )
    )


def _of_lock(lock: Report) -> str:
    """Who kept its holders, and where they and its waiters were."""
    return page.details(
        show.lock_name(lock),
        page.paragraphs(show.loops_words(lock)) + _who(lock) + "".join(map(_stack, lock["stacks"])),
    )


def _who(lock: Report) -> str:
    rows = [
        Row((causes.BY_NAME[who["cause"]].because, show.taker(who), show.ms(who["ns"])))
        for who in lock["who"]
        if show.taker(who)
    ]
    return page.table(("because", "by", "ms"), rows, wordy=True) if rows else ""


def _stack(stack: Report) -> str:
    weight = f"{show.ms(stack['ns'])} ms" if stack["ns"] else f"seen {stack['seen']}×"
    calls = "\n".join(show.place(Call(**call)) for call in stack["calls"])
    return f"<h3>{escape(stack['of'])}, {weight}</h3><pre>{escape(calls)}</pre>"


def _advice(report: Report) -> str:
    items = "".join(f"<li>{escape(one['do'] + show.gain(one))}</li>" for one in report["advice"])
    return f"<h2>What to do</h2><ul>{items}</ul>" if items else ""


def html(report: Report, command: str) -> str:
    stacks = "".join(_of_lock(lock) for lock in report["locks"] if advice.counts(lock))
    body = (
        f"<header><h1>Lock waits of {escape(report['program'])}</h1>"
        f"{page.THEME}</header>"
        + page.said(show.sentences(report))
        + page.paragraphs([show.times(report)], "soft")
        + _locks(report)
        + _advice(report)
        + (f"<h2>Who and where, by lock</h2>{stacks}" if stacks else "")
        + "<h2>Not known</h2>"
        + page.paragraphs(report["unknown"], "soft")
    )
    return page.document(f"Lock waits of {report['program']}", body, command)
