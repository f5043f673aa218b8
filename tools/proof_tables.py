#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills the tables of docs/proof.md and docs/results/proof.md.

They are results of `overlock check --json`:
tools/proof_tables.py FILE.json ... A page marks a table by <!-- proof: NAME --> and
<!-- end -->. `make proof` makes the files and the page. A cell is a plain number only if the search
was exhausted and the lock held. A cell without a result is empty; a column without results is left
out.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lock_pages import table

TOP = Path(__file__).resolve().parent.parent
PAGES = (TOP / "docs/proof.md", TOP / "docs/results/proof.md")
PART = re.compile(r"(<!-- proof: ([a-z]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

MODELS = ("sc", "tso", "c11")
SIZES = [
    *[("2x2", model) for model in MODELS],
    *[("3x1", model) for model in MODELS],
    *[("3x2", model) for model in MODELS[:2]],
]
GROWTH = ("2x1", "2x2", "2x3", "3x1", "3x2", "4x1")  # under SC
NOT_ALL = "not exhausted"
MINUTE = 60.0

Result = dict[str, Any]


class Results:
    """By lock, scenario, model, size and search; of two equal ones, the one that got further."""

    def __init__(self, documents: Iterable[dict[str, Any]]) -> None:
        self.found: dict[tuple[str, ...], Result] = {}
        self.commands: list[str] = []
        for document in documents:
            self.commands.append(without_files(document["command"]))
            for result in document["results"]:
                self._add(result)
        self.locks = list(dict.fromkeys(key[0] for key in self.found))

    def _add(self, result: Result) -> None:
        size = f"{result['contexts']}x{result['acquisitions']}"
        lock = "@".join([result["lock"], *(f"{k}={v}" for k, v in result["tune"].items())])
        key = (lock, result["scenario"], result["model"], size, result["search"])
        known = self.found.get(key)
        if not known or reach(known) <= reach(result):
            self.found[key] = result

    def get(
        self, lock: str, model: str, size: str, scenario: str = "lock", search: str = "dpor"
    ) -> Result | None:
        return self.found.get((lock, scenario, model, size, search))

    def scenarios(self) -> list[str]:
        return list(dict.fromkeys(key[1] for key in self.found))


def without_files(command: str) -> str:
    return re.sub(r" --json \S+", "", command)


def reach(result: Result) -> tuple[bool, bool, int]:
    """A failure ranks above all, and an exhausted search above any number of executions."""
    return result["verdict"] == "fails", result["exhausted"], result["executions"]


def span(seconds: float) -> str:
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE:.0f} min"


def cell(result: Result | None) -> str:
    if result is None:
        return ""
    count = f"{result['executions']:,}"
    if result["verdict"] == "fails":
        return f"**FAILS: {result['failure']['property']}**"
    if result["error"]:
        return f"no answer: {result['error']}"
    if not result["exhausted"]:
        return f"{NOT_ALL}: {count} in {span(result['seconds'])}"
    return f"{count} ({span(result['seconds'])})" if result["seconds"] >= MINUTE else count


def sizes(results: Results) -> str:
    asked = [(s, m) for s, m in SIZES if any(results.get(lock, m, s) for lock in results.locks)]
    headings = ["lock", *(f"{size} {model}" for size, model in asked)]
    rows = [
        [f"`{lock}`", *(cell(results.get(lock, model, size)) for size, model in asked)]
        for lock in results.locks
    ]
    return table(headings, rows)


def summary(results: Results) -> str:
    """The number of locks for which a size was exhausted, and the other locks."""
    rows = []
    for size, model in [*(("2x1", model) for model in MODELS), *SIZES]:
        found = {lock: one for lock in results.locks if (one := results.get(lock, model, size))}
        if not found:
            continue
        holds, opened, fails = (of_verdict(found, name) for name in ("holds", "open", "fails"))
        done, every = f"{len(holds)} of {len(found)}", list(found)
        rows.append([f"{size} {model}", done, named(opened, every), named(fails, every)])
    return table(["size, model", "exhausted: holds", "not exhausted", "fails"], rows)


def of_verdict(found: dict[str, Result], verdict: str) -> list[str]:
    return [f"`{lock}`" for lock, one in found.items() if one["verdict"] == verdict]


