# SPDX-License-Identifier: MIT
"""What measures a cell: overlock-bench, guests, or applications."""

from collections.abc import Mapping
from typing import Any, Protocol


class Impossible(Exception):
    """That cell cannot be run; others can."""


class Hung(Exception):
    """That cell did not end: a deadlock, or a waiter that nobody wakes."""


class Executor(Protocol):
    """One cell at a time; `pid` is the process that scenarios apply to."""

    @property
    def pid(self) -> int: ...

    def measure(self, cell: Mapping[str, object]) -> dict[str, Any]:
        """Its answer, or Impossible, or Hung."""
