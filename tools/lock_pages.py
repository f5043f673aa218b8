# SPDX-License-Identifier: MIT
"""A lock's page of the site: docs/locks/LOCK.md, the header comment, a hand-over and pictures."""

import re
from collections.abc import Callable
from pathlib import Path

import measured as results
from overlock_tools.core.model import traits
from overlock_tools.core.model.defs import Lock
from overlock_tools.core.model.paper_settings import CITED, IN_SOURCE
from overlock_tools.core.system.errors import Fail

TOP = Path(__file__).resolve().parent.parent
HANDOVER = """
## A hand-over

T2 is the next waiter, but it has no CPU when T1 releases. Can T3 take the lock?
"""
MEASURED = "\n## Measured\n"
RATES = "<!-- generated: lock-rates {} -->"


def table(headings: list[str], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def linked(source: str, top: str = "") -> str:
    """A source, with the papers' keys as links and § before sections."""

    def link(found: re.Match[str]) -> str:
        key, section = found.groups()
        return f"[{CITED[key]}]({top}papers.md#{key}){' §' if section else ''}"

    if source == "all":
        return f"[all five papers]({top}papers.md)"
    return IN_SOURCE.sub(link, source)


PROPERTIES: dict[str, Callable[[Lock], str]] = {
    "bytes": lambda lock: str(lock.size),
    "overtaken": traits.order,
    "a preempted holder costs": traits.preempted_holder,
    "a preempted waiter costs": traits.preempted_waiter,
    "timed": traits.timed,
    "needs": lambda lock: ", ".join(traits.needs(lock)),
    "one process only": lambda lock: "yes" if "private" in lock.traits else "",
}


def facts(lock: Lock) -> str:
    """The lock's description and its row of the table of properties, as two columns."""
    rows = [[name, of(lock)] for name, of in PROPERTIES.items() if of(lock)]
    rows.append(["source", linked(lock.source, "../")])
    return f"{lock.what[:1].upper()}{lock.what[1:]}.\n\n{table(['', ''], rows)}"


def text(lock: Lock) -> str:
    """The header comment of the lock, without its stars."""
    name = f"lock/{lock.id}.h"
    header = (TOP / "include/overlock" / name).read_text()
    found = re.search(r"^/\*\n(.*?)^ \*/$", header, re.DOTALL | re.MULTILINE)
    if not found:
        raise Fail(f"{name} has no header comment; begin it with a comment that describes the lock")
    lines = (re.sub(r"^ \* ?", "", line).expandtabs(8) for line in found[1].splitlines())
    comment = "\n".join(line.rstrip() for line in lines)
    return f"From [`{name}`](../../include/overlock/{name}):\n\n```text\n{comment}\n```\n"


def handover(lock: Lock, picture: str) -> str:
    """The picture, with its own title as text."""
    found = re.search(r"aria-label='([^']*)'", picture)
    if not found:
        raise Fail(
            f"the picture of {lock.id} has no title; draw() in handover_picture.py writes it"
        )
    return f"![{found[1]}](../img/locks/{lock.id}.svg)\n"


def rates(lock: Lock) -> str:
    """The lock's rates beside those of others, if it was measured with them."""
    found = results.load()
    if not found or lock.id not in found.locks:
        return "The measurement of all locks (`make measured`) did not have this one yet.\n"
    shown = found.beside(lock.id)
    rows = [
        [str(n), f"{n / found.cpus:g}×", *(found.text(v, n) for v in shown)] for n in found.threads
    ]
    headings = ["threads", "per CPU", *(f"`{variant}`" for variant in shown)]
    return f"{table(headings, rows)}\n{found.how()}"


def drawn(lock: Lock, remark: str) -> str:
    """With the picture of the rates above their table."""
    found = results.load()
    if not found or lock.id not in found.locks:
        return remark
    picture = f"![{lock.id}: acquisitions per second](../img/locks/{lock.id}-rate.svg)"
    return remark.replace(RATES.format(lock.id), f"{picture}\n\n{RATES.format(lock.id)}")


def page(lock: Lock, written: str, picture: str) -> str:
    """The whole page; `written` is the one of docs/, and `picture` that of the hand-over."""
    title, rest = written.split("\n", 1)
    notes, _, remark = rest.partition(MEASURED)
    parts = (title, "", facts(lock), notes.strip(), "", "## Header comment", "", text(lock))
    more = (HANDOVER, handover(lock, picture), MEASURED, drawn(lock, remark.strip()), "")
    return "\n".join((*parts, *more))
