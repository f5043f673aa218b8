# SPDX-License-Identifier: MIT
"""Measured cells and other work take turns on a machine, if both are told of the same file."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.machine import Load

VARIABLE = "OVERLOCK_TURN"
# Shorter turns would give most of the time to whoever compiles; longer ones would have them wait.
TURN_SECONDS = 60.0
# A file lock goes to whoever asks first after its release; without a pause that would be us again.
PAUSE_SECONDS = 0.05


class Turns:
    """Taken before each cell, and passed on after it once they have lasted for TURN_SECONDS."""

    def __init__(self, file: IO[str] | None) -> None:
        self._file = file
        self._until: float | None = None  # None: it is not our turn

    def take(self) -> tuple[Load, Load] | None:
        """Waits for ours if need be, and says when that waiting began and ended."""
        if not self._file or self._until is not None:
            return None
        began = Load.now()
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._until = time.monotonic() + TURN_SECONDS
        return began, Load.now()

    def pass_on(self) -> None:
        if self._file and self._until is not None and time.monotonic() >= self._until:
            self._until = None
            fcntl.flock(self._file, fcntl.LOCK_UN)
            time.sleep(PAUSE_SECONDS)


@contextmanager
def asked_for() -> Iterator[Turns]:
    """Turns by the file that the environment names; without one it is always our turn."""
    path = os.environ.get(VARIABLE)
    if not path:
        yield Turns(None)
        return
    try:
        # Children do not inherit it: our turn ends with this process, whatever becomes of them.
        file = open(path, "a")  # noqa: SIM115 - below
    except OSError as error:
        what = f"{VARIABLE}={path}: {error.strerror}; give a writable file"
        raise Fail(what) from error
    with file:
        yield Turns(file)
