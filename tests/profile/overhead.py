#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What watching costs: the same fixed work alone and under overlock-profiler, in turns, as root.

    python tests/profile/overhead.py [--rounds N] [--programs | --turns] [--json FILE]

Prints, for each load, the best time of both, and the median of the ratios of neighbouring runs with
its range. An idle machine, please. --programs: instead, how long the BPF programs ran, of the
CPU time; the kernel counts that, so it is exact on a busy machine, too. What a system call costs
more because it is looked at is not in it. --turns: of loads that yield, how many more switches of
their threads there are while nobody watches, within one run: loading is not in it.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from overlock_tools.profile import agent

HERE = Path(__file__).resolve().parent
STATS = Path("/proc/sys/kernel/bpf_stats_enabled")
LOOK_S, TURN_S = 0.2, 1.5
YIELD = "yield"
TICKS = os.sysconf("SC_CLK_TCK")
# Name; threads, pieces, ns of each, ns of them under the lock. "yield": it yields, without a lock.
LOADS = (
    ("locks: 2 threads", 2, 15_000_000, 100, 20),
    ("locks: 8 threads", 8, 15_000_000, 100, 20),
    ("waits: 8 threads", 8, 50_000, 10_000, 10_000),
    ("normal: 2 threads", 2, 50_000, 20_000, 20),
    ("normal: 8 threads", 8, 50_000, 20_000, 20),
    ("yields: 8 threads", 8, 100_000, 20_000, 20, YIELD),
    ("yields: 4, 1 us", 4, 1_000_000, 1000, 20, YIELD),
)


def alone(command: list[str]) -> float:
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@contextmanager
def silenced() -> Iterator[IO[str]]:
    """What the load writes goes to a file."""
    with tempfile.TemporaryFile("w+") as out:
        kept = os.dup(1)
        os.dup2(out.fileno(), 1)
        try:
            yield out
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def watched(command: list[str]) -> float:
    """The program measures itself: that it is loaded and unloaded is not counted."""
    with silenced() as out:
        with agent.started(tuple(command), None, {}, "bpf") as (watching, child):
            watching.answer(lambda: None)
            child.wait()
        out.seek(0)
        return float(out.read())


def built(folder: str) -> str:
    program = f"{folder}/queue"
    if not Path(program).exists():
        subprocess.run(["cc", "-O2", "-pthread", HERE / "loads/queue.c", "-o", program], check=True)
    return program


def programs_of(process: int) -> set[str]:
    """The ids of its BPF programs."""
    texts = [file.read_text() for file in Path(f"/proc/{process}/fdinfo").iterdir()]
    return set(re.findall(r"^prog_id:\s+(\d+)$", "\n".join(texts), re.MULTILINE))


def run_ns(ids: set[str]) -> int:
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, check=True)
    found = [one for one in json.loads(shown.stdout) if str(one["id"]) in ids]
    return sum(one.get("run_time_ns", 0) for one in found)


def cpu_ns(process: int) -> int | None:
    """None if it has ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return None if fields[0] == "Z" else (int(fields[11]) + int(fields[12])) * 10**9 // TICKS


def of_programs(command: list[str]) -> float:
    """Of the CPU time that the load used, what the BPF programs ran; as looked at last."""
    share = 0.0
    with silenced(), agent.started(tuple(command), None, {}, "bpf") as (watching, child):
        assert isinstance(watching, agent.Agent)
        ids = programs_of(watching.process.pid)
        while (used := cpu_ns(child.pid)) is not None:
            share = run_ns(ids) / used if used else 0.0
            time.sleep(LOOK_S)  # to look makes system calls, too
        watching.answer(lambda: None)
        child.wait()
    return share


@contextmanager
def counted() -> Iterator[None]:
    before = STATS.read_text()
    STATS.write_text("1")
    try:
        yield
    finally:
        STATS.write_text(before)


def tell_programs(folder: str) -> None:
    with counted():
        for name, *numbers in LOADS:
            command = [built(folder), *map(str, numbers)]
            print(f"{name:<18} {of_programs(command):7.2%} of its CPU time", flush=True)


def switches(process: int) -> int:
    """Of all its threads, so far. Each of the load's yields is one."""
    texts = (one.read_text() for one in Path(f"/proc/{process}/task").glob("*/status"))
    return sum(int(n) for text in texts for n in re.findall(r"_ctxt_switches:\s+(\d+)", text))


def rate(process: int) -> float:
    before, began = switches(process), time.monotonic()
    time.sleep(TURN_S)
    return (switches(process) - before) / (time.monotonic() - began)


def in_turns(command: list[str], rounds: int) -> list[float]:
    """The rates unwatched, before and after, by those that were watched between them."""
    ratios = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as load:
        time.sleep(TURN_S / 2)
        before = rate(load.pid)
        for _ in range(rounds):
            watching = agent.start(load.pid, None, {})
            during = rate(load.pid)
            watching.stop()
            watching.answer(lambda: None)
            after = rate(load.pid)
            ratios.append((before + after) / 2 / during)
            before = after
        load.kill()
    return sorted(ratios)


def tell_turns(folder: str, rounds: int) -> None:
    for name, *numbers in LOADS:
        if numbers[-1] != YIELD:
            continue
        threads, _, *rest = map(str, numbers)
        ratios = in_turns([built(folder), threads, str(10**12), *rest], rounds)
        print(
            f"{name:<18} {statistics.median(ratios) - 1:+.1%} "
            f"({ratios[0] - 1:+.1%} to {ratios[-1] - 1:+.1%})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--turns", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        if options.programs:
            tell_programs(folder)
            return
        if options.turns:
            tell_turns(folder, options.rounds)
            return
        for name, *numbers in LOADS:
            command = [built(folder), *map(str, numbers)]
            pairs = [(alone(command), watched(command)) for _ in range(options.rounds)]
            ratios = sorted(b / a for a, b in pairs)
            best = [min(times) for times in zip(*pairs, strict=True)]
            found[name] = {"pairs_ms": pairs, "ratios": ratios, "best_ms": best}
            print(
                f"{name:<18} best {best[0]:8.1f} ms alone {best[1]:8.1f} ms watched "
                f"{best[1] / best[0] - 1:+7.1%}; pairs {statistics.median(ratios) - 1:+.1%} "
                f"({ratios[0] - 1:+.1%} to {ratios[-1] - 1:+.1%})",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
