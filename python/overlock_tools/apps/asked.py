# SPDX-License-Identifier: MIT
"""Programs that work as long as they are asked to, by drivers such as drivers/asked.py serves."""

import json
import time
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps import app
from overlock_tools.apps.processes import Late, Process
from overlock_tools.apps.trial import READY_SECONDS, Broken, Trial
from overlock_tools.core.model.combine import Answer

COMMON = [app.SOURCES / "asked.h", app.SOURCES / "asked.py"]


class Asked(app.App):
    """They wait at barriers, and for flags: where no lock is, none is replaced."""

    control = True
    overhead_seconds = 1.0
    script: ClassVar[str]  # of drivers/

    @property
    def source(self) -> Path:
        return app.SOURCES / self.script

    def sources(self) -> list[Path]:
        return [self.source, *COMMON]

    def set_up(self) -> None:
        """Most of them make what they work on."""

    @abstractmethod
    def command(self, threads: int) -> list[str]: ...

    def variables(self, threads: int) -> dict[str, str]:
        """What the program is given by its environment; a variant's settings go before these."""
        return {}

    def cell(self, trial: Trial) -> Answer:
        process = trial.start(self.command(trial.threads), variables=self.variables(trial.threads))
        _ask(process, trial.warm_up, READY_SECONDS)
        trial.begin()
        began = time.monotonic()
        try:
            said = _ask(process, trial.seconds, trial.seconds + trial.patience)
        except Late:
            return trial.end(Answer(1, time.monotonic() - began, cut=True))
        return trial.end(answered(said))


def _ask(process: Process, seconds: float, limit: float) -> str:
    process.say(f"{seconds:g}")
    return process.line(time.monotonic() + limit)


def answered(said: str) -> Answer:
    try:
        told = json.loads(said)
        answer = Answer(float(told["work"]), float(told["seconds"]), wrong=str(told["wrong"]))
        answer.latency = [[float(ns), float(count)] for ns, count in told["ns"]]
    except (ValueError, KeyError, TypeError) as error:
        raise Broken(f"the driver answered {said!r}") from error
    if answer.work < 1 or answer.seconds <= 0:
        raise Broken(f"the driver did {answer.work:g} units in {answer.seconds:g} s")
    return answer
