# SPDX-License-Identifier: MIT
"""What overlock-check knows, as it says itself: locks, scenarios, budgets, models."""

import json
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from overlock_tools.check.job import Subject
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import FAILED, MISSING, USAGE, Fail


@dataclass(frozen=True)
class Lists:
    """Names, each with what it is in one line."""

    locks: dict[str, frozenset[str]]  # each with the scenarios that apply to it
    waits: dict[str, dict[str, str]]  # what is no lock; of its scenarios the first is its use
    scenarios: dict[str, str]  # of locks
    explored: frozenset[str]  # the scenarios of locks that are not drawn at random
    budgets: dict[str, str]
    usual: dict[str, int]  # budgets that nobody gives
    models: dict[str, str]
    wrapped_calls: tuple[str, ...]  # of locks from outside, which it answers


def ask(*question: str) -> str:
    """What overlock-check answers at once."""
    command = [str(native.checker()), *question]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        why = f"overlock-check cannot be run: {error.strerror}; run `make checker` again"
        raise Fail(why, MISSING) from error
    if done.returncode:
        code = USAGE if done.returncode == USAGE else FAILED
        raise Fail(complaint(done.stderr, done.returncode), code)
    return done.stdout


@dataclass(frozen=True)
class Supported:
    """What of a lock can be checked."""

    scenarios: frozenset[str]
    readers: bool = False
    broadcasts: bool = False


@cache
def of_loaded(shared_object: Path) -> Supported:
    """Of a lock from outside."""
    raw = json.loads(ask("--about", f"--load={shared_object}"))
    return Supported(frozenset(raw["scenarios"]), raw["readers"], raw["broadcasts"])


def supported(subject: Subject) -> Supported:
    if subject.loaded:
        return of_loaded(subject.loaded)
    known = load()
    return Supported(frozenset(of_wait(subject)) or known.locks.get(subject.name, known.explored))


def of_wait(subject: Subject) -> tuple[str, ...]:
    """The scenarios of what is no lock."""
    return () if subject.header else tuple(load().waits.get(subject.name, ()))


def complaint(said: str, status: int) -> str:
    """One line of what it said on standard error, or of how it ended."""
    lines = said.strip().splitlines()
    if lines:
        return lines[-1].removeprefix("overlock-check: ")
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    return f"overlock-check {how} without a result"


@cache
def load() -> Lists:
    raw: dict[str, Any] = json.loads(ask("--list"))
    scenarios, budgets, models = (
        {entry["id"]: entry["what"] for entry in raw[kind]}
        for kind in ("scenarios", "budgets", "models")
    )
    return Lists(
        {lock["id"]: frozenset(lock["scenarios"]) for lock in raw["locks"]},
        {w["id"]: {s["id"]: s["what"] for s in w["scenarios"]} for w in raw["waits"]},
        scenarios,
        frozenset(entry["id"] for entry in raw["scenarios"] if not entry["drawn"]),
        budgets,
        {budget["id"]: budget["times"] for budget in raw["budgets"]},
        models,
        tuple(raw["library_calls"]),
    )
