# SPDX-License-Identifier: MIT
"""The exit codes of a program that cannot be started, as shells have them."""

from collections.abc import Iterator
from contextlib import contextmanager

from overlock_tools.core.system.errors import Fail

CANNOT_START = 125
CANNOT_EXECUTE = 126
NOT_FOUND = 127


@contextmanager
def starting(program: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_EXECUTE
        raise Fail(f"{program} cannot be executed: {error.strerror}", code) from error
