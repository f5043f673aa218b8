# SPDX-License-Identifier: MIT
"""A program on a terminal of its own: one that takes text, is paused, or stops its background."""

import os
import pty
import select
import signal
import termios
import time
from dataclasses import dataclass
from pathlib import Path

from tests.processes import HANG_S, read

TAKES, PAUSED, TOSTOP = "takes", "paused", "tostop"
MODES = (TAKES, PAUSED, TOSTOP)


@dataclass
class Ended:
    status: int  # as os.waitpid() has it
    printed: str  # on its streams, which are a file
    said: str  # on the terminal


def _set(mode: str) -> None:
    if mode == PAUSED:
        termios.tcflow(0, termios.TCOOFF)
    if mode == TOSTOP:
        now = termios.tcgetattr(0)
        now[3] |= termios.TOSTOP
        termios.tcsetattr(0, termios.TCSANOW, now)


def _begin(command: list[str], env: dict[str, str], mode: str, streams: Path) -> int:
    pid = os.fork()
    if not pid:
        if mode == TOSTOP:
            os.setpgid(0, 0)
        file = os.open(streams, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        for stream in range(3):
            os.dup2(file, stream)
        os.execve(command[0], command, env)  # noqa: S606 - ours
    return pid


def _resume(pid: int, mode: str) -> None:
    """The terminal takes everything now."""
    if mode == PAUSED:
        termios.tcflow(0, termios.TCOON)
    if mode == TOSTOP:
        os.tcsetpgrp(0, pid)
        os.kill(pid, signal.SIGCONT)


def _lead(command: list[str], env: dict[str, str], mode: str, files: Path, until: str) -> None:
    """In the leader of the terminal's session. Leaves the status in a file."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    _set(mode)
    pid = _begin(command, env, mode, files / "streams")
    ends = time.monotonic() + HANG_S
    found = status = 0
    while not found and time.monotonic() < ends:
        if until and until in read(files / "streams"):
            _resume(pid, mode)
            until = ""
        stops = 0 if mode == TOSTOP and not until else os.WUNTRACED
        found, status = os.waitpid(pid, os.WNOHANG | stops)
        time.sleep(0.01)
    if not found or os.WIFSTOPPED(status):
        os.kill(pid, signal.SIGKILL)
    (files / "status").write_text(str(status if found else -1))


def on(
    mode: str, command: list[str], env: dict[str, str], files: Path, resumed_at: str = ""
) -> Ended:
    """Until it ends or is stopped; the terminal is resumed once the program has printed that."""
    pid, terminal = pty.fork()
    if not pid:
        try:
            _lead(command, env, mode, files, resumed_at)
        finally:
            os._exit(0)
    said = b""
    while not (files / "status").exists() or select.select([terminal], [], [], 0)[0]:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                said += os.read(terminal, 65536)
            except OSError:  # its last user has gone
                break
    os.waitpid(pid, 0)
    os.close(terminal)
    status = int((files / "status").read_text())
    return Ended(status, (files / "streams").read_text(), said.decode())
