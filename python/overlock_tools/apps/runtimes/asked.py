# SPDX-License-Identifier: MIT
"""A runtime's probe as a process: a line of standard input is a question, a line of its output the
answer."""

import contextlib
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence

from overlock_tools.core.system.errors import FAILED, Fail, last_line

ANSWER_S, END_S = 300.0, 30.0  # for a machine that is emulated, too
# The shell reads a line, byte by byte, and becomes the probe, which reads the others.
GATE = ("sh", "-c", 'read -r begin && exec "$@"', "sh")


class Probe:
    """Held before its start until begin(), so that it can be put anywhere first."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [*GATE, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **environment},
            start_new_session=True,
            bufsize=0,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """It ends as no question is left, and removes what it shares; else it is killed."""
        if self._errors.closed:
            return
        assert self._process.stdin
        self._process.stdin.close()
        ended = os.pidfd_open(self.pid)
        select.select([ended], [], [], END_S)
        os.close(ended)
        os.killpg(self.pid, signal.SIGKILL)  # children, too; its id is not another's before wait()
        self._process.wait()
        for stream in (self._process.stdout, self._errors):
            if stream:
                stream.close()

    def begin(self) -> None:
        self._say("begin")

    def version(self) -> str:
        return self._asked("version")

    def counts(self) -> list[int]:
        answer = self._asked("counts")
        try:
            return [int(word) for word in answer.split()]
        except ValueError as error:
            raise Fail(f"{self.name} answered {answer!r}, not numbers", FAILED) from error

    def _say(self, word: str) -> None:
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):  # it has ended: _asked() says why
            self._process.stdin.write(f"{word}\n".encode())

    def _asked(self, word: str) -> str:
        self._say(word)
        assert self._process.stdout
        out, said = self._process.stdout.fileno(), b""
        while not said.endswith(b"\n"):
            if not select.select([out], [], [], ANSWER_S)[0]:
                raise Fail(f"{self.name} did not answer within {ANSWER_S:g} s", FAILED)
            got = os.read(out, 4096)
            if not got:
                raise Fail(f"{self.name} ended: {last_line(self._said())}", FAILED)
            said += got
        return said.decode().strip()

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")
