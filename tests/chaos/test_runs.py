# SPDX-License-Identifier: MIT
"""Runs of one program: all read the same standard input."""

import os
import sys
from pathlib import Path

from overlock_tools.chaos.runs import Program
from overlock_tools.core.system.repeated import Input

APPENDS = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + ';')"


def test_runs_read_the_same(tmp_path: Path) -> None:
    given, out = tmp_path / "in", tmp_path / "out"
    given.write_text("words")
    with given.open() as file:
        args = (sys.executable, "-c", APPENDS, str(out))
        program = Program(sys.executable, args, os.environ, os.environ, Input(file.fileno()))
        runs = [program.run(None, None) for _ in range(3)]
    assert not any(run.failed for run in runs)
    assert out.read_text() == "words;" * 3
