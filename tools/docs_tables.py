#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills the generated parts of docs/: the tables of locks, workloads, events and so on.

A page marks such a part by <!-- generated: NAME --> and <!-- end -->. `make docs` writes all pages,
filled, to build/docs; with --in-place the pages of docs/ themselves are brought up to date.
"""

import argparse
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from overlock_tools import defs, measure, traits
from overlock_tools.checking import lists
from overlock_tools.commands.tunables import WHEN
from overlock_tools.doctor import GROUPS, of_group
from overlock_tools.doctor.rules import RULES
from overlock_tools.errors import MISSING, Fail
from overlock_tools.scenarios import SCENARIOS

TOP = Path(__file__).resolve().parent.parent
DOCS = TOP / "docs"
PART = re.compile(r"(<!-- generated: ([a-z-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def table(headings: list[str], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def linked(source: str) -> str:
    """A lock's source, with the papers' numbers as links."""
    return re.sub(r"\b(00[0-4])\b", r"[\1](papers.md#\1)", source)


def locks_table() -> str:
    rows = []
    for lock in defs.load().locks.values():
        name = f"[`{lock.id}`](#{lock.id})"
        rows.append([name, linked(lock.source), lock.what])
    return table(["lock", "source", "what it is"], rows)


def properties_table() -> str:
    rows = [
        [
            f"`{lock.id}`",
            str(lock.size),
            traits.order(lock),
            traits.preempted_holder(lock),
            traits.preempted_waiter(lock),
            traits.timed(lock),
            ", ".join(traits.needs(lock)),
            "yes" if "private" in lock.traits else "",
        ]
        for lock in defs.load().locks.values()
    ]
    headings = [
        "lock",
        "bytes",
        "overtaken",
        "a preempted holder costs",
        "a preempted waiter costs",
    ]
    return table([*headings, "timed", "needs", "one process only"], rows)


def opening_comment(lock: str) -> str:
    """What the lock's header says of it, without the comment's stars."""
    text = (TOP / f"include/overlock/lock/{lock}.h").read_text()
    found = re.search(r"^/\*\n(.*?)^ \*/$", text, re.DOTALL | re.MULTILINE)
    if not found:
        raise Fail(f"lock/{lock}.h does not open with a comment that says what it is")
    lines = (re.sub(r"^ \* ?", "", line).expandtabs(8) for line in found[1].splitlines())
    return "\n".join(line.rstrip() for line in lines)


def locks_details() -> str:
    parts = []
    for lock in defs.load().locks.values():
        header = f"[`lock/{lock.id}.h`](../include/overlock/lock/{lock.id}.h)"
        parts.append(f"## {lock.id}\n\n{header}\n\n```text\n{opening_comment(lock.id)}\n```\n")
    return "\n".join(parts)


def peers_table() -> str:
    peers = defs.load().peers.values()
    rows = [[f"`{peer.id}`", f"`{peer.package}`", peer.what] for peer in peers]
    return table(["lock", "Debian package", "what it is"], rows)


def workloads_table() -> str:
    rows = [[f"`{w.name}`", w.what, w.unit] for w in measure.subjects().workloads.values()]
    return table(["workload", "what it is", "counted are"], rows)


def parameters_table() -> str:
    rows = [
        [w.name, f"`{p.option}`", "`" + "`, `".join(p.values or (p.preset,)) + "`", p.what]
        for w in measure.subjects().workloads.values()
        for p in w.parameters
    ]
    return table(["workload", "option", "default, or values", "what"], rows)


def scenarios_table() -> str:
    rows = []
    for scenario in SCENARIOS:
        value = scenario.metavar.replace("|", "\\|")  # GitHub ends a cell there, even in code
        rows.append([f"`--{scenario.name} {value}`", scenario.help])
    return table(["option", "what it does"], rows)


def events_table() -> str:
    rows = [[f"`{e.name}`", e.what] for e in defs.load().events.values()]
    return table(["event", "what is counted"], rows)


def tunables_table() -> str:
    rows = []
    for t in defs.load().tunables.values():
        names = [f"`{t.name}`", f"`{t.option}`", f"`{t.variable}`"]
        facts = [defs.UNITS[t.unit], str(t.default), t.range, WHEN[t.when], linked(t.source)]
        rows.append([*names, *facts, t.what])
    headings = ["name", "option", "environment", "unit", "default", "range", "may be set"]
    return table([*headings, "the default is from", "what it does"], rows)


def rules_table() -> str:
    rows = [
        [f"`{rule.id}`", rule.answer.value, rule.verdict, "; ".join(rule.advice)] for rule in RULES
    ]
    return table(["rule", "answer", "verdict", "advice"], rows)


def star(text: str) -> str:
    """Not emphasis."""
    return text.replace("*", "\\*")


def facts_table() -> str:
    rows = [
        [f"`{f.id}`", f.group, f.name, star(f.how), f.means] for g in GROUPS for f in of_group(g)
    ]
    return table(["fact", "group", "name", "how it is found", "what it means"], rows)


def check_scenarios_table() -> str:
    rows = [[f"`{name}`", what] for name, what in lists.load().scenarios.items()]
    return table(["scenario", "what the contexts do"], rows)


def check_models_table() -> str:
    rows = [[f"`{name}`", what] for name, what in lists.load().models.items()]
    return table(["model", "what it is"], rows)


def check_budgets_table() -> str:
    known = lists.load()
    rows = [[f"`{k}`", str(known.usual[k]), what] for k, what in known.budgets.items()]
    return table(["budget", "for each context, unless given", "what it allows"], rows)


PARTS: dict[str, Callable[[], str]] = {
    "locks": locks_table,
    "properties": properties_table,
    "lock-details": locks_details,
    "peers": peers_table,
    "workloads": workloads_table,
    "parameters": parameters_table,
    "scenarios": scenarios_table,
    "events": events_table,
    "tunables": tunables_table,
    "doctor-rules": rules_table,
    "doctor-facts": facts_table,
    "check-scenarios": check_scenarios_table,
    "check-models": check_models_table,
    "check-budgets": check_budgets_table,
}


def fill(text: str) -> str:
    """The page with its generated parts up to date."""

    def part(found: re.Match[str]) -> str:
        if found[2] not in PARTS:
            raise Fail(f"there is no generated part {found[2]}; there are {', '.join(PARTS)}")
        try:
            return f"{found[1]}{PARTS[found[2]]()}{found[4]}"
        except Fail as error:
            if error.code != MISSING:
                raise
            print(f"docs: {found[2]} is left as it was: {error.message}", file=sys.stderr)
            return found[0]

    return PART.sub(part, text)


def write(out: Path) -> None:
    if out != DOCS:
        shutil.copytree(DOCS, out, dirs_exist_ok=True)
    top = os.path.relpath(TOP, out.resolve())
    for page in sorted(DOCS.glob("*.md")):
        (out / page.name).write_text(fill(page.read_text()).replace("](../", f"]({top}/"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=TOP / "build/docs", metavar="FOLDER")
    parser.add_argument("--in-place", action="store_true", help="bring docs/ itself up to date")
    options = parser.parse_args()
    try:
        write(DOCS if options.in_place else options.out)
    except Fail as error:
        print(f"docs: {error.message}", file=sys.stderr)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
