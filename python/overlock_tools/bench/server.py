# SPDX-License-Identifier: MIT
"""overlock-bench as a server: it says what it is, then measures one cell after the other."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from overlock_tools.bench.executor import Hung, Impossible
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, Fail, say

# What it has for an end in order, which takes milliseconds.
ENDS_WITHIN_SECONDS = 5.0
KNOWLEDGE = "OVERLOCK_KNOWLEDGE"


class Server:
    """While it measures, nothing runs here: Python waits for the answer."""

    def __init__(self, child: "subprocess.Popen[str]", errors: IO[str]) -> None:
        self._child, self._errors = child, errors
        self.facts = self._answer()
        for line in self._complaints():  # of a variable that the library ignores
            say(line.removeprefix("overlock: "))

    @property
    def pid(self) -> int:
        return self._child.pid

    def measure(self, cell: Mapping[str, object]) -> dict[str, Any]:
        assert self._child.stdin is not None
        words = " ".join(f"{key}={value}" for key, value in cell.items())
        with contextlib.suppress(BrokenPipeError):  # its end is told by _answer()
            self._child.stdin.write(words + "\n")
            self._child.stdin.flush()
        answer = self._answer()
        if answer["type"] == "error":
            if answer["kind"] == "usage":  # so is every other cell
                raise Fail(answer["message"])
            if answer["kind"] == "hung":
                raise Hung
            raise Impossible(answer["message"])
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self._child.stdout is not None
        text = self._child.stdout.readline()
        if text:
            answer: dict[str, Any] = json.loads(text)
            return answer
        code = self._child.wait()
        if code in (INTERRUPTED, -signal.SIGINT, -signal.SIGTERM):
            raise KeyboardInterrupt
        said = " ".join(self._complaints()).removeprefix("overlock-bench: ")
        raise Fail(said or f"overlock-bench ended with status {code}", FAILED)

    def _complaints(self) -> list[str]:
        return self._errors.read().splitlines()


@contextmanager
def started(
    options: Sequence[str] = (), counted: bool = False, knowledge: str | None = None
) -> Iterator[Server]:
    """The child is ended, and waited for, however we leave; it drops the cell it was at."""
    more = {KNOWLEDGE: knowledge} if knowledge else {}
    program = native.file("overlock-bench-counted" if counted else "overlock-bench")
    with tempfile.TemporaryFile("w+") as written, open(f"/proc/self/fd/{written.fileno()}") as read:
        child = subprocess.Popen(
            [program, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
            env=os.environ | more,
        )
        try:
            yield Server(child, read)
        finally:
            _end(child)


def _end(child: "subprocess.Popen[str]") -> None:
    """By the signal or, if that was not heeded, by the end of its input; else outright."""
    child.send_signal(signal.SIGTERM)  # nothing, if it is known to have ended
    _close(child)
    try:
        child.wait(ENDS_WITHIN_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _close(child: "subprocess.Popen[str]") -> None:
    for stream in (child.stdin, child.stdout):
        if stream:
            with contextlib.suppress(OSError):  # what was not yet read by the child
                stream.close()
