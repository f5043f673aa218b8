# SPDX-License-Identifier: MIT
"""The rows: every table, figure and number of the papers' texts, and the ways to answer each.

A file of rows/ for each paper. Its keys:

    [[row]]    a table, figure, number or claim:
      id       after the paper's key
      where    in the paper
      says     in our words, with its numbers
      needs    on what it was found, and is to be found: the condition of the row
      values   its numbers, by what they are of, for the picture; axis: their unit
    [row.RIG]  a way to answer it. `lacks`: what the rig lacks of the condition; without it, the rig
               meets the condition. `why`: what explains it where it does not hold. The rest is the
               rig's: rigs/
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from overlock_tools.core.model.paper_settings import CITED
from overlock_tools.core.system.errors import Fail

FOLDER = resources.files("overlock_tools.lab.reproduce") / "rows"
# From what meets the papers' conditions most often to what does least.
RIGS = (
    *("proof", "computed", "native", "programs"),
    *("guest", "nested", "xen", "sched", "simulated"),
)
RIG_WORDS = {
    "proof": "model checker",
    "computed": "computed",
    "native": "native",
    "programs": "real programs",
    "guest": "guests",
    "nested": "guests under KVM",
    "xen": "guests under Xen",
    "sched": "counted guests",
    "simulated": "simulator",
}
MODELLED = "a real machine, host and load"


@dataclass(frozen=True)
class Way:
    """How a rig answers a row."""

    rig: str
    lacks: str  # empty: the paper's condition is met
    why: str
    asked: Mapping[str, Any] = field(hash=False)

    @property
    def meets(self) -> bool:
        return not self.lacks


@dataclass(frozen=True)
class Row:
    id: str
    paper: str
    where: str
    says: str
    needs: str
    ways: Sequence[Way] = field(hash=False)
    values: Mapping[str, float] = field(default_factory=dict, hash=False)
    axis: str = ""

    @property
    def cited(self) -> str:
        return f"{CITED[self.paper]}, {self.where}"

    def way(self, rig: str) -> Way | None:
        return next((way for way in self.ways if way.rig == rig), None)

    def is_of(self, figure: str) -> bool:
        """Whether a reader means it by `fig5a`, `table1`, `4.3` or the row's own id."""
        asked = figure.lower().replace("figure", "fig")
        plain = re.sub(r"[^a-z0-9.]", "", self.where.lower())
        own = self.id.removeprefix(f"{self.paper}-")
        return own == asked or own.startswith(f"{asked}-") or asked in _names(plain)


def _names(plain: str) -> set[str]:
    """`fig.5a,onevm` is fig5a, and of fig5."""
    found = {f"{kind}{number}" for kind, number in re.findall(r"(fig|table)\.?(\d+[a-z]?)", plain)}
    return (
        found | {name.rstrip("abcd") for name in found} | set(re.findall(r"\d+\.\d[\d.]*", plain))
    )


@cache
def load() -> tuple[Row, ...]:
    return tuple(row for paper in CITED for row in _of_paper(paper))


def _of_paper(paper: str) -> Iterator[Row]:
    text = tomllib.loads((FOLDER / f"{paper}.toml").read_text())
    for raw in text["row"]:
        ways = [_way(rig, dict(raw.pop(rig))) for rig in RIGS if rig in raw]
        yield Row(**{**raw, "id": f"{paper}-{raw['id']}"}, paper=paper, ways=ways)


def _way(rig: str, raw: dict[str, Any]) -> Way:
    lacks = raw.pop("lacks", MODELLED if rig == "simulated" else "")
    return Way(rig, lacks, raw.pop("why", ""), raw)


def chosen(paper: str | None, figure: str | None) -> list[Row]:
    """Of all, of a paper, or of what it calls so."""
    rows = [row for row in load() if paper in (None, row.paper, row.id)]
    if not rows:
        raise Fail(f"{paper}: no such paper or row; expected one of {', '.join(CITED)}")
    if figure is None:
        return rows
    found = [row for row in rows if row.is_of(figure)]
    if not found:
        known = ", ".join(dict.fromkeys(row.where for row in rows))
        raise Fail(f"{paper} {figure}: nothing of it; {CITED[rows[0].paper]} has {known}")
    return found
