# SPDX-License-Identifier: MIT
"""The report of `overlock chaos`, for people."""

import shlex
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from overlock_tools.chaos import rates

Report = dict[str, Any]
SEEDS_SHOWN = 8
SITES_SHOWN = 10
WAITS_SHOWN = 5
STUCK_SHOWN = 4
LINE = 100  # letters of a program's last line


def place(row: Report, name: str) -> str:
    """`transfer (abba.c:17)`; the object and the offset where nothing is known."""
    where = f"{Path(row['file']).name}:{row['line']}" if row.get("file") and row.get("line") else ""
    function = row.get("function") or name.rpartition(":")[0]
    return f"{function} ({where})" if where else str(function)


def _cut(text: str) -> str:
    return text if len(text) <= LINE else text[: LINE - 1] + "…"


def _seeds(seeds: list[int]) -> str:
    more = len(seeds) - SEEDS_SHOWN
    return ", ".join(map(str, seeds[:SEEDS_SHOWN])) + (f" and {more} more" if more > 0 else "")


def _failures(report: Report, rows: dict[str, Report]) -> Iterator[str]:
    for one in report["failures"]:
        runs = len(one["seeds"])
        yield f"{runs:>6} {'run' if runs == 1 else 'runs'}: {one['how']}; {_seeds_of(one)}"
        if one["last_line"]:
            yield f"             {_cut(one['last_line'])}"
        for where, n in _stuck(one["stuck"], rows)[:STUCK_SHOWN]:
            yield f"             {n} × a thread waited {where}"


def _stuck(counts: dict[str, int], rows: dict[str, Report]) -> list[tuple[str, int]]:
    """By place: a line may have more than one site."""
    total: dict[str, int] = defaultdict(int)
    for name, n in counts.items():
        what = "for a lock in" if name.endswith(":waiter") else "in"
        total[f"{what} {place(rows.get(name, {}), name)}"] += n
    return sorted(total.items(), key=lambda item: -item[1])


def _seeds_of(one: Report) -> str:
    return f"{'seed' if len(one['seeds']) == 1 else 'seeds'} {_seeds(one['seeds'])}"


def _sites(report: Report) -> Iterator[str]:
    failing = sum(run["how"] != "passed" for run in report["runs"])
    passing = len(report["runs"]) - failing
    shown = [
        row
        for row in report["sites"]
        if row["in_failing_runs"] * passing >= row["in_passing_runs"] * failing
    ]
    shown = [row for row in shown if row["in_failing_runs"]][:SITES_SHOWN]
    if not shown:
        return
    yield ""
    yield f"{'failing':>9} {'passing':>9} {'stops':>7}  a thread lost its CPU"
    for row in shown:
        counts = (f"{row['in_failing_runs']}/{failing}", f"{row['in_passing_runs']}/{passing}")
        text = f"{row['kind']:<13} {place(row, row['site'])}"
        yield f"{counts[0]:>9} {counts[1]:>9} {row['naps']:>7}  {text}"


def _waits(report: Report) -> Iterator[str]:
    locks = [row for row in report["sites"] if row["kind"] == "waiter" and row["worst_wait_ns"]]
    locks.sort(key=lambda row: -row["worst_wait_ns"])
    if not locks:
        return
    yield ""
    yield f"{'ms':>9}  longest waits for a lock"
    for row in locks[:WAITS_SHOWN]:
        yield f"{row['worst_wait_ns'] / 1e6:>9.1f}  {place(row, row['site'])}"


def _times(report: Report) -> str:
    times = [run["seconds"] for run in report["runs"] if run["how"] == "passed"]
    alone = f"{report['plain_s']:.3g} s without chaos"
    if not times:
        return f"Time of a run: {alone}."
    return f"Time of a run that passes: {median(times):.3g} s, at most {max(times):.3g} s; {alone}."


def _bisection(found: Report) -> Iterator[str]:
    yield ""
    if not found["sites"]:
        yield f"Bisection of seed {found['seed']}: {found['why']}"
        return
    n = len(found["sites"])
    what = "this site" if n == 1 else f"these {n} sites"
    yield f"Bisection of seed {found['seed']}: a thread that loses its CPU at {what} is enough."
    for row in found["sites"]:
        yield f"    {row['kind']:<13} {place(row, row['site'])}   {row['site']}"
    yield (
        f"Failed with {what} alone: {_of(found['alone'])}; with all {found['all_sites']} sites: "
        f"{_of(found['all'])}; with all but {what}: {_of(found['others'])}."
    )
    yield f"Again: {found['replay']}"


def _of(counts: list[int]) -> str:
    return rates.shown(*counts) if counts[1] else "not run"


def _taken(report: Report) -> str:
    if "--by" not in report["options"]:
        return ""
    taken = sum(row.get("taken", 0) for row in report["sites"])
    return f", {taken} of them runnable"


def text(report: Report) -> str:
    runs, failed = report["runs"], sum(run["how"] != "passed" for run in report["runs"])
    rows = {row["site"]: row for row in report["sites"]}
    so_far = ", interrupted" if report["interrupted"] else ""
    naps = sum(row["naps"] for row in report["sites"])
    lines = [
        f"overlock chaos: {_cut(shlex.join(report['command']))}{so_far}",
        f"{rates.shown(failed, len(runs))} runs failed; threads lost their CPU {naps} times"
        f"{_taken(report)}."
        if runs
        else "No run ended.",
        *_failures(report, rows),
        *_sites(report),
        *_waits(report),
    ]
    if runs:
        lines += ["", _times(report)]
    if not naps and runs:
        lines.append(
            "No thread ever lost its CPU: the program makes no call that chaos knows, or none that "
            "--at, --sites and --only allow. Is it linked statically, or not with pthreads?"
        )
    if report["bisection"]:
        lines += _bisection(report["bisection"])
    elif failed and report["failures"]:
        seed = report["failures"][0]["seeds"][0]
        lines.append(f"Which site? Add --bisect --seed {seed}.")
    return "\n".join(lines) + "\n"
