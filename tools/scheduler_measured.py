# SPDX-License-Identifier: MIT
"""The tables of docs/results/scheduler*.md, from docs/measured/scheduler.json.

The file has what `overlock guest sched --json` wrote in some boots. Rates of different boots are
not compared: a lock or a program with its threads is a row, and all of a row is of one boot.

    python tools/scheduler_measured.py RESULT.json...

makes the file from such results.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kept_json
from lock_pages import table

MEASURED = Path(__file__).resolve().parent.parent / "docs/measured/scheduler.json"
PROGRAMS = ("openmp", "leveldb", "pgbench")
PAPERS = ("ebizzy", "kernbench", "pbzip2")
# What these programs have in their mutexes, or as their own lock.
MUTEXES = {"": "glibc's", "ticket": "`ticket`", "i_spin": "`i_spin`"}
# The columns, by what the guest was scheduled by.
UNDER = {
    "kernel": "EEVDF",
    "plain": "plain sched_ext",
    "sched --no-keep": "no a",
    "sched --no-publish": "no b to d",
    "sched --no-defer": "no c",
    "sched --no-lead": "no d",
    "sched": "a to d",
}


def _boots() -> list[dict[str, Any]]:
    boots: list[dict[str, Any]] = json.loads(MEASURED.read_text())["boots"]
    return boots


def _by_row(boots: list[dict[str, Any]]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """A lock or program, its threads, and its cells by scheduler."""
    rows: dict[tuple[int, str, int], dict[str, Any]] = {}
    for number, boot in enumerate(boots):
        for cell in boot["cells"]:
            row = rows.setdefault((number, cell["lock"], cell["threads"]), {})
            row[cell["under"]] = cell
    for (_, name, threads), cells in sorted(rows.items(), key=lambda row: row[0][2]):
        yield name, threads, cells


def _short(rate: float) -> str:
    if rate >= 10_000:
        return f"{rate / 1000:,.0f} k"
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def _rate_and_wait(cell: dict[str, Any]) -> str:
    rate, wait = cell["rates"][0], cell["p99_us"][0]
    long = f"{wait / 1000:.0f} ms" if wait >= 1000 else f"{wait:.0f} µs"
    return f"{_short(rate)} / {long}" if wait else _short(rate)


def _shown(cell: dict[str, Any] | None) -> str:
    return f"{_rate_and_wait(cell)} / {cell['jain'][0]:.2f}" if cell else ""


def _rates(boots: list[dict[str, Any]], what: str) -> str:
    rows = list(_by_row(boots))
    under = {key: name for key, name in UNDER.items() if any(key in row[2] for row in rows)}
    lines = [
        [f"`{name}`", str(threads), *(_shown(cells.get(key)) for key in under)]
        for name, threads, cells in rows
    ]
    return table([what, "threads", *under.values()], lines)


def _kind(boot: dict[str, Any]) -> str:
    """What a boot with cells measured."""
    if any(cell.get("acquired") for cell in boot["cells"]):
        return "counted"
    names = [cell["lock"] for cell in boot["cells"]]
    if any("--lock" in name or name.partition("@")[0] in PAPERS for name in names):
        return "papers"
    return "programs" if names[0] in PROGRAMS else "locks"


def _with_cells(kind: str) -> list[dict[str, Any]]:
    return [boot for boot in _boots() if boot.get("cells") and _kind(boot) == kind]


def scheduler_table() -> str:
    """Acquisitions per second / p99 wait / Jain."""
    return _rates(_with_cells("locks"), "lock")


def programs_table() -> str:
    return _rates(_with_cells("programs"), "program")


def _mutexes(name: str) -> str:
    """Of a program as it was named."""
    words = re.split(r"@| --lock | --csd-ns ", name)
    return MUTEXES[words[1] if len(words) > 1 else ""]


def paper_programs_table() -> str:
    """Programs with other locks in their mutexes: operations per second / p99."""
    rows: dict[tuple[str, int], dict[tuple[str, str], str]] = {}
    for name, threads, cells in _by_row(_with_cells("papers")):
        own = " (its own lock)" if "@" in name else ""
        row = rows.setdefault((re.split("[@ ]", name)[0] + own, threads), {})
        for under, cell in cells.items():
            row[_mutexes(name), under] = _rate_and_wait(cell)
    columns = [(mutexes, under) for mutexes in MUTEXES.values() for under in ("kernel", "sched")]
    heads = [f"{mutexes}, {UNDER[under]}" for mutexes, under in columns]
    lines = [
        [f"`{name}`", str(threads), *(row.get(column, "") for column in columns)]
        for (name, threads), row in sorted(rows.items())
    ]
    return table(["program", "threads", *heads], lines)


def _per(preempted: int, acquired: int) -> str:
    return f"{1000 * preempted / acquired:.3g}" if acquired else ""


def preempted_table() -> str:
    """Waiters and holders that were preempted, of a thousand acquisitions."""
    lines = []
    for name, threads, cells in _by_row(_with_cells("counted")):
        for under, cell in cells.items() if "kernel" in cells else ():
            acquired, lwp, lhp = (sum(cell[key]) for key in ("acquired", "lwp", "lhp"))
            counts = [f"{lwp} ({_per(lwp, acquired)})", f"{lhp} ({_per(lhp, acquired)})"]
            rate = f"{cell['rates'][0]:,.0f}"
            lines.append([str(threads), f"`{name}`", UNDER[under], rate, f"{acquired:,}", *counts])
    lines.sort(key=lambda line: (int(line[0]), line[1]))
    heads = ["threads", "lock", "under", "rate", "acquired", "preempted in line", "while holding"]
    return table(heads, lines)


def papers_table() -> str:
    """The paper's locks under `overlock sched` alone: rate, and who was preempted of a thousand."""
    rows: dict[str, dict[int, str]] = {}
    for name, threads, cells in _by_row(_with_cells("counted")):
        if "kernel" not in cells:
            cell = cells["sched"]
            acquired, lwp, lhp = (sum(cell[key]) for key in ("acquired", "lwp", "lhp"))
            shown = f"{_short(cell['rates'][0])} / {_per(lwp + lhp, acquired)}"
            rows.setdefault(name, {})[threads] = f"{shown} / {cell['jain'][0]:.2f}"
    columns = sorted({threads for row in rows.values() for threads in row})
    lines = [[f"`{name}`", *(row.get(n, "") for n in columns)] for name, row in rows.items()]
    return table(["lock", *(f"{n} threads" for n in columns)], lines)


