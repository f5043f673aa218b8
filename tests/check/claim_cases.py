# SPDX-License-Identifier: MIT
"""The papers' claims as runs of the checker: read, and run."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.check.checking import ids, last_word, options
from tests.conftest import BUILD

HERE = Path(__file__).parent / "claims"
FOLDERS = [BUILD / "tests/check/claims", BUILD / "tests/check/mutants"]
SECONDS = 300  # ends only what does not belong here

Result = dict[str, Any]


def library(lock: str) -> Path | None:
    """Of a lock that the library does not have."""
    if lock in ids("locks"):
        return None
    return next(path for folder in FOLDERS if (path := folder / f"{lock}.so").exists())


@dataclass(frozen=True)
class Run:
    source: str
    says: str
    lock: str
    run: str
    claims: tuple[str, ...]
    verdict: str

    def command(self) -> list[str]:
        made = library(self.lock)
        subject = ["--lock", self.lock] if made is None else ["--load", str(made)]
        claims = [word for claim in self.claims for word in ("--claim", claim)]
        return [*subject, *options(self.run), *claims]

    def explore(self, *more: str) -> Result:
        return last_word(*self.command(), "--seconds", str(SECONDS), *more)


def said() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = tomllib.loads((HERE / "cases.toml").read_text())["case"]
    return cases


def runs_of(case: dict[str, Any]) -> list[Run]:
    return [
        Run(case["source"], case["says"], lock, run, tuple(case["claims"]), case["verdict"])
        for lock in case["locks"]
        for run in case["runs"]
    ]


def all_runs() -> list[Run]:
    return [run for case in said() for run in runs_of(case)]
