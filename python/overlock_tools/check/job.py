# SPDX-License-Identifier: MIT
"""One call of overlock-check: a lock, a scenario, a model, a size, and the limits of the search."""

import re
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, Self

from overlock_tools.core.ordinary.lock import Lock
from overlock_tools.core.system.errors import Fail

# overlock-check's own defaults: a command to paste leaves out what need not be said.
LOCKS = "lock"
ANY = "any"
SC = "sc"
DPOR = "dpor"
WALK = "walk"
SEARCHES = (DPOR, "plain", "pct", WALK)
# Where debug information has the files that are made or brought: the same wherever they are.
PLACE = "/overlock/brought"
MOST_CONTEXTS = 64
MOST_ACQUISITIONS = 1000


class Size(NamedTuple):
    contexts: int
    acquisitions: int  # of each context

    def __str__(self) -> str:
        return f"{self.contexts}x{self.acquisitions}"

    @classmethod
    def parse(cls, text: str) -> Self:
        found = re.fullmatch(r"([0-9]{1,4})[x×]([0-9]{1,4})", text)
        if not found:
            raise Fail(f"--size {text}: expected CONTEXTSxACQUISITIONS, as in 2x2")
        return cls(int(found[1]), int(found[2])).checked()

    def checked(self) -> Self:
        if not 1 <= self.contexts <= MOST_CONTEXTS:
            raise Fail(f"--size {self}: from 1 to {MOST_CONTEXTS} contexts")
        if not 1 <= self.acquisitions <= MOST_ACQUISITIONS:
            raise Fail(f"--size {self}: expected 1 to {MOST_ACQUISITIONS} acquisitions per context")
        return self


TWO_BY_TWO = Size(2, 2)


@dataclass(frozen=True)
class Subject:
    """A lock with its settings; of a header from outside also its file, and what was made of it."""

    name: str  # as overlock-check knows it
    tune: tuple[str, ...] = ()  # NAME=VALUE
    header: Path | None = None
    loaded: Path | None = None
    source: Path | None = None  # where a C file finds the texts that it brings
    flags: str = ""  # for its compiler
    unseen: tuple[str, ...] = ()  # functions that it calls and the checker knows nothing of
    type_name: str = ""  # of several locks of a file
    fifo: bool = False
    taken: Lock | None = field(default=None, compare=False)  # found in a file without a table

    @property
    def given(self) -> str:
        """As it was written on the command line."""
        lock = self.name
        if self.header:
            path = str(self.header)
            lock = path if "/" in path else f"./{path}"
        return "@".join([lock, *self.tune])

    @property
    def shown(self) -> str:
        return "@".join([self.name, *self.tune])


@dataclass(frozen=True)
class Search:
    """How to look, and for how long."""

    kind: str = DPOR
    seed: int | None = None
    seconds: float | None = None
    executions: int | None = None


@dataclass(frozen=True)
class Job:
    subject: Subject
    scenario: str = LOCKS
    model: str = SC
    size: Size = TWO_BY_TWO
    budgets: tuple[tuple[str, int], ...] = ()
    search: Search = Search()
    weaken: str = ""  # FILE:LINE:ORDER
    replay: str = ""  # a schedule
    native: bool = False  # and that on real threads, too
    clock: int | None = None  # ticks of a slice on concrete clocks; 0: there are none
    roles: str = ""  # a letter for each context

    @property
    def shown_scenario(self) -> str:
        return f"{self.scenario} {self.roles}" if self.roles else self.scenario

    def arguments(self) -> list[str]:
        subject = self.subject
        lock = f"--load={subject.loaded}" if subject.loaded else f"--lock={subject.name}"
        search = self.search
        limits = [] if search.seconds is None else [f"--seconds={search.seconds:g}"]
        return [
            lock,
            *self.choices(),
            *(f"--own={folder}" for folder in self._own),
            *limits,
            *(["--trace"] if self.replay else []),
            *self._native,
        ]

    @property
    def _own(self) -> list[str]:
        """The folders whose lines a trace points to."""
        file = self.subject.header
        return [str(file.resolve().parent), PLACE] if file and self.subject.loaded else []

    @property
    def _native(self) -> list[str]:
        return ["--native"] if self.native else []

    def choices(self) -> list[str]:
        """All that the answer may depend on, but for the lock's text.

        A search that is over, or that has found something, would have ended so with more time.
        """
        search = self.search
        return [
            f"--contexts={self.size.contexts}",
            f"--acquisitions={self.size.acquisitions}",
            f"--model={self.model}",
            f"--scenario={self.scenario}",
            *(f"--budget={kind}={n}" for kind, n in self.budgets),
            *(f"--tune={setting}" for setting in self.subject.tune),
            *([] if self.clock is None else [f"--clock={self.clock}"]),
            *([f"--roles={self.roles}"] if self.roles else []),
            *(["--fifo"] if self.subject.fifo else []),
            f"--search={search.kind}",
            *([] if search.seed is None else [f"--seed={search.seed}"]),
            *([] if search.executions is None else [f"--executions={search.executions}"]),
            *([f"--weaken={self.weaken}"] if self.weaken else []),
            *([f"--replay={self.replay}"] if self.replay else []),
        ]

    def replayed(self, schedule: str) -> "Job":
        """The same for a single execution, told step by step."""
        return replace(self, replay=schedule, search=Search())

    def command_to_replay(self, schedule: str) -> str:
        """To paste into a shell."""
        return self._command("--replay", f"{self.subject.given}@{schedule}")

    def command(self, seconds: float) -> str:
        """To paste into a shell: this check alone, with more time."""
        return self._command(self.subject.given, "--seconds", f"{seconds:g}")

    def _command(self, *first: str) -> str:
        words = ["overlock", "check", *first]
        words += ["--size", str(self.size), "--model", self.model, "--scenario", self.scenario]
        for kind, n in self.budgets:
            words += ["--budget", f"{kind}={n}"]
        if self.clock is not None:
            words += ["--clock", str(self.clock)]
        if self.weaken:
            words += ["--weaken-line", self.weaken]
        if self.roles:
            words += ["--roles", self.roles]
        if self.subject.source:
            words += ["--source", str(self.subject.source)]
        if self.subject.flags:
            words += ["--cflags", self.subject.flags]
        if self.subject.type_name:
            words += ["--type", self.subject.type_name]
        if self.subject.fifo:
            words.append("--fifo")
        return shlex.join(words)
