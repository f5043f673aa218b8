# SPDX-License-Identifier: MIT
"""One contended hand-over of any lock, executed step by step by the model checker.

T1 holds the lock, T2 arrives and waits, T3 arrives and waits, and T1 releases while T2 has no CPU.
If T3, which runs, can take the lock, it does. Otherwise the lock stays free until T2 runs again.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from overlock_tools.core.system import native

Event = dict[str, Any]
Done = Callable[[list[Event]], bool]

HOLDER, ABSENT, PRESENT = 1, 2, 3  # T1, T2, T3
CHOICES = ("", ":1", ":0,1")  # a step's choices: has a time passed, is a word stale
FAR = 48  # steps: more than any lock needs from its first load to its wait
A_FEW = 22  # steps in which a context that can overtake does so
WAITING = ("relaxes", "parks")


class Stuck(Exception):
    """No schedule leads to the wanted state."""


def told(lock: str, path: str) -> list[Event] | None:
    """The events of the execution; null if the lock has no such execution."""
    command = [str(native.checker()), "--fresh", f"--lock={lock}", f"--replay={path}"]
    command += ["--contexts=3", "--acquisitions=1", "--budget=expiry=3", "--no-transactions"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode < 0 or not done.stdout:
        return None
    result = json.loads(done.stdout.splitlines()[-1])["result"]
    if result["verdict"] == "fails":
        return None
    events: list[Event] = result["failure"]["events"]
    return events


def marked(who: int, mark: str) -> Done:
    return lambda events: any(e["mark"] == mark and e["context"] == str(who) for e in events)


def holds(who: int) -> Done:
    return marked(who, "holds")


def is_in(who: int, *states: str) -> Done:
    return lambda events: bool(events) and events[-1]["state"][who - 1] in states


@dataclass(frozen=True)
class Play:
    lock: str
    path: tuple[str, ...] = ()

    def events(self) -> list[Event]:
        return told(self.lock, self.text()) or []

    def text(self) -> str:
        return ".".join(self.path)

    def _after(self, who: int) -> Iterator[tuple["Play", list[Event]]]:
        for choice in CHOICES:
            play = Play(self.lock, (*self.path, f"{who}{choice}"))
            if (events := told(self.lock, play.text())) is not None:
                yield play, events

    def each(self, who: int, done: Done, most: int = FAR) -> Iterator["Play"]:
        """The paths to `done` on which only `who` makes steps, the shortest first."""
        ways, seen = [self], {""}
        for _ in range(most):
            further = []
            for way in ways:
                for play, events in way._after(who):
                    if done(events):
                        yield play
                    elif (state := standing(events)) not in seen:
                        seen.add(state)
                        further.append(play)
            ways = further

    def until(self, who: int, done: Done, most: int = FAR) -> "Play":
        """The shortest of them."""
        for play in self.each(who, done, most):
            return play
        raise Stuck(f"{self.lock}: T{who} does not get there after {self.text()}")

    def as_far(self, who: int) -> "Play":
        """As far as `who` gets before it waits again."""
        try:
            return self.until(who, is_in(who, *WAITING), A_FEW)
        except Stuck:
            return self


def standing(events: list[Event]) -> str:
    """The state of an execution: a loop is not followed twice. A function may be called twice."""
    last = events[-1]
    memory = {e["object"]: e["new"] for e in events if e.get("object")}
    lines = [e["line"] for e in events[-2:]]
    return json.dumps([last["file"], lines, last["what"], last["state"], memory])


def played(lock: str, gives_way: bool) -> Play:
    """The whole hand-over; waiters of a lock that sleeps or yields do so if they can."""
    play = Play(lock).until(HOLDER, holds(HOLDER))
    for who in (ABSENT, PRESENT):
        play = waiting(play, who, gives_way)
    released = [*play.each(HOLDER, marked(HOLDER, "released"))]
    for way in released:  # some releases check whether T2 has its CPU
        try:
            return way.until(PRESENT, holds(PRESENT), A_FEW)
        except Stuck:
            pass
    return released[0].as_far(PRESENT).until(ABSENT, holds(ABSENT))


def waiting(play: Play, who: int, gives_way: bool) -> Play:
    if gives_way:
        try:
            return play.until(who, gave_way(who), A_FEW)
        except Stuck:
            pass  # near the head of the queue it does not
    return play.until(who, is_in(who, *WAITING))


def gave_way(who: int) -> Done:
    def done(events: list[Event]) -> bool:
        last = events[-1]
        return is_in(who, "parks")(events) or last["what"].startswith("yields")

    return done
