# SPDX-License-Identifier: MIT
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.system import children
from tests.processes import gone, until

SLEEPS = ["sh", "-c", "sleep 1000 & echo $! >left; wait"]


class Interrupted(subprocess.Popen[bytes]):
    """The signal comes when the program has just been started."""

    started: list[int] = []  # noqa: RUF012

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.started.append(self.pid)
        os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_while_a_program_starts_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt), children.group(["sleep", "1000"], cwd=tmp_path):
        pytest.fail("it went on")
    until(lambda: gone(Interrupted.started[-1]))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    with children.group(SLEEPS, cwd=tmp_path):
        until(lambda: (tmp_path / "left").exists() and (tmp_path / "left").read_text().strip())
    until(lambda: gone(int((tmp_path / "left").read_text())))


def test_ignored_signals_stay_ignored_in_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with children.group(["sh", "-c", "kill -INT $$; exit 7"]) as child:
            assert child.wait() == 7
    finally:
        signal.signal(signal.SIGINT, before)
