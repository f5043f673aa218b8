# SPDX-License-Identifier: MIT
"""What was found of each row, by each rig and machine: kept after each, so nothing is lost."""

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Any

from overlock_tools.core.system import files, machine
from overlock_tools.core.system.errors import Fail
from overlock_tools.lab.reproduce.checks import Found, Verdict
from overlock_tools.lab.reproduce.rows import RIGS, Row

FORMAT = "overlock-reproduced"
VERSION = 1
EXACT = ("proof", "computed", "simulated")  # the same wherever they run
ANY_MACHINE = "any machine"


class State(StrEnum):
    HOLDS = "holds"
    SHAPE = "holds in shape"
    NOT = "does not hold"
    OPEN = "not decided"


OF_VERDICT = {
    Verdict.HOLDS: State.HOLDS,
    Verdict.PARTLY: State.SHAPE,
    Verdict.NOT: State.NOT,
    Verdict.UNDECIDED: State.OPEN,
    Verdict.VACUOUS: State.OPEN,
    Verdict.NOTHING: State.OPEN,
}


@dataclass(frozen=True)
class Answer:
    """Of a row, by a rig, on a machine."""

    row: str
    rig: str
    state: State
    lacks: str  # of the paper's condition; empty: met
    found: Sequence[Mapping[str, Any]]  # what, at, paper, median, least, most, count, verdict
    why: str = ""  # where it does not hold, or not wholly
    takes: str = ""  # what it would take, where it is not decided
    knowledge: str = ""  # that a lock had of its CPUs
    commands: Sequence[str] = ()
    commit: str = ""
    machine: str = ""
    seconds: float = 0.0
    date: str = field(default_factory=lambda: f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}")

    @property
    def decided(self) -> bool:
        return self.state != State.OPEN

    @property
    def ran(self) -> bool:
        """Whether there is anything to judge by; what cannot run somewhere is kept, too."""
        return self.decided or any(
            one.get("text") or one.get("median") is not None for one in self.found
        )

    @property
    def meets(self) -> bool:
        return not self.lacks

    @property
    def key(self) -> tuple[str, str, str]:
        return self.row, self.rig, self.machine


def shown(found: Found) -> dict[str, Any]:
    """A number for JSON, which has no infinity."""
    ends = {"median": found.median, "least": found.least, "most": found.most}
    return {
        "what": found.what,
        "at": found.at,
        "paper": found.paper,
        **{name: _rounded(value) for name, value in ends.items()},
        "count": found.count,
        "verdict": found.verdict,
    }


def _rounded(value: float | None) -> float | str | None:
    if value is None:
        return None
    return float(f"{value:.3g}") if isfinite(value) else "inf"


def this_machine(rig: str) -> str:
    """`Intel Xeon Processor, 2 CPUs, Linux 6.18`: it names no owner. Of what is exact, any."""
    if rig in EXACT:
        return ANY_MACHINE
    facts = machine.facts()
    kernel = ".".join(str(facts["kernel"]).split(".")[:2])
    return f"{facts['cpu']}, {machine.cpus()} CPUs, Linux {kernel}"


class Answers:
    """By row, rig and machine; a newer one replaces an older one."""

    def __init__(
        self, answers: Iterable[Answer] = (), took_s: Mapping[str, float] | None = None
    ) -> None:
        self._by_key = {answer.key: answer for answer in answers}
        self.took_s = dict(took_s or {})  # of each source, to its end

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._by_key.values())

    def join(self, others: "Answers") -> None:
        """Ours of the same row, rig and machine stay."""
        self._by_key = {answer.key: answer for answer in (*others, *self)}
        self.took_s = {**others.took_s, **self.took_s}

    def add(self, answer: Answer) -> None:
        self._by_key[answer.key] = answer

    def of(self, row: Row) -> list[Answer]:
        """Best first: what is decided, then what meets the condition, then by rig."""
        found = [answer for answer in self._by_key.values() if answer.row == row.id]
        return sorted(found, key=lambda a: (not a.decided, not a.meets, RIGS.index(a.rig)))

    def best(self, row: Row) -> Answer | None:
        """A simulated machine decides only what nothing better does; none: nothing ran."""
        return next((answer for answer in self.of(row) if answer.ran), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "answers": [asdict(answer) for answer in sorted(self, key=_order)],
            "took_s": {name: round(took, 2) for name, took in sorted(self.took_s.items())},
        }

    def write(self, path: Path) -> None:
        files.write(path, json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n")


def _order(answer: Answer) -> tuple[str, int, str]:
    return answer.row, RIGS.index(answer.rig), answer.machine


def _answer(raw: dict[str, Any]) -> Answer:
    """Of a file that somebody sent: what it says is shown, so it has to be what it seems."""
    answer = Answer(**{**raw, "state": State(raw["state"])})
    texts = (answer.row, answer.lacks, answer.why, answer.takes, answer.knowledge, answer.commit)
    if not all(isinstance(one, str) for one in (*texts, answer.machine, *answer.commands)):
        raise ValueError("a text is none")
    if not all(
        isinstance(one, dict) and {"what", "at", "paper"} <= one.keys() for one in answer.found
    ):
        raise ValueError("what was found is no list of findings")
    RIGS.index(answer.rig)
    return answer


def read(path: Path) -> Answers:
    try:
        body = json.loads(path.read_text())
        if body["format"] != FORMAT or body["version"] != VERSION:
            raise KeyError("format")
        answers = [_answer(raw) for raw in body["answers"]]
        return Answers(answers, body["took_s"])
    except (OSError, UnicodeDecodeError) as error:
        raise Fail(f"{path}: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Fail(f"{path}: not what `overlock reproduce` writes ({error})") from error
