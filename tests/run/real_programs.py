# SPDX-License-Identifier: MIT
"""Real, unmodified programs under every lock through `overlock run`, beside native: `make real`.

First every lock does a smaller piece of the work to its end, and what came of it is checked. Then
all are timed on the whole, interleaved, round after round, checked again; what takes five times as
long as native has collapsed and is cut.
"""

import argparse
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from overlock_tools.bench import programs
from overlock_tools.bench.programs import NATIVE, Pbzip2, Program, Runs, Sysbench
from overlock_tools.core.model import defs, stats
from overlock_tools.core.model.results import Result
from overlock_tools.core.system import files, machine

PATIENCE_S = 120.0


def measured(work: Program, threads: list[int], rounds: int, folder: Path, out: Console) -> Result:
    command = shlex.join(["make", "real", *sys.argv[1:]])
    result = programs.new_result(work, list(defs.load().locks), threads, rounds, command)
    total = rounds * len(threads) * len(result.variants)
    done = 0

    def each() -> None:
        nonlocal done
        done += 1
        out.print(f"\r{work.name}: {done} of {total}", end="", highlight=False)

    Runs(work, result, folder).all(rounds, float("inf"), each)
    out.print()
    return result


def checked(work: Program, threads: list[int], folder: Path, out: Console) -> dict[str, str]:
    """What is wrong with the results under each lock, without cutting the collapsed."""
    result = programs.new_result(work, list(defs.load().locks), threads, 1, "")
    runs = Runs(work, result, folder)
    runs.limits = dict.fromkeys(threads, PATIENCE_S)
    runs.all(1, float("inf"), lambda: None)
    found = {}
    for variant in result.variants:
        cells = [c for n in threads for c in result.of(variant, n)]
        wrong = [f"not done in {PATIENCE_S:g} s" if c.cut else c.wrong for c in cells]
        found[variant] = "; ".join(filter(None, wrong))
    bad = ", ".join(f"{k}: {v}" for k, v in found.items() if v)
    out.print(f"{work.name}: results under each lock at {threads} threads: {bad or 'all right'}")
    return found


def cell(result: Result, variant: str, threads: int) -> str:
    if result.cut(variant, threads):
        return f"cut at {max(c.seconds for c in result.of(variant, threads)):.1f} s"
    times = [c.seconds for c in result.of(variant, threads)]
    native = stats.median([c.seconds for c in result.of(NATIVE, threads)])
    middle = stats.median(times)
    text = f"{middle:.2f} s ({min(times):.2f}-{max(times):.2f})"
    return text if variant == NATIVE else f"{text} {native / middle:.2f}×"


def table(result: Result, found: dict[str, str]) -> Table:
    shown = Table(title=result.title, title_justify="left", box=None, pad_edge=False)
    shown.add_column("lock")
    for threads in result.threads:
        shown.add_column(f"{threads} threads: median (range), speed of native's", justify="right")
    shown.add_column("results")
    for variant in result.variants:
        cells = [cell(result, variant, threads) for threads in result.threads]
        wrong = [c.wrong for c in result.cells if c.variant == variant and c.wrong]
        shown.add_row(variant, *cells, found[variant] or (wrong[0] if wrong else "right"))
    return shown


def pairs(folder: Path) -> Iterator[tuple[Program, Program]]:
    """The smaller piece of work and the whole; each made when its turn has come, for its input."""
    yield Sysbench(40_000), Sysbench(1_200_000)
    whole = Pbzip2(folder, 8_000_000)
    yield whole, whole


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="a folder for sysbench.json and pbzip2.json")
    options = parser.parse_args()
    if options.json:
        options.json.mkdir(parents=True, exist_ok=True)
    programs.need("sysbench", "pbzip2")
    out = Console(highlight=False, width=150)
    threads = [machine.cpus(), 4 * machine.cpus()]
    wrong = False
    with programs.scratch() as folder:
        for small, work in pairs(folder):
            found = checked(small, threads, folder, out)
            result = measured(work, threads, options.rounds, folder, out)
            out.print(table(result, found), "")
            wrong |= any(found.values()) or any(c.wrong for c in result.cells)
            if options.json:
                files.write(options.json / f"{work.name}.json", result.to_json())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
