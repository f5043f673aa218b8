# SPDX-License-Identifier: MIT
"""What the servers have in common: started in a folder of their own, reached by a socket there, or
at an address of their own."""

import itertools
import os
import shutil
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from overlock_tools.apps.processes import Process
from overlock_tools.apps.trial import READY_SECONDS, Broken, Trial
from overlock_tools.core.model.combine import Answer

BETWEEN_TRIES_SECONDS = 0.02
# Above those of services, below those that the kernel gives to clients.
PORTS = range(10_000, 30_000)
_ports = itertools.cycle(PORTS)


def address() -> str:
    """A loopback address that no other process has: our id, of at most 22 bits, is in it.

    So servers that choose no port by themselves find theirs free. Unbound would not even notice: it
    shares a port with others of its user.
    """
    pid = os.getpid()
    return f"127.{64 + (pid >> 16)}.{pid >> 8 & 255}.{pid & 255}"


def port() -> int:
    """One that no other server of ours has."""
    return next(_ports)


def copied(data: Path, trial: Trial) -> Path:
    """A server's files, for this cell alone: each begins with the same."""
    target = trial.folder / data.name
    shutil.copytree(data, target, copy_function=_copy(trial))
    own(trial, target)
    for folder in (path for path in target.rglob("*") if path.is_dir()):
        own(trial, folder)
    target.chmod(0o700)
    return target


def _copy(trial: Trial) -> Callable[[str, str], str]:
    def copy(source: str, target: str) -> str:
        shutil.copyfile(source, target)
        shutil.copymode(source, target)
        own(trial, Path(target))
        return target

    return copy


def own(trial: Trial, path: Path) -> None:
    if user := trial.place.user:
        shutil.chown(path, user.uid, user.gid)


def reached(server: Process, tries: Callable[[], bool]) -> None:
    """Until it answers, or has ended, or it takes too long."""
    until = time.monotonic() + READY_SECONDS
    while not tries():
        if server.ended(BETWEEN_TRIES_SECONDS):
            raise Broken(f"{server.name} ended before it answered: {server.complaint()}")
        if time.monotonic() > until:
            raise Broken(f"{server.name} did not answer within {READY_SECONDS:g} s")


def greets(path: Path) -> bool:
    """Whether somebody who speaks first does so at that socket."""
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(READY_SECONDS)
        try:
            one.connect(str(path))
            return bool(one.recv(1))
        except OSError:
            return False


def loaded(trial: Trial, command: Sequence[str], read: Callable[[str], Answer | None]) -> Answer:
    """A client natively beside the server, for whole seconds. `read`: of what it printed, how much
    was done; None if it failed."""
    out = trial.folder / "client.out"
    client = trial.start(command, out, locked=False)
    began = time.monotonic()
    if not client.ended(whole(trial.seconds) + trial.patience):
        return Answer(1, time.monotonic() - began, cut=True)
    answer = read(out.read_text(errors="replace"))
    if client.code or answer is None:
        raise Broken(trial.failure(client))
    return answer


def whole(seconds: float) -> int:
    """For clients that take only whole seconds."""
    return max(1, round(seconds))
