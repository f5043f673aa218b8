#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Planted bugs: how often a run fails under `overlock chaos`, and by stress alone.

    python tools/chaos_programs.py [NAME...] [--seconds N] [--runs N]
    python tools/chaos_programs.py --overhead [--rounds N]

Each program of tests/chaos/programs (all, unless named) is run for N seconds as it is, for N
seconds beside two CPU hogs per CPU, and N times under chaos, as is the same program without the
bug. With --seconds 0 the former are kept as they are. The results go into docs/measured/chaos.json,
of which tools/docs_tables.py makes the tables of docs/results/chaos.md. An idle machine, please.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import kept_json
from lock_pages import table
from overlock_tools.chaos import rates
from overlock_tools.chaos.runs import Program
from overlock_tools.chaos.settings import Length, Settings
from overlock_tools.core.model import stats
from overlock_tools.core.system import native

TOP = Path(__file__).resolve().parent.parent
PROGRAMS = TOP / "tests/chaos/programs"
MEASURED = TOP / "docs/measured/chaos.json"
TIMEOUT_S = 1.0  # far above what a healthy run takes under chaos; the column `fixed` shows that
SETTINGS = Settings(1, 0.05, Length.parse("1ms..20ms"))
ENOUGH_FAILURES = 20  # of a plain program: its rate is known, so stop

Json = dict[str, Any]


def built(name: str, folder: str, *flags: str) -> str:
    made = f"{folder}/{name}{''.join(flags)}"
    source = PROGRAMS / f"{name}.c"
    subprocess.run(["cc", "-O2", "-g", "-pthread", *flags, source, "-o", made], check=True)
    return made


@contextmanager
def hogs(per_cpu: int) -> Iterator[None]:
    n = per_cpu * (os.cpu_count() or 1)
    running = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(n)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def counted(failed: int, runs: int, seconds: float) -> Json:
    return {"failed": failed, "runs": runs, "seconds": round(seconds, 3)}


def stress(path: str, seconds: float) -> Json:
    program = Program.prepare([path])
    began, failed, runs = time.monotonic(), 0, 0
    while time.monotonic() - began < seconds and failed < ENOUGH_FAILURES:
        failed += program.run(None, TIMEOUT_S).failed
        runs += 1
    return counted(failed, runs, time.monotonic() - began)


def chaos(path: str, runs: int) -> Json:
    program = Program.prepare([path])
    began = time.monotonic()
    failed = sum(
        program.run(SETTINGS.with_seed(seed), TIMEOUT_S).failed for seed in range(1, runs + 1)
    )
    return counted(failed, runs, time.monotonic() - began)


def measure(name: str, seconds: float, runs: int, found: Json) -> Json:
    with tempfile.TemporaryDirectory() as folder:
        path, fixed = built(name, folder), built(name, folder, "-DFIXED")
        if seconds:
            found = {"plain": stress(path, seconds)}
            with hogs(2):
                found["hogs"] = stress(path, seconds)
        return found | {"chaos": chaos(path, runs), "fixed": chaos(fixed, runs)}


def ratio(ours: Json, theirs: Json, of: str) -> tuple[float, float | None]:
    """How much more often ours fails per run or second: bounds; no upper one if theirs never did.

    Given that n failed in all, those of ours are binomial (Przyborowski and Wilenski 1940): exact.
    """
    n = ours["failed"] + theirs["failed"]
    low, high = rates.interval(ours["failed"], n) if n else (0.0, 1.0)
    exposure = theirs[of] / ours[of]
    upper = high / (1 - high) * exposure if theirs["failed"] else None
    return low / (1 - low) * exposure, upper


def what_is_planted(name: str) -> str:
    text = (PROGRAMS / f"{name}.c").read_text().splitlines()[1]
    return text.removeprefix("/* ").removesuffix(" */")


def _bounds(found: tuple[float, float | None]) -> str:
    low, high = found
    return f"{low:,.3g} – {high:,.3g}" if high is not None else f"≥ {low:,.3g}"


def _counts(one: Json) -> str:
    return f"{one['failed']} of {one['runs']}"


def _stress(found: Json) -> Json:
    """Both kinds of stress together."""
    return {of: found["plain"][of] + found["hogs"][of] for of in found["plain"]}


def bugs_table() -> str:
    names = json.loads(MEASURED.read_text())["programs"]
    return table(["program", "its bug"], [[_linked(name), what_is_planted(name)] for name in names])


def _linked(name: str) -> str:
    return f"[`{name}`](../tests/chaos/programs/{name}.c)"


