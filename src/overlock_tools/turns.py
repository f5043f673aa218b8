# SPDX-License-Identifier: MIT
"""Measured cells and other work take turns on a machine, if both are told of the same file."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from overlock_tools.errors import Fail
from overlock_tools.machine import Load

VARIABLE = "OVERLOCK_TURN"
# A file lock goes to whoever asks first after its release; without a pause that would be us again.
PAUSE_SECONDS = 0.05


@contextmanager
def turn() -> Iterator[tuple[Load, Load] | None]:
    """For as long as the context lasts the machine is ours; gives when waiting began and ended."""
    path = os.environ.get(VARIABLE)
    if not path:
        yield None
        return
    try:
        # Not inherited: it ends with this process, whatever becomes of the children.
        file = open(path, "a")  # noqa: SIM115 - below
    except OSError as error:
        raise Fail(
            f"{VARIABLE}={path}: {error.strerror}; name a file that can be written"
        ) from error
    with file:
        began = Load.now()
        fcntl.flock(file, fcntl.LOCK_EX)
        yield began, Load.now()
    time.sleep(PAUSE_SECONDS)