def factor(results: Results, lock: str, before: str, after: str) -> str:
    pair = [results.get(lock, "sc", size) for size in (before, after)]
    if not all(one and one["exhausted"] for one in pair):
        return ""
    fewer, more = (one["executions"] for one in pair if one)
    return f"×{more / fewer:,.0f}"


def largest(results: Results, lock: str) -> str:
    done = [size for size in GROWTH if (one := results.get(lock, "sc", size)) and one["exhausted"]]
    return ", ".join(
        size for size in done if not any(size != other and within(size, other) for other in done)
    )


def within(size: str, other: str) -> bool:
    """The larger size includes all executions of the smaller one."""
    (contexts, each), (contexts2, each2) = (map(int, s.split("x")) for s in (size, other))
    return contexts <= contexts2 and each <= each2


def growth(results: Results) -> str:
    every = [("2x1", "2x2"), ("2x2", "2x3"), ("2x1", "3x1"), ("3x1", "3x2"), ("3x1", "4x1")]
    steps = [step for step in every if any(factor(results, lock, *step) for lock in results.locks)]
    headings = ["lock", "largest exhausted", *(f"{a} → {b}" for a, b in steps)]
    rows = [
        [f"`{lock}`", largest(results, lock), *(factor(results, lock, a, b) for a, b in steps)]
        for lock in results.locks
    ]
    return table(headings, rows)


def ends(result: Result) -> str:
    """The result of a scenario in few words."""
    if result["verdict"] == "open" and not result["error"]:
        return NOT_ALL
    if result["verdict"] != "holds":
        return cell(result)
    return str(result["words"]).removeprefix("exhausted: ").removeprefix("holds; ")


def outcome(results: Results, lock: str, scenario: str) -> str:
    """The result under all models; per model if they differ or some are missing."""
    found = {
        model: ends(one)
        for model in MODELS
        if (one := results.get(lock, model, "2x1", scenario)) is not None
    }
    if len(found) == len(MODELS) and len(set(found.values())) == 1:
        return found[MODELS[0]]
    return ", ".join(f"{model}: {end}" for model, end in found.items())


def named(some: list[str], every: list[str]) -> str:
    """The shorter of two lists: these, or all but the others."""
    others = [f"`{lock}`" for lock in every if f"`{lock}`" not in some]
    if not others:
        return "all"
    return f"all but {', '.join(others)}" if len(others) < len(some) / 2 else ", ".join(some)


def scenarios(results: Results) -> str:
    rows = []
    for scenario in results.scenarios():
        locks: dict[str, list[str]] = {}
        for lock in results.locks:
            if said := outcome(results, lock, scenario):
                locks.setdefault(said, []).append(f"`{lock}`")
        found = (f"{end}: {named(of, results.locks)}" for end, of in locks.items())
        rows.append([f"`{scenario}`", "; ".join(found)])
    return table(["scenario", "result"], rows)


def random(results: Results) -> str:
    rows = [
        [
            f"`{key[0]}`",
            key[2],
            key[3],
            f"{one['executions']:,}",
            span(one["seconds"]),
            verdict(one),
        ]
        for key, one in results.found.items()
        if key[4] == "pct"
    ]
    return table(["lock", "model", "size", "random executions", "time", "found"], rows)


def commands(results: Results) -> str:
    """The commands in full: the last of two equal options counts."""
    return "\n" + "".join(f"    {command}\n" for command in results.commands) + "\n"


def verdict(result: Result) -> str:
    return cell(result) if result["verdict"] == "fails" else "nothing"


PARTS: dict[str, Callable[[Results], str]] = {
    "summary": summary,
    "sizes": sizes,
    "growth": growth,
    "scenarios": scenarios,
    "random": random,
    "commands": commands,
}


def fill(page: str, results: Results) -> str:
    return PART.sub(lambda found: found[1] + PARTS[found[2]](results) + found[4], page)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    options = parser.parse_args()
    results = Results(json.loads(path.read_text()) for path in options.files)
    for page in PAGES:
        page.write_text(fill(page.read_text(), results))


if __name__ == "__main__":
    main()
