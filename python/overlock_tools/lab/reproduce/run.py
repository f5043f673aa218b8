# SPDX-License-Identifier: MIT
"""Runs what rows ask for, what decides most for its time first, and keeps each answer at once."""

import hashlib
import shlex
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from overlock_tools.core.model.plan import in_words
from overlock_tools.core.system import files, native
from overlock_tools.core.system.children import end_with_us
from overlock_tools.core.system.errors import say
from overlock_tools.lab.reproduce.answers import OF_VERDICT, Answer, Answers, State, this_machine
from overlock_tools.lab.reproduce.rigs.base import Asked, Known, Place, Source
from overlock_tools.lab.reproduce.rigs.computed import Computed
from overlock_tools.lab.reproduce.rigs.measured import Measured
from overlock_tools.lab.reproduce.rigs.proof import Proof
from overlock_tools.lab.reproduce.rigs.simulated import Simulated
from overlock_tools.lab.reproduce.rows import Row, Way

FILE = "answers.json"
PACE_FROM_S = 5.0
OF_GUESTS = ("guest", "nested", "xen")


def asked(row: Row, way: Way, known: Known) -> Asked:
    if way.rig == "proof":
        return Proof(way, known)
    if way.rig == "computed":
        return Computed(way, known)
    if way.rig == "simulated":
        return Simulated(way, known, row.id)
    return Measured(way, known)


@dataclass
class Question:
    """A row, put to a rig."""

    row: Row
    way: Way
    asked: Asked
    state: State = State.OPEN

    @property
    def is_over(self) -> bool:
        return self.state != State.OPEN or all(one.is_over for one in self.asked.sources)


@dataclass
class Pace:
    """How much longer than forecast steps of a kind took: another machine, or a busy one."""

    foretold_s: float = 0.0
    took_s: float = 0.0

    def add(self, foretold_s: float, took_s: float) -> None:
        self.foretold_s += foretold_s
        self.took_s += took_s

    @property
    def factor(self) -> float:
        """Little tells nothing."""
        return self.took_s / self.foretold_s if self.foretold_s > PACE_FROM_S else 1.0


@dataclass
class Run:
    questions: list[Question]
    answers: Answers
    place: Place
    budget_s: float | None
    commit: str = ""
    machines: Mapping[str, str] = field(default_factory=dict)  # by rig
    began: float = field(default_factory=time.monotonic)
    paces: dict[type[Source], Pace] = field(default_factory=lambda: defaultdict(Pace))

    @property
    def sources(self) -> list[Source]:
        found = {s.name: s for q in self.questions for s in q.asked.sources}
        return list(found.values())

    def of(self, source: Source) -> list[Question]:
        return [q for q in self.questions if source in q.asked.sources and not q.is_over]

    def skip_missing(self) -> None:
        """What cannot run here is said so, and not forecast."""
        for source in self.sources:
            if why := source.missing():
                source.failed, source.is_over = why, True
        self.judge(q for q in self.questions if any(s.failed for s in q.asked.sources))

    def forecast_s(self) -> float:
        """Of what rows still wait for; within the budget."""
        waiting = [s for s in self.sources if not s.is_over and self.of(s)]
        left = sum(s.forecast_s * self.paces[type(s)].factor for s in waiting)
        if self.budget_s is None:
            return left
        return min(left, self.budget_s - (time.monotonic() - self.began))

    def steps(self) -> Iterator[Source]:
        """First what has not begun, then more rounds: what takes the least time for each row."""
        while left := [s for s in self.sources if self._is_wanted(s) and self._fits(s)]:
            yield min(left, key=lambda s: (s.has_begun, s.forecast_s / len(self.of(s))))

    def _is_wanted(self, source: Source) -> bool:
        """More rounds tell nothing while a row has no numbers of its other measurements."""
        waiting = [] if source.is_over else self.of(source)
        return any(
            not source.has_begun or all(other.has_begun for other in q.asked.sources)
            for q in waiting
        )

    def _fits(self, source: Source) -> bool:
        if self.budget_s is None:
            return True
        left = self.budget_s - (time.monotonic() - self.began)
        return min(source.forecast_s, source.more_s() or inf) <= left

    def all(self) -> None:
        for source in self.steps():
            done = sum(q.is_over for q in self.questions)
            left = in_words(self.forecast_s())
            say(f"[{done}/{len(self.questions)}, about {left} left] {source.name}")
            self.advance(source)
        self.judge(q for q in self.questions if q.state == State.OPEN)

    def advance(self, source: Source) -> None:
        foretold, before = source.next_s(), source.took_s
        source.step(self.place)
        if not source.was_kept:
            self.paces[type(source)].add(foretold, source.took_s - before)
        self.answers.took_s |= source.took()
        if source.failed:
            say(f"  {source.failed}")
        self.judge(q for q in self.questions if source in q.asked.sources)

    def judge(self, questions: Iterable[Question]) -> None:
        for question in questions:
            self.answers.add(self._answer(question))
        self.answers.write(self.place.folder / FILE)

    def _answer(self, question: Question) -> Answer:
        sources = question.asked.sources
        judged = question.asked.judge()
        question.state = OF_VERDICT[judged.verdict]
        failed = next((one.failed for one in sources if one.failed), "")
        takes = failed or judged.takes or ("more time" if question.state == State.OPEN else "")
        return Answer(
            question.row.id,
            question.way.rig,
            question.state,
            "; ".join(filter(None, (question.way.lacks, judged.lacks))),
            judged.found,
            judged.why,
            takes if question.state == State.OPEN else "",
            judged.knowledge,
            [command for one in sources for command in one.commands]
            or [f"overlock reproduce {question.row.id} --by {question.way.rig}"],
            self.commit,
            self.machines[question.way.rig],
            round(sum(one.took_s for one in sources), 1),
        )


def _build() -> str:
    """Of the programs: what another build measured is not taken for this one's."""
    told = [(p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in native.folder().iterdir()]
    return hashlib.sha256(repr(sorted(told)).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Chosen:
    """What is to be asked."""

    rows: Sequence[Row]
    rigs: Sequence[str]
    budget_s: float | None  # none: as long as it takes
    again: bool = False  # also what this machine has decided before
    cluster: str | None = None
    guest: Sequence[str] = ()  # options for `overlock guest run`


def prepared(chosen: Chosen, answers: Answers, kept_s: Mapping[str, float], folder: Path) -> Run:
    end_with_us()
    files.make_folder(folder)
    known = Known(kept_s, chosen.cluster, chosen.guest)
    machines = {rig: this_machine(rig) for rig in chosen.rigs}
    for rig in OF_GUESTS if chosen.guest else ():
        if rig in machines:
            machines[rig] += f", guests with {shlex.join(chosen.guest)}"
    done = {
        (a.row, a.rig)
        for a in answers
        if a.machine == machines.get(a.rig) and a.decided and not chosen.again
    }
    questions = [
        Question(row, way, asked(row, way, known))
        for row in chosen.rows
        for way in row.ways
        if way.rig in chosen.rigs and (row.id, way.rig) not in done
    ]
    top = native.checkout()
    commit = native.commit(top).removeprefix("commit ") if top else ""
    place = Place(folder, _build())
    run = Run(questions, answers, place, chosen.budget_s, commit, machines)
    run.skip_missing()
    return run
