# SPDX-License-Identifier: MIT
"""Whether advice holds: the program as it is and as advised, in turns, without being watched."""

import shlex
import statistics
import subprocess
import time
from dataclasses import dataclass
from typing import Any

from overlock_tools.core.system.errors import FAILED, Fail
from overlock_tools.core.system.repeated import Input

ROUNDS = 3
SAME = 0.02  # runs that differ by less last equally long

Report = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    command: list[str]
    predicted: float | None
    seconds: list[tuple[float, float]]  # of each round: as it is, and as advised

    @property
    def ratios(self) -> list[float]:
        """How many times as fast, of each round."""
        return [before / after for before, after in self.seconds]

    @property
    def is_timed(self) -> bool:
        """Every run lasted as long: most likely the program measures its time, not its work."""
        every = [one for pair in self.seconds for one in pair]
        return max(every) < (1 + SAME) * min(every)

    def verdict(self) -> str:
        if self.is_timed:
            longest = max(one for pair in self.seconds for one in pair)
            return (
                f"Not verified: every run lasted {longest:.1f} s. If the program stops by the "
                "clock, its speed is not in that; give it a fixed amount of work."
            )
        if min(self.ratios) > 1:
            return "Verified: faster in every round."
        if max(self.ratios) < 1:
            return "Refuted: slower in every round."
        return "Not verified: faster in some rounds, slower in others."

    def text(self) -> str:
        least, most = min(self.ratios), max(self.ratios)
        middle = statistics.median(self.ratios)
        hoped = f"Predicted {self.predicted:.1f}×, measured" if self.predicted else "Measured"
        return (
            f"{self.verdict()} {hoped} {middle:.2f}× ({least:.2f} – {most:.2f}, {ROUNDS} rounds), "
            f"by `{shlex.join(self.command)}`."
        )


def _seconds(command: list[str], given: Input) -> float:
    nothing = subprocess.DEVNULL
    try:
        with given.run() as read:
            began = time.monotonic()
            done = subprocess.run(command, stdin=read, stdout=nothing, stderr=nothing, check=False)
            taken = time.monotonic() - began
    except OSError as error:
        raise Fail(f"{command[0]} cannot be executed: {error.strerror}", FAILED) from error
    if done.returncode:
        raise Fail(f"`{shlex.join(command)}` failed with {done.returncode}", FAILED)
    return taken


def _advised(report: Report) -> Report | None:
    """The first advice that is a command."""
    return next((one for one in report["advice"] if one["command"]), None)


def run(
    report: Report, program: tuple[str, ...], instead: str | None, given: Input
) -> Trial | None:
    """None: no advice can be run. `instead`: the command to run as advised."""
    if instead:
        command, tried = shlex.split(instead), next(iter(report["advice"]), None)
    elif tried := _advised(report):
        command = [*tried["command"], *program]
    else:
        return None
    predicted = tried["predicted"] if tried else None
    seconds = [(_seconds(list(program), given), _seconds(command, given)) for _ in range(ROUNDS)]
    return Trial(command, predicted, seconds)
