# SPDX-License-Identifier: MIT
"""The papers' claims as runs of the checker: read, and run."""

import json
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.conftest import BUILD

HERE = Path(__file__).parent / "claims"
CHECKER = BUILD / "native/overlock-check"
FOLDERS = [BUILD / "tests/check/claims", BUILD / "tests/mutants"]
SECONDS = 300  # ends only what does not belong here

Result = dict[str, Any]


@cache
def listed() -> dict[str, Any]:
    done = subprocess.run([CHECKER, "--list"], check=True, capture_output=True, text=True)
    known: dict[str, Any] = json.loads(done.stdout)
    return known


def ids(kind: str) -> list[str]:
    return [str(one["id"]) for one in listed()[kind]]


def options(run: str) -> list[str]:
    """Of `2x3 tso order expiry=2 tau=inf clock=3 no-timeouts`."""
    size, model, scenario, *more = run.split()
    contexts, acquisitions = size.split("x")
    found = ["--contexts", contexts, "--acquisitions", acquisitions]
    found += ["--model", model, "--scenario", scenario]
    for word in more:
        name, _, value = word.partition("=")
        if word == "pct":
            found += ["--search", "pct", "--seed", "1"]
        elif name in ("clock", "roles"):
            found += [f"--{name}", value]
        elif not value:
            found.append(f"--{name}")
        else:
            found += ["--budget" if name in ids("budgets") else "--tune", word]
    return found


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
        done = subprocess.run(
            [CHECKER, *self.command(), "--seconds", str(SECONDS), *more],
            check=False,
            capture_output=True,
            text=True,
            timeout=3 * SECONDS,
        )
        assert done.returncode in (0, 1, 3), f"{done.args}\n{done.stderr}"
        result: Result = json.loads(done.stdout.splitlines()[-1])["result"]
        return result


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
