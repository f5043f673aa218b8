# SPDX-License-Identifier: MIT
"""A trial: one copy of a program in one cell, with what it may start and how it is counted."""

import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from overlock_tools.apps.processes import NATIVE, Place, Process, Under, Used, used_by
from overlock_tools.bench.executor import Impossible
from overlock_tools.core.model.combine import Answer
from overlock_tools.run import live

READY_SECONDS = 60.0
# Of a server that was asked to end: then it is killed.
STOP_SECONDS = 30.0
RECORDS = "records"


class Broken(Impossible):
    """A program ended as it should not: in one line, with the last it said."""


class Alone(Broken):
    """What happened to another copy is the reason."""


@dataclass
class Begun:
    """What had been used and counted when the counted time began."""

    when: float
    used: Used
    counts: dict[live.Site, live.Counts]
    holds: live.Holds


@dataclass
class Trial:
    place: Place  # a folder of its own
    threads: int
    seconds: float
    warm_up: float
    seed: int
    patience: float  # seconds that a program may take longer than it should, before it is cut
    under: Under
    together: threading.Barrier  # all copies pass it when they are ready
    counted: bool = False
    histograms: bool = False
    proven: bool = False  # the lock was seen in a program
    used: Used = field(default_factory=Used)
    span: tuple[float, float] = (0.0, 0.0)  # time.monotonic() of the counted time
    _begun: Begun | None = None
    _processes: list[Process] = field(default_factory=list)
    _abandoned: bool = False

    @property
    def folder(self) -> Path:
        return self.place.folder

    def start(
        self,
        command: Sequence[str],
        out: Path | None = None,
        *,
        locked: bool = True,
        variables: Mapping[str, str] | None = None,
    ) -> Process:
        """Under the cell's lock, or natively: a client beside the server that is measured."""
        under = self.under if locked else NATIVE
        place = replace(self.place, environment={**self.place.environment, **(variables or {})})
        process = Process(command, under, place, out)
        self._processes.append(process)
        if self._abandoned:
            raise Broken("another copy failed")
        if under.interposer and not self.proven:
            seen = process.interposed()
            if seen is False:
                raise Broken(
                    f"{under.interposer} is not in {process.name}: can {self._who} read it? "
                    f"{process.complaint()}"
                )
            self.proven = bool(seen)
        return process

    @property
    def _who(self) -> str:
        return self.place.user.name if self.place.user else "you"

    def run(self, command: Sequence[str], seconds: float = READY_SECONDS) -> str:
        """Something natively, to its end, beside the counted time; what it printed."""
        out = self.folder / "said"
        process = self.start(command, out, locked=False)
        try:
            if not process.ended(seconds):
                raise Broken(f"{process.name} did not finish within {seconds:g} s")
            if process.code:
                raise Broken(self.failure(process))
            return out.read_text(errors="replace")
        finally:
            self._leave(process)

    def failure(self, process: Process) -> str:
        process.ended(STOP_SECONDS)
        code = process.code or 0
        how = f"signal {-code}" if code < 0 else f"status {code}"
        return f"{process.name} ended with {how}: {process.complaint() or 'no output'}"

    def begin(self) -> None:
        """All copies begin together; what is used from here on counts."""
        self._meet(2 * READY_SECONDS)
        self.mark()

    def _meet(self, seconds: float) -> None:
        try:
            self.together.wait(seconds)
        except threading.BrokenBarrierError as error:
            raise Alone("another copy did not start") from error

    def mark(self) -> None:
        """The counted time begins: after begin(), if the program warms up by itself."""
        pids = [process.pid for process in self._processes if process.code is None]
        counts, holds = self._counted()
        self._begun = Begun(time.monotonic(), used_by(pids), counts, holds)

    def end(self, answer: Answer) -> Answer:
        """The counted time has ended; the answer with what the lock counted.

        Returns when that of all copies has: nobody checks his work while others are measured.
        """
        assert self._begun is not None
        begun, now = self._begun, time.monotonic()
        pids = [process.pid for process in self._processes if process.code is None]
        self.used.add(used_by(pids).since(begun.used))
        for process in self._processes:  # a client that has ended
            if process.code is not None and process.began >= begun.when:
                self.used.add(process.used)
        self.span = (begun.when, now)
        counts, holds = self._counted()
        if self.counted and self.under.interposer:
            _note(answer, live.summed(live.difference(counts, begun.counts)))
            answer.hold = holds.since(begun.holds).pairs()
        self._meet(READY_SECONDS + self.seconds + self.patience)
        return answer

    def _counted(self) -> tuple[dict[live.Site, live.Counts], live.Holds]:
        if not self.counted or not self.under.interposer:
            return {}, live.Holds()
        reader = live.Reader(self.records)
        holds = reader.holds() if self.histograms else live.Holds()
        return reader.totals(), holds

    @property
    def records(self) -> Path:
        return self.folder / RECORDS

    def pieces(
        self,
        command: Sequence[str] | Callable[[Path], Sequence[str]],
        work: float,
        check: Callable[[list[Path]], str],
        took: Callable[[Path], float | None] = lambda _: None,
        variables: Mapping[str, str] | None = None,
    ) -> Answer:
        """A piece of work again and again, until the time is over; the last is finished.

        `command`: the same for all pieces, or for one, given the file that it will print into.
        `took`: of what a piece printed and wrote, the time that it tells itself; None: the one from
        its start to its end. `check`: of all that was printed, why it is wrong.
        """
        self.begin()
        began, busy = time.monotonic(), 0.0
        outs: list[Path] = []
        while busy < self.seconds:
            outs.append(self.folder / f"out-{len(outs)}")
            words = command(outs[-1]) if callable(command) else command
            since = time.monotonic()
            process = self.start(words, outs[-1], variables=variables)
            ended = process.ended(began + self.seconds + self.patience - since)
            seconds = time.monotonic() - since
            self._leave(process)
            self.used.add(process.used)
            if not ended:  # its rate is at most as if it had just ended
                return self.end(Answer(work * len(outs), busy + seconds, cut=True))
            if process.code:
                raise Broken(self.failure(process))
            busy += took(outs[-1]) or seconds
        answer = self.end(Answer(work * len(outs), busy))
        answer.wrong = check(outs)
        return answer

    def _leave(self, process: Process) -> None:
        process.close()
        self._processes.remove(process)

    def stop(self, process: Process, number: int) -> None:
        """A server in order: what it still has to write is not cut off."""
        process.stop(number)
        if not process.ended(STOP_SECONDS):
            process.kill()

    def abandon(self) -> None:
        """From another thread: whoever waits for these learns that they have ended."""
        self._abandoned = True
        self.together.abort()
        for process in list(self._processes):
            process.stop(signal.SIGKILL)

    def close(self) -> None:
        for process in reversed(self._processes):
            process.close()
        self._processes.clear()


def _note(answer: Answer, counts: live.Counts) -> None:
    answer.events = {name: n for name, n in counts.items() if name not in live.TIMES}
    answer.wait_ns, answer.spin_ns = counts.get("wait_ns"), counts.get("spin_ns")
