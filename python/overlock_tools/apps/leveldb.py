# SPDX-License-Identifier: MIT
"""LevelDB's readrandom as Dice & Kogan 2019 ran it: all threads go through one mutex, DBImpl's."""

import json
import shutil
import time
from collections.abc import Sequence
from typing import ClassVar

from overlock_tools.apps import app
from overlock_tools.apps.trial import Trial
from overlock_tools.core.model.combine import Answer

DRIVER = app.Driver(app.SOURCES / "leveldb.cpp", ("g++", "leveldb/db.h"), ("-lleveldb",))


class LevelDb(app.App):
    name = "leveldb"
    what = "LevelDB: N threads look up random keys; every value is verified"
    unit = "reads"
    papers = "dice2019"
    packages = ("g++", "libleveldb-dev")
    driver = DRIVER
    reach = "all: the mutexes of DBImpl, the block cache and the log"
    presets: ClassVar[dict[str, str]] = {"entries": "200000"}
    writers: ClassVar[int] = 0

    def set_up(self) -> None:
        self.program = DRIVER.built()
        self.entries = str(self.number("entries"))
        self.data = self.workspace.folder / "data"
        app.natively([self.program, "fill", str(self.data), self.entries], self.workspace)

    def cell(self, trial: Trial) -> Answer:
        data = trial.folder / "data"
        shutil.copytree(self.data, data)
        return driven(trial, [self.program, "read", str(data), self.entries], self.writers)


class LevelDbWriting(LevelDb):
    name = "leveldb-writing"
    what = "the same, plus one thread that writes"
    writers = 1


def driven(trial: Trial, command: Sequence[str], writers: int) -> Answer:
    """By a driver of drivers/: it says when it is ready, when it begins to count, and what."""
    numbers = (trial.threads, writers, trial.warm_up, trial.seconds, trial.seed)
    process = trial.start([*command, *map(str, numbers)])
    limit = time.monotonic() + trial.warm_up + trial.seconds + trial.patience
    process.line(limit)
    trial.begin()
    process.say("go")
    process.line(limit)
    trial.mark()
    said = json.loads(process.line(limit))
    answer = Answer(sum(said["per_thread"]), said["seconds"], said["per_thread"])
    trial.end(answer)
    wrong = json.loads(process.line(limit))["wrong"]
    answer.wrong = f"{wrong} operations failed or found a wrong value" if wrong else ""
    return answer
