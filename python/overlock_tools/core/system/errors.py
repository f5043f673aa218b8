# SPDX-License-Identifier: MIT
"""How a command fails: one line, and an exit code that docs/reference/commands.md lists."""

import sys

from overlock_tools.core.system.called import typed
from overlock_tools.core.system.text import printable

FAILED = 1  # the work ran and failed
USAGE = 2  # unknown lock, impossible value, unwritable output
MISSING = 3  # something is not built or not installed on this machine
INTERRUPTED = 130


class Fail(Exception):
    """One line: what was wrong, what was expected, what to do."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def say(message: str) -> None:
    """One line on standard error, as every error of this command is."""
    print("overlock: " + printable(" ".join(typed(message).split())), file=sys.stderr, flush=True)


def last_line(said: str) -> str:
    return (said.strip().splitlines() or ["no reason given"])[-1]
