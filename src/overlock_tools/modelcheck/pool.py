# SPDX-License-Identifier: MIT
"""Runs overlock-check for many jobs, some at a time, and hears of their progress."""

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from overlock_tools.modelcheck.cache import Cache
from overlock_tools.modelcheck.capabilities import complaint
from overlock_tools.modelcheck.job import Job
from overlock_tools.modelcheck.outcome import Outcome, checked_progress, checked_result
from overlock_tools.system import reading
from overlock_tools.system.errors import USAGE

# Asks for one job after the other, each when the one before is known.
Task = Generator[Job, Outcome, None]

LOOK_EVERY_SECONDS = 0.1
# An interrupted search tells what it has within a few steps.
ENDS_WITHIN_SECONDS = 5.0


@dataclass
class Running:
    """A child at work on a job."""

    job: Job
    task: Task
    child: "subprocess.Popen[bytes]"
    errors: IO[bytes]
    began: float = field(default_factory=time.monotonic)
    progress: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] | None = None
    nonsense: str = ""  # that it said
    rest: bytes = b""  # of a line that is not whole

    @property
    def executions(self) -> int:
        return int(self.progress.get("executions", 0))

    @property
    def steps(self) -> int:
        return int(self.progress.get("steps", 0))

    @property
    def rate(self) -> float:
        seconds = float(self.progress.get("seconds", 0.0))
        return self.executions / seconds if seconds else 0.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def heard(self, data: bytes) -> None:
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in filter(None, lines):
            try:
                said = reading.parsed(line.decode())
                if "progress" in said:
                    self.progress = checked_progress(said["progress"])
                if "result" in said:
                    self.result = checked_result(said["result"])
            except ValueError:
                self.nonsense = line.decode(errors="replace")[:60]

    def outcome(self) -> Outcome:
        """Once it has ended."""
        status = self.child.wait()
        if self.nonsense:
            return Outcome(self.job, error=f"overlock-check said {self.nonsense!r}")
        if self.result is not None:
            return Outcome(self.job, self.result)
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace")
        return Outcome(self.job, error=complaint(said, status), refused=status == USAGE)


class Pool:
    """`tick` is called between events, at least ten times a second; `done` with every outcome."""

    def __init__(
        self,
        program: Path,
        at_once: int,
        cache: Cache,
        tick: Callable[[], None],
        done: Callable[[Outcome], None],
    ) -> None:
        self.program, self.at_once, self.cache = program, at_once, cache
        self.tick, self.done = tick, done
        self.running: list[Running] = []
        self.ending = False
        self.selector = selectors.DefaultSelector()

    def run(self, tasks: Iterable[Task], asked_to_end: Callable[[], bool]) -> None:
        """Until all is done, or we are asked to end: then what runs tells what it has."""
        waiting = deque(tasks)
        try:
            while (waiting or self.running) and not asked_to_end():
                while waiting and len(self.running) < self.at_once:
                    self._advance(waiting.popleft(), None)
                self._listen()
            self._interrupt()
        finally:
            for running in self.running:
                running.child.kill()
                running.child.wait()
            self.selector.close()

    def _advance(self, task: Task, outcome: Outcome | None) -> None:
        """To the next of its jobs that is not known already."""
        while True:
            if outcome:
                self.done(outcome)
            if self.ending:
                return None
            try:
                job = next(task) if outcome is None else task.send(outcome)
            except StopIteration:
                return None
            if (known := self.cache.get(job)) is None:
                return self._start(task, job)
            outcome = Outcome(job, known, cached=True)

    def _start(self, task: Task, job: Job) -> None:
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lasts as long as the child
        child = subprocess.Popen(
            [self.program, *job.arguments()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            process_group=0,  # a terminal's Ctrl-C is for us: we pass it on, once
        )
        running = Running(job, task, child, errors)
        self.running.append(running)
        assert child.stdout
        self.selector.register(child.stdout, selectors.EVENT_READ, running)

    def _listen(self) -> None:
        for key, _ in self.selector.select(LOOK_EVERY_SECONDS):
            running: Running = key.data
            data = os.read(key.fd, 1 << 16)
            if data:
                running.heard(data)
            else:
                self._ended(running)
        self.tick()

    def _ended(self, running: Running) -> None:
        assert running.child.stdout
        self.selector.unregister(running.child.stdout)
        running.child.stdout.close()
        self.running.remove(running)
        outcome = running.outcome()
        running.errors.close()
        self.cache.put(outcome)
        self._advance(running.task, outcome)

    def _interrupt(self) -> None:
        self.ending = True
        for running in self.running:
            running.child.send_signal(signal.SIGINT)
        until = time.monotonic() + ENDS_WITHIN_SECONDS
        while self.running and time.monotonic() < until:
            self._listen()
