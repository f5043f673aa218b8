# SPDX-License-Identifier: MIT
"""Many runs: those that the cache knows, and the others, simulated while their number is shown."""

import hashlib
import inspect
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from overlock_tools.core.model import plan as plans
from overlock_tools.core.system import native
from overlock_tools.core.system.terminal import Running
from overlock_tools.sim import cluster, runner
from overlock_tools.sim.cache import Cache
from overlock_tools.sim.cluster import Task

DRAW_EVERY_SECONDS = 0.25
SAY_EVERY_SECONDS = 10.0

Answer = dict[str, Any]


@dataclass(frozen=True)
class Shown:
    """What is drawn on a terminal above the line that says how many are done."""

    out: Console
    quiet: bool
    table: Callable[[], RenderableType]


class Batch:
    """`add` gets the place of what was told, and the answer, in any order.

    `reduced` makes, of what was told and the answer, what is kept and added.
    """

    def __init__(
        self,
        told: Sequence[str],
        cache: Cache,
        add: Callable[[int, Answer], None],
        reduced: Callable[[str, Answer], Answer] | None = None,
    ) -> None:
        self.program = runner.digest(native.simulator())
        self.cache, self.add, self.reduced = cache, add, reduced
        self.total = self.left = len(told)
        self.told = told
        self.places: dict[str, list[int]] = {}  # by key: the same run may be wanted twice
        self.tasks: list[Task] = []
        for place, text in enumerate(told):
            self.places.setdefault(self._key(text), []).append(place)
        for key, places in self.places.items():
            if answer := cache.get(key):
                self._add(key, answer)
            else:
                self.tasks.append(Task(key, told[places[0]]))
        self.known = self.total - self.left

    def _key(self, text: str) -> str:
        kind = f"{inspect.getsource(self.reduced)}\n" if self.reduced else ""
        return hashlib.sha256(f"{kind}{self.program}\n{text}".encode()).hexdigest()

    def _add(self, key: str, answer: Answer) -> None:
        for place in self.places[key]:
            self.add(place, answer)
            self.left -= 1

    def _done(self, key: str, answer: Answer) -> None:
        if self.reduced:
            answer = self.reduced(self.told[self.places[key][0]], answer)
        self.cache.put(key, answer)
        self._add(key, answer)

    def simulate(
        self, options: Mapping[str, Any], shown: Shown, asked_to_end: Callable[[], bool]
    ) -> None:
        if not self.tasks:
            return
        jobs = options["jobs"] or len(os.sched_getaffinity(0))
        terms = cluster.Terms(self.program, jobs, options["cluster"], options["limit"])
        progress = _Progress(self, shown)

        def ending() -> bool:
            progress.tick()
            return asked_to_end()

        with progress.live.shown():
            cluster.run(self.tasks, terms, self._done, ending)

    def interrupted(self) -> str:
        done = f"{self.total - self.left} of {self.total} runs are complete"
        kept = "; repeat the command to continue" if self.cache.folder else ""
        hint = kept or "; give -o FILE or --cache FOLDER to keep them next time"
        return f"interrupted: {done}{hint}"


class _Progress:
    """Redrawn on a terminal; elsewhere a line now and then."""

    def __init__(self, batch: Batch, shown: Shown) -> None:
        self.batch, self.shown = batch, shown
        self.every = DRAW_EVERY_SECONDS if shown.out.is_terminal else SAY_EVERY_SECONDS
        self.began = self.drawn = time.monotonic()
        self.live = Running(shown.out, self._table, self._line)

    def tick(self) -> None:
        now = time.monotonic()
        if not self.shown.quiet and now - self.drawn >= self.every:
            self.drawn = now
            self.live.update()

    def _line(self) -> str:
        batch = self.batch
        done = batch.total - batch.left
        fresh = done - batch.known
        if not fresh:
            return f"{done} of {batch.total} runs done"
        left = (time.monotonic() - self.began) / fresh * batch.left
        return f"{done} of {batch.total} runs done, about {plans.in_words(left)} left"

    def _table(self) -> Group:
        line = Text(f"{self._line()}; Ctrl-C stops and keeps finished runs")
        return Group(self.shown.table(), line)
