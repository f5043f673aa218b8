#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What watching costs: the same fixed work alone and under overlock-profiler, in turns, as root.

    python tests/profile/overhead.py [--rounds N] [--json FILE]

Prints, for each load, the median time of both, and the median of the ratios of neighbouring runs
with its range. An idle machine, please.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from overlock_tools.profile import agent

HERE = Path(__file__).resolve().parent
# Name, threads, pieces, ns of each, ns of them under the lock.
LOADS = (
    ("locks: 2 threads", 2, 15_000_000, 100, 20),
    ("locks: 8 threads", 8, 15_000_000, 100, 20),
    ("waits: 8 threads", 8, 50_000, 10_000, 10_000),
    ("normal: 2 threads", 2, 50_000, 20_000, 20),
    ("normal: 8 threads", 8, 50_000, 20_000, 20),
)


def alone(command: list[str]) -> float:
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def watched(command: list[str]) -> float:
    """The program measures itself: that it is loaded and unloaded is not counted."""
    with tempfile.TemporaryFile("w+") as out:
        kept = os.dup(1)
        os.dup2(out.fileno(), 1)
        try:
            with agent.started(tuple(command), None, {}, "bpf") as (watching, child):
                watching.answer(lambda: None)
                child.wait()
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        out.seek(0)
        return float(out.read())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/queue"
        subprocess.run(["cc", "-O2", "-pthread", HERE / "loads/queue.c", "-o", program], check=True)
        for name, *numbers in LOADS:
            command = [program, *map(str, numbers)]
            pairs = [(alone(command), watched(command)) for _ in range(options.rounds)]
            ratios = sorted(b / a for a, b in pairs)
            middle = statistics.median(ratios)
            found[name] = {
                "alone_ms": statistics.median(a for a, _ in pairs),
                "watched_ms": statistics.median(b for _, b in pairs),
                "ratios": ratios,
            }
            print(
                f"{name:<18} {found[name]['alone_ms']:9.1f} ms alone "
                f"{found[name]['watched_ms']:9.1f} ms watched  {middle - 1:+7.1%} "
                f"({ratios[0] - 1:+.1%} to {ratios[-1] - 1:+.1%})",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
