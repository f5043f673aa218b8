# SPDX-License-Identifier: MIT
"""What overlock-check knows, as it says itself: locks, scenarios, budgets, models."""

import json
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import Any

from overlock_tools import native
from overlock_tools.errors import FAILED, USAGE, Fail


@dataclass(frozen=True)
class Lists:
    """Names, each with what it is in one line."""

    locks: dict[str, str]
    scenarios: dict[str, str]
    budgets: dict[str, str]
    models: dict[str, str]


def _named(entries: Any) -> dict[str, str]:
    """A list of {"name": ..., "what": ...}; of what explains itself, the names alone."""
    pairs = (({"name": e} if isinstance(e, str) else e) for e in entries)
    return {pair["name"]: pair.get("what", "") for pair in pairs}


def ask(*question: str) -> str:
    """What overlock-check answers at once."""
    done = subprocess.run(
        [native.checker(), *question], capture_output=True, text=True, check=False
    )
    if done.returncode:
        code = USAGE if done.returncode == USAGE else FAILED
        raise Fail(complaint(done.stderr, done.returncode), code)
    return done.stdout


def complaint(said: str, status: int) -> str:
    """One line of what it said on standard error, or of how it ended."""
    lines = said.strip().splitlines()
    if lines:
        return lines[-1].removeprefix("overlock-check: ")
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return f"overlock-check {how} without a result"


@cache
def load() -> Lists:
    raw = json.loads(ask("--list"))
    return Lists(*(_named(raw[kind]) for kind in ("locks", "scenarios", "budgets", "models")))
