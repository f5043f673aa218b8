#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills the explored parts of docs/proof.md and docs/results/claims*.md by running the checker."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from overlock_tools.check.chart import chart
from overlock_tools.check.job import Job, Size, Subject
from overlock_tools.check.outcome import Outcome
from overlock_tools.core.model.paper_settings import cited
from tests.check.checking import ids, listed
from tests.check.claim_cases import HERE, Result, Run, all_runs, said
from tests.conftest import TOP

PAGES = (TOP / "docs/proof.md", *sorted(TOP.glob("docs/results/claims*.md")))
PART = re.compile(r"(<!-- explored: ([a-z-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
WIDTH = 112
# What is left out of those in which too much can happen for a minute: of the run in which a holder
# is gone, and of those in which a waiter is.
LESS = {
    "tx": (" no-transactions", " no-transactions"),
    "pv_qspin": (" spin=0 spurious=0 expiry=0", " spin=0 spurious=0 expiry=0"),
    "owner_qspin": (" expiry=0", ""),
    "mcs_tp": (" expiry=0", ""),
    "rota": (" clock=0 expiry=0", " clock=0"),
}


def traits(lock: str) -> str:
    text = (TOP / "include/overlock/locks.def").read_text()
    found = re.search(rf"^OL_LOCK\({lock}, \w+,\s+([^\"]*),", text, re.MULTILINE)
    assert found
    return found[1]


@dataclass(frozen=True)
class Gone:
    """What becomes of the others when somebody has lost its CPU for good."""

    lock: str
    holder: Result
    waiter: Result
    waiter_untimed: Result  # no timeout comes

    @property
    def lines_up(self) -> bool:
        """Once it has queued at the latest; whoever is first may have the lock already."""
        return "FIFO" in traits(self.lock) or "NEEDS_NODES" in traits(self.lock)

    @property
    def parks(self) -> bool:
        """Whoever the holder is: not for its slice alone."""
        has = traits(self.lock)
        for_its_slice = "OL_NEEDS_SLICE" in has and "OL_BY_CLOCK" not in has
        return "OL_NEEDS_PARK" in has and not for_its_slice


def explore(lock: str, run: str) -> Result:
    return Run("", "", lock, run, (), "").explore()


def gone(lock: str) -> Gone:
    """With a deadline the second context leaves, so it takes a third to wait for ever."""
    scenarios = next(one["scenarios"] for one in listed()["locks"] if one["id"] == lock)
    size = "3x1" if "timed" in scenarios else "2x2"
    unknown = " clock=0" if "OL_NEEDS_SLICE" in traits(lock) else ""  # when slices end
    less, less_waiting = LESS.get(lock, (unknown, unknown))
    return Gone(
        lock,
        explore(lock, f"{size} sc holder{less}"),
        explore(lock, f"2x2 sc waiter{less_waiting}"),
        explore(lock, f"2x2 sc waiter no-timeouts{less_waiting}"),
    )


def table(headings: list[str], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def number(n: int) -> str:
    return f"{n:,}".replace(",", " ")


def verdict_row(run: Run) -> list[str]:
    result = run.explore()
    failure = result["failure"]
    size = f"exhausted, {number(result['executions'])} executions"
    if failure:
        size = f"`{failure['replay']}`"
    passed = result["notes"].get("passed")
    told = "" if passed is None or failure else str(passed)
    word = f"**{result['verdict']}**" if failure else result["verdict"]
    return [cited(run.source), run.says, f"`{run.lock}`", f"`{run.run}`", word, size, told]


def verdicts() -> str:
    headings = ["source", "claim", "lock", "run", "verdict", "size, or replay", "passed"]
    return table(headings, [verdict_row(run) for run in all_runs()])


def others(result: Result) -> str:
    notes = result["notes"]
    if result["verdict"] == "fails":
        return f"**{result['failure']['property']}**"
    if not notes["stuck"]:
        return "go on"
    ways = [word for key, word in (("spin", "spin"), ("parked", "sleep")) if notes[key]]
    return f"{' or '.join(ways)} for ever"


def gone_table() -> str:
    rows = []
    for lock in ids("locks"):
        row = gone(lock)
        each = (row.holder, row.waiter, row.waiter_untimed)
        size = f"{row.holder['contexts']}x{row.holder['acquisitions']}, 2x2, 2x2"
        rows.append([f"`{lock}`", *map(others, each), size])
    headings = [
        "lock",
        "a holder is gone: those without a deadline",
        "a waiter is gone: the others",
        "the same, no timeout ever comes",
        "sizes (SC)",
    ]
    return table(headings, rows)


# What locks learn from the host, by the trait that says so.
LEARNS = {
    "OL_NEEDS_SLICE": "slices",
    "OL_NEEDS_PREEMPTED": "preempted contexts",
    "OL_NEEDS_PARK": "kicks",
}
# Where less than two acquisitions each is much.
LONG_LOST = {"rota": "2x1"}


def learns(lock: str) -> list[str]:
    has = traits(lock)
    return [what for trait, what in LEARNS.items() if trait in has]


def trusting() -> list[str]:
    """The locks that learn anything from the host."""
    return [lock for lock in ids("locks") if learns(lock)]


def lied_to(lock: str) -> Run:
    """Any answer to one question, and a kick that is late, of each context."""
    return Run("", "", lock, "2x1 sc lock lies=1 late=1", (), "holds")


def lost_kick(lock: str) -> Run | None:
    size = LONG_LOST.get(lock, "2x2")
    found = Run("", "", lock, f"{size} sc lock lost=1", (), "")
    return found if "kicks" in learns(lock) else None


def told(run: Run | None) -> list[str]:
    if run is None:
        return ["", "does not sleep"]
    result = run.explore()
    failure = result["failure"]
    if failure:
        return [f"`{run.run}`", f"**{failure['property']}**, replay `{failure['replay']}`"]
    return [f"`{run.run}`", f"holds, {number(result['executions'])} executions"]


def host_table() -> str:
    rows = [
        [f"`{lock}`", ", ".join(learns(lock)), *told(lied_to(lock)), *told(lost_kick(lock))]
        for lock in trusting()
    ]
    headings = ["lock", "learns of", "false answers, late kicks", "verdict"]
    return table([*headings, "a kick is lost", "verdict"], rows)


def subject(lock: str) -> Subject:
    library = (TOP / "include/overlock/lock").glob("*.h")
    own = [path for path in (*HERE.glob("*.h"), *library) if lock.startswith(path.stem)]
    header = max(own, key=lambda path: len(path.stem))
    return Subject(lock, header=header)


def drawn(case: dict[str, str]) -> str:
    lock, claims = case["locks"][0], tuple(case["claims"])
    run = Run(case["source"], case["says"], lock, case["drawn"], claims, "fails")
    result = run.explore()
    size, *_ = run.run.split()
    job = Job(subject(lock), size=Size(*map(int, size.split("x"))))
    lines = [line.plain for line in chart(Outcome(job, result), WIDTH)]
    failure = result["failure"]
    asked = " ".join(f"--claim {claim}" for claim in claims)
    return (
        f"### `{lock}`, `{run.run}`: not {', '.join(claims)}\n\n"
        f"{case['says'][0].upper()}{case['says'][1:]}: no.\n"
        f"{failure['how'][0].upper()}{failure['how'][1:]}.\n\n"
        f"Found in execution {number(result['executions'])} with `{asked}`; "
        f"replay `{failure['replay']}`.\n\n```text\n" + "\n".join(lines) + "\n```\n\n"
    )


def counterexamples() -> str:
    return "".join(drawn(case) for case in said() if "drawn" in case)


def claims_table() -> str:
    rows = [[f"`{one['id']}`", cited(one["source"]), one["what"]] for one in listed()["claims"]]
    return table(["`--claim`", "source", "what must hold in every execution"], rows)


PARTS: dict[str, Callable[[], str]] = {
    "claims": claims_table,
    "verdicts": verdicts,
    "gone": gone_table,
    "host": host_table,
    "counterexamples": counterexamples,
}


def filled(text: str) -> str:
    return PART.sub(lambda part: part[1] + PARTS[part[2]]() + part[4], text)


def main() -> None:
    for page in PAGES:
        page.write_text(filled(page.read_text()))


if __name__ == "__main__":
    main()
