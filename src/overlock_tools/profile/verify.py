# SPDX-License-Identifier: MIT
"""Whether advice holds: the program as it is and as advised, in turns, without being watched."""

import shlex
import statistics
import subprocess
import time
from dataclasses import dataclass
from typing import Any

from overlock_tools.system.errors import FAILED, Fail

ROUNDS = 3

Report = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    command: list[str]
    predicted: float | None
    ratios: list[float]  # how many times as fast, of each round

    def to_json(self) -> Report:
        return vars(self)

    def text(self) -> str:
        least, most = min(self.ratios), max(self.ratios)
        middle = statistics.median(self.ratios)
        hoped = f"predicted {self.predicted:.1f}×, " if self.predicted else ""
        return (
            f"Verified: {hoped}measured {middle:.2f}× ({least:.2f} – {most:.2f}, {ROUNDS} rounds), "
            f"by `{shlex.join(self.command)}`."
        )


def _seconds(command: list[str]) -> float:
    began = time.monotonic()
    nothing = subprocess.DEVNULL
    try:
        done = subprocess.run(command, stdin=nothing, stdout=nothing, stderr=nothing, check=False)
    except OSError as error:
        raise Fail(f"{command[0]} cannot be executed: {error.strerror}", FAILED) from error
    if done.returncode:
        raise Fail(f"`{shlex.join(command)}` failed with {done.returncode}", FAILED)
    return time.monotonic() - began


def advised(report: Report, program: tuple[str, ...]) -> list[str] | None:
    """The program with the first advice that is a command."""
    for one in report["advice"]:
        if one["command"]:
            return [*one["command"], *program]
    return None


def run(report: Report, program: tuple[str, ...], instead: str | None) -> Trial | None:
    """None: no advice can be run. `instead`: the command to run as advised."""
    command = shlex.split(instead) if instead else advised(report, program)
    if not command:
        return None
    predicted = report["advice"][0]["predicted"] if report["advice"] else None
    ratios = [_seconds(list(program)) / _seconds(command) for _ in range(ROUNDS)]
    return Trial(command, predicted, ratios)