def programs_table() -> str:
    rows = [
        [
            f"`{name}`",
            *(_counts(one[kind]) for kind in ("plain", "hogs", "chaos", "fixed")),
            *(_bounds(ratio(one["chaos"], _stress(one), of)) for of in ("runs", "seconds")),
        ]
        for name, one in json.loads(MEASURED.read_text())["programs"].items()
    ]
    headings = ["program", "stress", "beside hogs", "chaos", "without the bug, chaos"]
    return table([*headings, "× per run", "× per second"], rows)


# Overhead: LevelDB's readers take its mutexes several times for each look-up. One thread, since
# nothing it does is then a wait that hides what a call costs.

ENTRIES = "100000"
READ = ("1", "0", "0.1", "0.4", "1")  # threads, writers, warm-up, seconds, seed


def leveldb(folder: str) -> list[str]:
    source = TOP / "python/overlock_tools/apps/drivers/leveldb.cpp"
    made = f"{folder}/leveldb"
    flags = ["-std=c++20", "-O2", "-pthread", "-lleveldb"]
    subprocess.run(["c++", source, "-o", made, *flags], check=True)
    subprocess.run([made, "fill", f"{folder}/db", ENTRIES], check=True)
    return [made, "read", f"{folder}/db", ENTRIES, *READ]


def look_ups_per_second(command: list[str], variables: dict[str, str]) -> float:
    done = subprocess.run(command, env=variables, input=b"\n", stdout=subprocess.PIPE, check=True)
    found = json.loads(next(line for line in done.stdout.splitlines() if b'"seconds"' in line))
    return float(sum(found["per_thread"]) / found["seconds"])


def instructions(command: list[str], seconds: int, variables: dict[str, str]) -> tuple[int, int]:
    """Those of a run under Valgrind, and the look-ups that it made."""
    timed = [*command[:-3], "0", str(seconds), command[-1]]
    with tempfile.NamedTemporaryFile() as out:
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}"]
        done = subprocess.run(
            [*valgrind, *timed], env=variables, input=b"\n", capture_output=True, check=True
        )
    found = json.loads(next(line for line in done.stdout.splitlines() if b'"seconds"' in line))
    collected = re.search(rb"Collected : (\d+)", done.stderr)
    assert collected, done.stderr
    return int(collected[1]), sum(found["per_thread"])


def instructions_per_look_up(command: list[str], variables: dict[str, str]) -> float:
    """Of a longer and a shorter run, so that the start is not counted."""
    (most, look_ups), (least, fewer) = (instructions(command, s, variables) for s in (8, 2))
    return (most - least) / (look_ups - fewer)


def overhead(rounds: int) -> Json:
    ours = os.environ | {"LD_PRELOAD": str(native.file("liboverlock-chaos.so"))}
    both = [dict(os.environ), ours | {"OVERLOCK_CHAOS_RATE": "0"}]
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        command = leveldb(folder)
        counts = [instructions_per_look_up(command, variables) for variables in both]
        for i in range(rounds):
            order = (0, 1) if i % 2 else (1, 0)
            rate = {which: look_ups_per_second(command, both[which]) for which in order}
            pairs.append([round(rate[0]), round(rate[1])])
    return {"instructions": counts, "rates": pairs}


def overhead_of(pairs: list[list[float]]) -> str:
    cost = stats.ratio([alone for alone, _ in pairs], [idle for _, idle in pairs])
    assert cost.low is not None
    assert cost.high is not None
    return f"{cost.value - 1:+.1%} ({cost.low - 1:+.1%} to {cost.high - 1:+.1%})"


def overhead_table() -> str:
    found = json.loads(MEASURED.read_text())["overhead"]
    alone, idle = found["instructions"]
    rows = [
        ["instructions per look-up", f"{alone:,.0f}", f"{idle:,.0f}", f"{idle / alone - 1:+.2%}"],
        [
            f"time, {len(found['rates'])} pairs of runs",
            *(f"{median(rates) / 1000:.0f} k/s" for rates in zip(*found["rates"], strict=True)),
            overhead_of(found["rates"]),
        ],
    ]
    return table(["LevelDB, random look-ups", "alone", "at rate 0", "cost"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--overhead", action="store_true")
    parser.add_argument("--rounds", type=int, default=80)
    options = parser.parse_args()
    found = json.loads(MEASURED.read_text()) if MEASURED.exists() else {"programs": {}}
    if options.overhead:
        found["overhead"] = overhead(options.rounds)
    else:
        for name in options.names or sorted(path.stem for path in PROGRAMS.glob("*.c")):
            found["programs"][name] = measure(
                name, options.seconds, options.runs, found["programs"].get(name, {})
            )
            print(name, json.dumps(found["programs"][name]), flush=True)
            found["programs"] = dict(sorted(found["programs"].items()))
            kept_json.write(MEASURED, found)
    kept_json.write(MEASURED, found)


if __name__ == "__main__":
    main()
