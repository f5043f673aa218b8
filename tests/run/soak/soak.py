#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make soak: threads and mutexes come and go under the interposer, and its memory stays flat.

soak.c samples itself when all of its threads have ended. A line is fitted to the second half of
the samples: tables that fill up to a bound have done so by then. The line's growth is judged by the
number of operations, so that a slow machine changes nothing.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression

TOP = Path(__file__).resolve().parents[3]
NATIVE = Path(os.environ.get("OVERLOCK_NATIVE", TOP / "build/native"))
SOURCE = TOP / "tests/run/programs/soak.c"
SAMPLES = 40
ROUNDS_A_PART = 1500  # of the hour, per variant: some seconds
STACK_RULES = {"OVERLOCK_STACKS": "wait", "OVERLOCK_OUTPUT": "/dev/null"}

VARIANTS: dict[str, dict[str, str]] = {
    "native": {},
    "tas_yield": {},
    "mcs": {"OVERLOCK_RWLOCK": "qrw", "OVERLOCK_SPINLOCK": "tas_yield"},
    "partitioned_ticket": {},
    "sites": {"OVERLOCK_LOCK": "tas_yield", "OVERLOCK_SITES": "partitioned_ticket work\nmcs one_*"},
    "counted": {"OVERLOCK_LOCK": "mcs", "OVERLOCK_OUTPUT": "/dev/null", "OVERLOCK_RWLOCK": "qrw"},
    "stacks": {"OVERLOCK_LOCK": "partitioned_ticket", **STACK_RULES},
    "checked": {
        "OVERLOCK_LOCK": "mcs",
        "OVERLOCK_CHECK": "1",
        "OVERLOCK_DEADLOCK_NS": "60000000000",
    },
}
FLAVOURS = {"counted": "-counted", "stacks": "-counted", "checked": "-checked"}


@dataclass(frozen=True)
class Measure:
    """Growth of the second half: at most `slack`, and `rate` for each million operations."""

    name: str
    slack: float
    rate: float

    def allowed(self, operations: float) -> float:
        return self.slack + self.rate * operations / 1e6


# The slack is what the second half may touch for the first time: parts of the table of sleepers, of
# 128 KiB, and of code. A node lost with each thread is 640 KiB for each million operations.
MEASURES = (
    Measure("memory", 256 << 10, 16 << 10),
    Measure("address space", 256 << 10, 16 << 10),
    Measure("mappings", 3, 0.1),
    Measure("descriptors", 0.5, 0.01),
)
Sample = tuple[int, ...]  # operations, then the measures


def environment(variant: str, library: Path | None = None) -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OVERLOCK_")}
    if variant == "native":
        return clean
    preload = library or NATIVE / f"liboverlock-run{FLAVOURS.get(variant, '')}.so"
    told = {"LD_PRELOAD": str(preload), "OVERLOCK_LOCK": variant, "OVERLOCK_QUIET": "1"}
    return clean | told | VARIANTS[variant]


def compiled(folder: Path) -> Path:
    out = folder / "soak"
    flags = ["-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-rdynamic"]
    subprocess.run(["gcc", *flags, str(SOURCE), "-o", str(out)], check=True)
    return out


class Failed(Exception):
    """The program ended otherwise than it should."""


def samples_of(program: Path, rounds: int, env: dict[str, str], seconds: float) -> Iterator[Sample]:
    """Until that many rounds, or seconds, are over; then the program ends after its round."""
    began = time.monotonic()
    command = [str(program), str(rounds), str(max(1, rounds // ROUNDS_A_PART, SAMPLES))]
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        try:
            for line in process.stdout:
                yield tuple(map(int, line.split()))
                if time.monotonic() - began > seconds:
                    process.send_signal(signal.SIGTERM)
        finally:
            process.send_signal(signal.SIGTERM)
            said = process.stderr.read().strip()
            code = process.wait()
    if code or said:
        raise Failed(f"ended with {code}: {said or 'nothing said'}")


def growths(samples: list[Sample]) -> list[float]:
    """Of each measure, over the second half, by the fitted line."""
    half = samples[len(samples) // 2 :]
    operations = [sample[0] for sample in half]
    over = operations[-1] - operations[0]
    return [
        linear_regression(operations, [sample[i] for sample in half]).slope * over
        for i in range(1, len(MEASURES) + 1)
    ]


def verdict(samples: list[Sample]) -> str:
    """Empty if everything is flat."""
    over = samples[-1][0] - samples[len(samples) // 2][0]
    return "; ".join(
        f"{m.name} grew by {grown:.0f} over {over} operations, allowed {m.allowed(over):.0f}"
        for m, grown in zip(MEASURES, growths(samples), strict=True)
        if grown > m.allowed(over)
    )


def row(name: str, samples: list[Sample]) -> str:
    last, grown = samples[-1], growths(samples)
    figures = ", ".join(
        f"{m.name} {value} ({change:+.0f})"
        for m, value, change in zip(MEASURES, last[1:], grown, strict=True)
    )
    return f"{name}: {last[0] / 1e6:.2f} M operations, {figures}"


def soak(program: Path, name: str, seconds: float) -> list[Sample]:
    samples: list[Sample] = []
    rounds = ROUNDS_A_PART * max(SAMPLES, round(seconds * 20))
    began = time.monotonic()
    try:
        for sample in samples_of(program, rounds, environment(name), seconds):
            samples.append(sample)
            took = time.monotonic() - began
            print(f"{name}: {took:.0f} of {seconds:.0f} s: {sample}", flush=True)
    except KeyboardInterrupt:
        if len(samples) < 4:
            raise
        print(row(name, samples))
        raise
    return samples


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600, help="Duration of all variants.")
    parser.add_argument("--only", choices=VARIANTS, action="append", help="Variant to run.")
    asked = parser.parse_args()
    names = asked.only or list(VARIANTS)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        for name in names:
            try:
                samples = soak(program, name, asked.seconds / len(names))
                found = verdict(samples) if len(samples) >= 4 else "too few samples"
            except Failed as error:
                samples, found = [], str(error)
            except KeyboardInterrupt:
                print("soak: interrupted")
                return 130
            print(row(name, samples) if len(samples) >= 4 else name, f"- {found or 'flat'}")
            wrong += [name] if found else []
    print(f"soak: {', '.join(wrong)}: not flat" if wrong else "soak: all flat")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
