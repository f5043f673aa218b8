# SPDX-License-Identifier: MIT
"""What a plain `pip install` does without, and how the rest says what it needs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from overlock_tools.core.system.errors import MISSING
from tests.conftest import TOP
from tests.processes import HANG_S

PLAIN = (
    "import sys; "
    "sys.modules.update(dict.fromkeys(('clang', 'matplotlib', 'distributed', 'dask'))); "
    "from overlock_tools.cli.main import run; sys.exit(run(sys.argv[1:]))"
)
SHORT = ("--rounds", "1", "--seconds", "0.02", "--json", "r.json")
BENCH = ("bench", "sections", "--locks", "tas,ttas", "--threads", "1,2", *SHORT)
SIM = ("sim", "collapse", "--locks", "tas,ttas", "--seeds", "2", "--time", "0.1", "-o", "s.json")


def plain(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PLAIN, *words],
        cwd=folder,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def test_a_plain_install_measures_and_simulates(tmp_path: Path) -> None:
    for words in (BENCH, (*SIM, "--jobs", "2")):
        done = plain(tmp_path, *words)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("c", ("check", str(TOP / "tests/check/ordinary/locks/ticket.c"))),
        ("plots", ("report", "r.json", "-o", "r.html")),
        ("cluster", (*SIM, "--cluster", "tcp://127.0.0.1:1")),
    ],
)
def test_what_needs_an_extra_names_it(tmp_path: Path, extra: str, words: tuple[str, ...]) -> None:
    if extra == "plots":
        assert plain(tmp_path, *BENCH).returncode == 0
    done = plain(tmp_path, *words)
    assert done.returncode == MISSING, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.endswith(f"with pip: overlock-tools[{extra}]\n")
