# SPDX-License-Identifier: MIT
"""A guest with sched_ext, booted once for all tests; skipped where it cannot be had."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from overlock_tools.core.system.errors import MISSING, Fail
from overlock_tools.lab.sched import run as scx_run
from tests.conftest import BUILD

SECONDS = 300.0
Run = Callable[[str], list[Any]]


@pytest.fixture(scope="session")
def run() -> Iterator[Run]:
    """A line of shell in the guest; the objects that it printed."""
    options = {"folder": BUILD / "guest-scx", "smp": 2}
    try:
        guest = scx_run.guest(options)
        told = guest.__enter__()
    except Fail as error:
        if error.code != MISSING:
            raise
        pytest.skip(str(error))

    def said(line: str) -> list[Any]:
        lines = scx_run.asked(told, line, SECONDS)
        return [json.loads(text) for text in lines if text.startswith("{")]

    yield said
    guest.__exit__(None, None, None)
