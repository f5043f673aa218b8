# SPDX-License-Identifier: MIT
"""The parts of a suite that tests/gate chose: OVERLOCK_PARTS="0 3", OVERLOCK_PARTS_OF=4; or all."""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
NAME = "OVERLOCK_PARTS"


def taken(items: Sequence[T]) -> list[T]:
    """Of a list in a fixed order. Neighbours, which often take as long, are in different parts."""
    parts = os.environ.get(NAME)
    if parts is None:
        return list(items)
    numbers, of = {int(part) for part in parts.split()}, int(os.environ[f"{NAME}_OF"])
    return [item for number, item in enumerate(items) if number % of in numbers]
