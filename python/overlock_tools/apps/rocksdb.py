# SPDX-License-Identifier: MIT
"""RocksDB's readwhilewriting with Dice & Kogan's options: one lock for its block cache."""

import re
import shutil
import time
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps import app
from overlock_tools.apps.servers import whole
from overlock_tools.apps.trial import Broken, Trial
from overlock_tools.core.model.combine import Answer

# Dice & Kogan 2019, footnote 7; cache_numshardbits=0 is one shard, so one lock.
OPTIONS = (
    "--compression_type=none",
    "--mmap_read=1",
    "--mmap_write=1",
    "--cache_size=100000",
    "--cache_numshardbits=0",
    "--sync=0",
    "--verify_checksum=0",
)
LINE = re.compile(
    r"^readwhilewriting.*?([\d.]+) seconds (\d+) operations;.*?\((\d+) of (\d+) found\)",
    re.MULTILINE,
)


class RocksDb(app.App):
    name = "rocksdb"
    what = "RocksDB's db_bench readwhilewriting (Dice & Kogan 2019): one writer, N readers"
    unit = "reads"
    papers = "dice2019"
    packages = ("rocksdb-tools",)
    programs = ("db_bench", "ldb")
    reach = "all: mutexes of the block cache's shard, the database and the write queue"
    presets: ClassVar[dict[str, str]] = {"entries": "200000"}

    def set_up(self) -> None:
        self.data = self.workspace.folder / "data"
        app.natively([*self._bench(self.data), "--benchmarks=fillseq"], self.workspace)
        if why := self._wrong(self.data):
            raise Broken(why)

    def _bench(self, data: Path) -> list[str]:
        entries = f"--num={self.number('entries')}"
        return [app.program("db_bench"), f"--db={data}", entries, *OPTIONS]

    def cell(self, trial: Trial) -> Answer:
        data = trial.folder / "data"
        shutil.copytree(self.data, data)
        seconds = whole(trial.seconds)
        command = [
            *self._bench(data),
            *("--benchmarks=readwhilewriting", "--use_existing_db=1", f"--duration={seconds}"),
            *(f"--threads={trial.threads}", f"--seed={trial.seed + 1}"),
        ]
        trial.begin()
        out = trial.folder / "out"
        began = time.monotonic()
        process = trial.start(command, out)
        if not process.ended(seconds + trial.patience):
            return trial.end(Answer(1, time.monotonic() - began, cut=True))
        said = LINE.search(out.read_text(errors="replace"))
        if process.code or not said:
            raise Broken(trial.failure(process))
        answer = trial.end(Answer(int(said[2]), float(said[1])))
        lost = int(said[4]) - int(said[3])
        answer.wrong = f"{lost} keys were not found" if lost else self._wrong(data)
        return answer

    def _wrong(self, data: Path) -> str:
        """The writer only overwrites: there are as many keys as there were, and all can be read."""
        said = app.natively(
            [app.program("ldb"), f"--db={data}", "dump", "--count_only"], self.workspace
        ).decode()
        found = re.search(r"Keys in range: (\d+)", said)
        keys = found[1] if found else "no"
        right = self.number("entries")
        return "" if keys == str(right) else f"the database has {keys} keys, not {right}"
