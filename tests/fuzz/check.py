# SPDX-License-Identifier: MIT
"""What overlock-check says, or a cache holds: a result that can be shown, or nonsense."""

import io
import subprocess
from typing import cast

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from rich.console import Console

    from overlock_tools.check import coverage, display, document, perfetto
    from overlock_tools.check.job import Job, Subject
    from overlock_tools.check.outcome import Outcome
    from overlock_tools.check.pool import Running
    from tests.fuzz.hostile import fuzz, is_plain

JOB = Job(Subject("ticket"))


def take(data: bytes) -> None:
    child = cast("subprocess.Popen[bytes]", None)
    running = Running(JOB, iter(()), child, io.BytesIO())  # type: ignore[arg-type]
    running.heard(data.replace(b"\n", b" ") + b"\n")
    assert running.executions >= 0
    assert running.steps >= 0
    if running.nonsense or running.result is None:
        return
    outcome = Outcome(JOB, running.result)
    document.document([outcome], [], "overlock check", True)
    perfetto.trace([outcome])
    out = Console(file=io.StringIO(), width=100, markup=False)
    out.print(display.results([outcome], 100), display.sentence([outcome]))
    out.print(*coverage.Union([outcome.coverage]).places())
    if outcome.failure:
        display.counterexample(out, outcome)
    text = cast("io.StringIO", out.file).getvalue()
    assert is_plain(text), "the terminal is told to do something"


if __name__ == "__main__":
    fuzz(take, documents=True)
