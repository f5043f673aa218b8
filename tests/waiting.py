# SPDX-License-Identifier: MIT
"""Waiting for what happens, never for a time: a busy machine is slow, and no defect."""

import time
from collections.abc import Callable
from typing import TypeVar

HANG_S = 300.0  # ends only what hangs: all that tests wait for takes seconds on two idle CPUs
Found = TypeVar("Found")


def until(happens: Callable[[], Found]) -> Found:
    """What `happens` gives, once that is true."""
    end = time.monotonic() + HANG_S
    while not (found := happens()):
        assert time.monotonic() < end, f"it did not happen within {HANG_S:g} s"
        time.sleep(0.01)
    return found
