# SPDX-License-Identifier: MIT
"""What a text recommends: locks, and the situations of advice.toml that they are recommended for.

- `overlock run --lock NAME`, `--site PATTERN=NAME`, OVERLOCK_LOCK=NAME, and `lock = "NAME"` in a
  file of --config: NAME in place of glibc's mutexes.
- `--spinlock NAME`: in place of pthread_spin_t.
- "take NAME", "use NAME", "NAME is recommended", a table's column "take": in place of a mutex,
  unless <!-- situation: ID --> stands above the paragraph or table.

`overlock bench`, `guest`, `check` and `tune` measure the lock that they are given; they recommend
nothing. A line that shows a collapse says so: "shows the collapse", or "to see the collapse".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from overlock_tools.core.model import advice, defs

MUTEX = ("mutex-threads", "mutex-neighbours")
SPIN = ("spin-threads",)
MARK = re.compile(r"\b(?:shows?|see) the collapse\b", re.IGNORECASE)

GENERATED = re.compile(r"<!-- generated: [\w -]+ -->.*?<!-- end -->", re.DOTALL)
SITUATION = re.compile(r"<!-- situation: ([\w-]+) -->")
CONTINUED = re.compile(r"\\\n\s*")
RUN = re.compile(r"\boverlock(?:-tools)? run\b(?P<options>.*?)(?=\s--\s|[`\"]|$)", re.MULTILINE)
OPTIONS = (
    (re.compile(r"--lock[ =](\w+)"), MUTEX),
    (re.compile(r"--site[ =](?:'[^']*?=(\w+)'|\S*=(\w+))"), MUTEX),
    (re.compile(r"--spinlock[ =](\w+)"), SPIN),
)
ELSEWHERE = (
    (re.compile(r"\bOVERLOCK_LOCK=(\w+)"), MUTEX),
    (re.compile(r"\bOVERLOCK_SPINLOCK=(\w+)"), SPIN),
    (re.compile(r"^lock = \"(\w+)\"", re.MULTILINE), MUTEX),
    (re.compile(r"'[^'\s]*[*&:][^'\s]*=(\w+)'"), MUTEX),
)
NAME = r"(?:\[[^\]]*\]\((?:[\w./]*/)?\w+\.md\)|`\w+`|\b\w+\b)"
TAKE = re.compile(
    rf"\b(?:take|choose|prefer|use|try) (?P<names>{NAME}(?:(?:, or |, | or | and ){NAME})*)",
    re.IGNORECASE,
)
RECOMMENDED = re.compile(r"(?P<names>[^.;|\n]*\brecommend(?:s|ed)?\b[^.;|\n]*)", re.IGNORECASE)
NEGATED = re.compile(
    r"\b(?:not|never|no longer|cannot|rather than|instead of)\b[^.;:|]*$", re.IGNORECASE
)
ONE = re.compile(r"\]\((?:[\w./]*/)?(\w+)\.md\)|`(\w+)`|\b(\w+)\b")
COLUMN = ("take", "recommendation", "recommended")


@dataclass(frozen=True)
class Recommended:
    lock: str
    situations: tuple[str, ...]
    line: str


def known(names: str) -> list[str]:
    """Ours, in whatever marks them."""
    found = [next(filter(None, one)) for one in ONE.findall(names)]
    return list(dict.fromkeys(name for name in found if name in defs.load().locks))


def quoted(names: str) -> list[str]:
    """Those that are no words of English there."""
    found = re.findall(r"`(\w+)`|/(\w+)\.md|\b(\w+_\w+)\b", names)
    return [name for one in found if (name := next(filter(None, one))) in defs.load().locks]


def _line(text: str, at: int) -> str:
    begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    return text[begin : end if end >= 0 else len(text)]


def _commands(text: str) -> Iterator[Recommended]:
    for run in RUN.finditer(text):
        for pattern, situations in OPTIONS:
            for names in pattern.findall(run["options"]):
                lock = "".join(names)
                yield Recommended(lock, situations, _line(text, run.start()))
    for pattern, situations in ELSEWHERE:
        for found in pattern.finditer(text):
            yield Recommended(found[1], situations, _line(text, found.start()))


def _prose(paragraph: str, situations: tuple[str, ...]) -> Iterator[Recommended]:
    for found in TAKE.finditer(paragraph):
        if not NEGATED.search(paragraph[: found.start()]):
            for lock in known(found["names"]):
                yield Recommended(lock, situations, found[0])
    for found in RECOMMENDED.finditer(paragraph):
        if not NEGATED.search(found["names"]):
            for lock in quoted(found["names"]):
                yield Recommended(lock, situations, found[0].strip())


def _table(paragraph: str, situations: tuple[str, ...]) -> Iterator[Recommended]:
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")] for line in paragraph.split("\n")
    ]
    for at in (i for i, heading in enumerate(rows[0]) if heading.lower() in COLUMN):
        for line, row in zip(paragraph.split("\n")[2:], rows[2:], strict=True):
            for lock in quoted(row[at]) if at < len(row) else []:
                yield Recommended(lock, situations, line)


def recommended(text: str, usual: tuple[str, ...] = MUTEX) -> list[Recommended]:
    """All that the text recommends, but for what is generated, or marked as a collapse."""
    text = CONTINUED.sub(" ", GENERATED.sub("", text))
    found = list(_commands(text))
    situations = usual
    for raw in re.split(r"\n\s*\n", text):
        marks = SITUATION.findall(raw)
        paragraph = SITUATION.sub("", raw).strip()
        situations = tuple(marks) or situations
        if not paragraph:
            continue
        found += _table(paragraph, situations) if paragraph.startswith("|") else []
        found += _prose(re.sub(r"\s+", " ", paragraph), situations)
        situations = usual
    locks = defs.load().locks
    assert all(name in advice.load() for one in found for name in one.situations)
    return [one for one in found if one.lock in locks and not MARK.search(one.line)]
