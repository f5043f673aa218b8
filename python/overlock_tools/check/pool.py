# SPDX-License-Identifier: MIT
"""Runs overlock-check for many jobs, some at a time, and hears of their progress."""

import math
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

from overlock_tools.check import coverage
from overlock_tools.check.cache import Cache
from overlock_tools.check.capabilities import complaint
from overlock_tools.check.job import Job
from overlock_tools.check.outcome import (
    HOLDS,
    INTERRUPTED,
    OUT_OF_TIME,
    Outcome,
    checked_progress,
    checked_result,
)
from overlock_tools.core.system import reading
from overlock_tools.core.system.errors import USAGE

# Asks for one job after the other, each when the one before is known.
Task = Generator[Job, Outcome, None]

LOOK_EVERY_SECONDS = 0.1
# With a common time limit, searches take turns: short ones end in their first.
TURN_SECONDS = 0.5
MOST_OPEN = 64  # of them, for the sake of memory
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
    paused: bool = False
    used: float = 0.0  # seconds of its turns before this one
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
    def turn_seconds(self) -> float:
        return 0.0 if self.paused else time.monotonic() - self.began

    @property
    def seconds(self) -> float:
        return self.used + self.turn_seconds

    def pause(self) -> None:
        self.used, self.paused = self.seconds, True
        self.child.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.began, self.paused = time.monotonic(), False
        self.child.send_signal(signal.SIGCONT)

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
    """`tick` is called between events, at least ten times a second; `done` with every outcome.

    `within` limits the seconds of all together. They are shared evenly among the open searches.
    """

    def __init__(
        self,
        program: Path,
        at_once: int,
        cache: Cache,
        tick: Callable[[], None],
        done: Callable[[Outcome], None],
    ) -> None:
        self.within: float | None = None
        self.program, self.at_once, self.cache = program, at_once, cache
        self.tick, self.done = tick, done
        self.running: list[Running] = []
        self.ending = self.out_of_time = False
        self.selector = selectors.DefaultSelector()

    def run(self, tasks: Iterable[Task], asked_to_end: Callable[[], bool]) -> None:
        """Until all is done, or we are asked to end: then what runs tells what it has."""
        waiting, until = deque(tasks), time.monotonic() + (self.within or 0.0)
        try:
            while (waiting or self.running) and not asked_to_end():
                if self.within is not None and time.monotonic() >= until:
                    self.out_of_time = True
                    break
                self._take_turns(waiting)
                self._listen()
            self._interrupt()
            if self.out_of_time:
                self._give_up(waiting)
        finally:
            for running in self.running:
                running.child.kill()
                running.child.wait()
            self.selector.close()

    def _take_turns(self, waiting: deque[Task]) -> None:
        """New ones first, then those that have run least."""
        if self.within is not None:
            new = waiting and len(self.running) < MOST_OPEN
            least = min((one.used for one in self.running if one.paused), default=math.inf)
            for one in self.running:
                if one.turn_seconds > TURN_SECONDS and (new or least < one.seconds):
                    one.pause()
        while waiting and self._free and len(self.running) < MOST_OPEN:
            self._advance(waiting.popleft(), None)
        paused = sorted((one for one in self.running if one.paused), key=lambda one: one.used)
        for one in paused[: self._free]:
            one.resume()

    @property
    def _free(self) -> int:
        return max(0, self.at_once - sum(not one.paused for one in self.running))

    def _give_up(self, waiting: Iterable[Task]) -> None:
        """What does not answer in time has its last progress; what did not begin may be known."""
        none = {"exhausted": False, "ended": OUT_OF_TIME, "verdict": HOLDS}
        for running in self.running:
            self.done(Outcome(running.job, running.progress | none))
        for job in map(next, waiting):
            known = self.cache.get(job)
            self.done(Outcome(job, known or none, cached=known is not None))

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
        coverage.resolve(outcome.result, running.job.subject, self.program)
        if self.out_of_time and outcome.result.get("ended") == INTERRUPTED:
            outcome.result["ended"] = OUT_OF_TIME
        self.cache.put(outcome)
        self._advance(running.task, outcome)

    def _interrupt(self) -> None:
        self.ending = True
        for running in self.running:
            running.child.send_signal(signal.SIGINT)
            if running.paused:
                running.resume()
        until = time.monotonic() + ENDS_WITHIN_SECONDS
        while self.running and time.monotonic() < until:
            self._listen()
