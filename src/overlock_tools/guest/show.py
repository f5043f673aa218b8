# SPDX-License-Identifier: MIT
"""What the guest commands say on a terminal, and in a log."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from overlock_tools import plan
from overlock_tools.guest.build import Progress

LINE_SECONDS = 20.0


class Compiling:
    """A bar on a terminal, else a line now and then."""

    def __init__(self, console: Console, progress: Progress) -> None:
        self.console, self.progress = console, progress
        self.bar: Bar | None = None
        self.task: TaskID | None = None
        self.said = time.monotonic()

    def stage(self, what: str) -> None:
        self.console.print(what)
        self.said = time.monotonic()

    def step(self, _: str) -> None:
        done, total = self.progress.done, max(self.progress.total, self.progress.done)
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=done, total=total)
        elif time.monotonic() - self.said > LINE_SECONDS:
            left = self.progress.seconds_left
            rest = f", about {plan.in_words(left)} left" if left is not None else ""
            self.console.print(f"{done} of about {total} steps{rest}")
            self.said = time.monotonic()

    @contextmanager
    def shown(self) -> Iterator[None]:
        if not self.console.is_terminal:
            yield
            return
        columns = (TextColumn("steps"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Bar(*columns, console=self.console, transient=True) as self.bar:
            self.task = self.bar.add_task("build", total=None)
            yield
        self.bar = None


def in_force(facts: dict[str, Any]) -> str:
    """As the guest itself says it."""
    parking = f", waiters park: {facts['parking']}" if facts.get("parking") else ""
    return f"{facts['lock']}{parking}"
