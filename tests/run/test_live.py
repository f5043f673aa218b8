# SPDX-License-Identifier: MIT
"""overlock run --counters=1s: what is counted while the program runs, however it ends."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.model import defs
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail
from overlock_tools.run import live
from tests.processes import HANG_S
from tests.run.conftest import Compile, environment, output, overlock

# The interpreter's own lock is made of a mutex and a condition.
BUSY = """
import os, signal, sys, threading, time
def work(seconds):
    end = time.monotonic() + seconds
    def turn():
        while time.monotonic() < end:
            sum(range(1000))
    threads = [threading.Thread(target=turn) for _ in range(3)]
    for t in threads: t.start()
    for t in threads: t.join()
"""


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def followed(tmp_path: Path, code: str) -> tuple[int, list[dict[str, Any]]]:
    out = tmp_path / "lines"
    args = ("--counters=100ms", "--json", "--output", out, "--lock", "ticket")
    done = overlock(*args, "--", sys.executable, "-c", BUSY + code)
    assert done.stderr == "", done
    return done.returncode, lines_of(out)


def acquired(line: dict[str, Any]) -> Counter[tuple[int, str]]:
    return Counter({(s["pid"], s["site"]): s["events"].get("ACQUIRE", 0) for s in line["sites"]})


def adds_up(lines: list[dict[str, Any]]) -> bool:
    """The last line is the sum of the others, and of what came after the last of those."""
    *parts, total = lines
    assert total["final"]
    assert not any(part["final"] for part in parts)
    seen: Counter[tuple[int, str]] = Counter()
    for part in parts:
        seen += acquired(part)
    sums = acquired(total)
    return seen.keys() <= sums.keys() and all(seen[site] <= n for site, n in sums.items())


def test_lines_while_it_runs_and_the_sum(tmp_path: Path) -> None:
    code, lines = followed(tmp_path, "work(0.7)")
    assert code == 0
    assert len(lines) >= 3
    assert sum(bool(line["sites"]) for line in lines[:-1]) >= 2
    assert adds_up(lines)
    assert acquired(lines[-1]).total() > 0
    assert any("+0x" in site["place"] for site in lines[-1]["sites"])
    # A reader that told everything anew each time would be noticed.
    busiest = max(lines[:-1], key=lambda line: acquired(line).total())
    assert not adds_up([*lines[:-1], *[busiest] * 100, lines[-1]])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_killed_program_is_read_to_the_end(tmp_path: Path, number: signal.Signals) -> None:
    text = f"signal.signal({number.value}, 0); " if number != signal.SIGKILL else ""
    code, lines = followed(tmp_path, f"work(0.3); {text}os.kill(os.getpid(), {number.value})")
    assert code == -number
    assert acquired(lines[-1]).total() > 0


def test_exit_past_all_destructors(tmp_path: Path) -> None:
    code, lines = followed(tmp_path, "work(0.3); os._exit(3)")
    assert code == 3
    assert acquired(lines[-1]).total() > 0


def test_children_are_told_apart(tmp_path: Path) -> None:
    forks = "p = os.fork(); work(0.3); p and os.wait()"
    code, lines = followed(tmp_path, forks)
    assert code == 0
    assert len({site["pid"] for site in lines[-1]["sites"]}) == 2
    execs = f"import subprocess; subprocess.run([sys.executable, '-c', {BUSY + 'work(0.2)'!r}])"
    _, lines = followed(tmp_path, execs)
    assert len({site["pid"] for site in lines[-1]["sites"]}) >= 2


def test_files_of_children_that_have_ended_are_removed(tmp_path: Path) -> None:
    """While the program runs; their counts are kept."""
    code, lines = followed(
        tmp_path,
        """
for _ in range(20):
    child = os.fork()
    if not child: work(0); os._exit(0)
    os.waitpid(child, 0)
end = time.monotonic() + 60
while time.monotonic() < end and len(os.listdir(os.environ["OVERLOCK_LIVE"])) > 1:
    time.sleep(0.05)
sys.exit(len(os.listdir(os.environ["OVERLOCK_LIVE"])))
""",
    )
    assert code == 1  # its own
    assert len({site["pid"] for site in lines[-1]["sites"]}) == 21


@pytest.mark.parametrize("elsewhere", [False, True])
def test_whose_process_may_live_under_another_number_keeps_its_file(
    program: Compile, tmp_path: Path, *, elsewhere: bool
) -> None:
    counted = native.file("liboverlock-run-counted.so")
    env = environment("ticket", counted, OVERLOCK_LIVE=str(tmp_path), OVERLOCK_QUIET="1")
    output([program("crowd.c"), "4"], env)
    (file,) = tmp_path.iterdir()
    data = bytearray(file.read_bytes())
    if elsewhere:
        data[defs.load().live["space"]] ^= 1
    file.write_bytes(data)
    reader = live.Reader(tmp_path, own=1)
    first = reader.totals()
    assert first
    assert file.exists() == elsewhere
    assert reader.totals() == first


def test_interrupt_ends_the_program_and_is_told(tmp_path: Path) -> None:
    """As a terminal sends it: to the program and to us."""
    out = tmp_path / "table"
    child = subprocess.Popen(
        [
            *(sys.executable, "-m", "overlock_tools", "run", "--counters=100ms"),
            *("--output", str(out), "--", sys.executable, "-c"),
            BUSY + "signal.signal(2, 0); print('ready', flush=True); work(60)",
        ],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment(None, OVERLOCK_NATIVE=str(native.folder())),
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    os.killpg(child.pid, signal.SIGINT)
    assert child.wait(HANG_S) == -signal.SIGINT
    last = out.read_text().rsplit("overlock: ", 1)[1]
    assert last.startswith("total, ")
    assert "(Nh " in last
    assert "LHP" in last


def test_the_programs_own_options_stay_its_own() -> None:
    assert overlock("echo", "--counters=1s").stdout == "--counters=1s\n"
    assert overlock("--lock", "mcs", "echo", "--counters=1s").stdout == "--counters=1s\n"


def test_what_it_refuses(tmp_path: Path) -> None:
    for args, word in (
        (("--counters=soon",), "--counters=1s"),
        (("--counters=0s",), "--counters=1s"),
        (("--json",), "--counters=1s"),
        (("--counters=1s", "--output", str(tmp_path / "%p")), "%p"),
    ):
        done = overlock(*args, "true")
        assert done.returncode == 125
        assert word in done.stderr
        assert done.stderr.count("\n") == 1
    assert live.parse_interval("250ms") == 0.25
    assert live.parse_interval("2") == 2.0
    with pytest.raises(Fail):
        live.parse_interval("-1s")


def test_histograms_are_kept_on_request(tmp_path: Path) -> None:
    out = tmp_path / "report"
    code = BUSY + "work(0.2)"
    for asked in (False, True):
        options = ("--histograms",) if asked else ()
        assert overlock(*options, "--output", out, sys.executable, "-c", code).returncode == 0
        busiest = json.loads(out.read_text())["sites"]["sites"][0]
        assert ("hold" in busiest) is asked
        assert "stalls" in busiest
        assert "preemptions" in busiest
    assert sum(n for _, n in busiest["hold"]) > 0
    assert busiest["hold_ns"] > 0
