# SPDX-License-Identifier: MIT
"""The demo from end to end, short; and what Ctrl-C leaves of it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import HANG_S, descendants, gone, read_until, until

COMMAND = [sys.executable, "-m", "overlock_tools", "demo", "-o", "report.html"]
QUICK = ["--rounds", "1", "--seconds", "0.02"]


def start(folder: Path, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *args],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_demo(tmp_path: Path) -> None:
    child = start(tmp_path, *QUICK, "--keep", ".")
    out, err = child.communicate(timeout=HANG_S)
    assert (child.returncode, err) == (0, "")
    headings = ("1. This machine", "2. BLIS", "3. An OpenMP", "4. The collapse", "5. The same")
    for heading in (*headings, "6. Verdict"):
        assert heading in out
    assert f"Report: {tmp_path}/report.html" in out
    assert "Next: `overlock locks`" in out
    assert {path.name for path in tmp_path.iterdir()} == {
        "openmp.json",
        "program-blis.json",
        "report.html",
        "sections.json",
        "sysbench.json",
        "pbzip2.json",
    }
    check_programs(tmp_path)


def check_programs(folder: Path) -> None:
    """Every lock ran under every program, or was cut, and nothing came out wrong."""
    for name, threads in (("sysbench", 2), ("pbzip2", 1)):
        result = json.loads((folder / f"{name}.json").read_text())
        assert result["complete"]
        assert {cell["wrong"] for cell in result["cells"]} == {""}
        assert len(result["cells"]) == len(result["variants"]) * threads
        assert not any(cell["cut"] for cell in result["cells"] if cell["variant"] == "native")
    page = (folder / "report.html").read_text()
    assert page.count('<section id="r') == 5
    assert "The measurement was interrupted" not in page


def test_missing_program_is_said_and_the_rest_reported(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, *QUICK],
        cwd=tmp_path,
        env={**os.environ, "PATH": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 3
    assert "failed: gcc is missing; `apt install gcc libomp5` installs it" in done.stdout
    assert "failed: sysbench is not on PATH; install it" in done.stdout
    assert "A critical and a non-critical section" in (tmp_path / "report.html").read_text()


def test_interrupt_in_the_middle_still_reports(tmp_path: Path) -> None:
    child = start(tmp_path, "--rounds", "1000", "--seconds", "0.02")
    read_until(child, "round 1 of 1000 done")
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=HANG_S)
    assert child.returncode == 130
    assert "Interrupted: the complete cells are kept." in out
    assert "The measurement was interrupted" in (tmp_path / "report.html").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_in_a_program_still_reports(tmp_path: Path, number: signal.Signals) -> None:
    child = start(tmp_path, *QUICK)
    read_until(child, "sysbench mutex, unmodified")
    running = until(lambda: descendants(child.pid))
    child.send_signal(number)
    out, _ = child.communicate(timeout=HANG_S)
    assert child.returncode == 130
    until(lambda: all(map(gone, running)))
    assert "6. Verdict" in out
    assert "A critical and a non-critical section" in (tmp_path / "report.html").read_text()


def test_interrupt_before_anything_writes_nothing(tmp_path: Path) -> None:
    child = start(tmp_path, "--rounds", "1", "--seconds", "50")
    read_until(child, "2. BLIS")
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=HANG_S)
    assert child.returncode == 130
    assert "no report is written" in out
    assert list(tmp_path.iterdir()) == []
