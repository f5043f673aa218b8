# SPDX-License-Identifier: MIT
"""pbzip2 packs a file in memory, as for Rao & Dunlap 2012 and Teabe et al. 2017.

Its queue is behind a mutex and conditions.
"""

import hashlib
import random
import re
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps import app
from overlock_tools.apps.trial import Trial
from overlock_tools.core.model.combine import Answer
from overlock_tools.core.system.errors import FAILED, Fail

SEED = 1
# Blocks of 100 KB, the least there are: the queue is used as often as it can be.
BLOCK = "-b1"


class Pbzip2(app.App):
    name = "pbzip2"
    what = "pbzip2 compresses random bytes in memory with N threads"
    unit = "bytes"
    papers = "rao2012, teabe2017"
    packages = ("pbzip2",)
    programs = ("pbzip2",)
    reach = "all: mutexes of the block queue, the writer and the progress counter"
    presets: ClassVar[dict[str, str]] = {"megabytes": "4"}

    def set_up(self) -> None:
        self.size = self.number("megabytes") * 1_000_000
        self.input = self.workspace.folder / "input"
        draw = random.Random(SEED)  # noqa: S311 - no secret
        self.input.write_bytes(draw.randbytes(self.size))
        self.right = hashlib.sha256(self.input.read_bytes()).digest()
        packed = app.natively(self._command(1), self.workspace)
        if self._unpacked(packed) != self.right:
            raise Fail("pbzip2 cannot decompress its own output, even natively", FAILED)

    def _command(self, threads: int) -> list[str]:
        return [*(app.program("pbzip2"), "-v", "-c", "-k", BLOCK, f"-p{threads}", str(self.input))]

    def _unpacked(self, packed: bytes) -> bytes:
        unpacked = app.natively([app.program("pbzip2"), "-dc"], self.workspace, given=packed)
        return hashlib.sha256(unpacked).digest()

    def cell(self, trial: Trial) -> Answer:
        return trial.pieces(self._command(trial.threads), self.size, self._wrong, took)

    def _wrong(self, outs: list[Path]) -> str:
        try:
            right = all(self._unpacked(out.read_bytes()) == self.right for out in outs)
        except Fail as error:
            return error.message
        return "" if right else "its output does not decompress to its input"


def took(out: Path) -> float | None:
    """As it says itself."""
    said = out.with_name("pbzip2.err").read_text(errors="replace")
    times = re.findall(r"Wall Clock: ([\d.]+) seconds", said)
    return float(times[-1]) if times else None