def _said(word: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What loads said that say such a word; under which scheduler."""
    for boot in _boots():
        under = "kernel"
        for answer in boot.get("said", ()):
            under = answer.get("under", under)
            if word in answer:
                yield under, answer


def neighbours_table() -> str:
    """A thread that computes, beside threads that compete for a lock."""
    rows: dict[str, dict[str, str]] = {}
    for under, hog in _said("hog"):
        rows.setdefault(hog["hog"], {})[under] = f"{100 * (hog['of_fair'] - 1):+.1f} %"
    columns = [key for key in UNDER if any(key in row for row in rows.values())]
    lines = [[f"`{lock}`", *(row.get(key, "") for key in columns)] for lock, row in rows.items()]
    return table(["lock of the others", *(UNDER[key] for key in columns)], lines)


def switches_table() -> str:
    lines = [
        [UNDER[under], f"{told['yield_ns']:,.0f}", f"{told['sleep_ns']:,.0f}"]
        for under, told in _said("yield_ns")
    ]
    return table(["", "both yield", "they sleep and wake each other"], lines)


def main() -> None:
    boots = [json.loads(Path(name).read_text()) for name in sys.argv[1:]]
    for cell in (cell for boot in boots for cell in boot.get("cells", ())):
        for each in ("work", "seconds"):  # of each thread: no table has it
            cell.pop(each, None)
    kept_json.write(MEASURED, {"boots": boots})


if __name__ == "__main__":
    main()
