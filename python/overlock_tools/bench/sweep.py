# SPDX-License-Identifier: MIT
"""overlock bench sweep: a tunable over its range, under the locks that read it.

Every value is a contender, LOCK@TUNABLE=VALUE, of one interleaved measurement; each lock is
compared with itself at the default.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from overlock_tools.bench import bench, campaign, header_locks, subjects
from overlock_tools.bench.bench import Asked
from overlock_tools.core.analyze.wording import TOO_FEW
from overlock_tools.core.model import defs, quantities, stats
from overlock_tools.core.model.defs import Tunable
from overlock_tools.core.model.results import Result
from overlock_tools.core.model.sweep import Sweep
from overlock_tools.core.model.workloads import Workload, number
from overlock_tools.core.render import tables
from overlock_tools.core.system import files, native
from overlock_tools.core.system.errors import Fail

STEPS = 9
AROUND = 16  # a sweep goes so many times below and above the default, unless told otherwise
PICTURES = (".png", ".svg")
# Tunables that operations of the platform layer read for the lock.
BEHIND = {"ol_wait_slot": "wait_slots", "ol_park": "shared"}


def run(name: str, asked: Asked) -> int:
    tunable = defs.load().tunable(name)
    plan = Sweep(tunable, values(tunable, asked), locks(tunable, asked))
    for picture in asked["pictures"]:
        if picture.suffix not in PICTURES:
            raise Fail(f"-o {picture}: expected a name that ends in {' or '.join(PICTURES)}")
        files.check_writable(picture)
    options = {**asked.options, "locks": plan.variants, "baseline": plan.default(plan.variants[0])}
    known = subjects.subjects().workloads
    there = f"expected one of {', '.join(known)}"
    workload = defs.known(known, asked["workload"], "workload", there)
    given = parameters(workload, asked["parameters"])
    derived = Asked({**options, **given}, asked.given | set(given))

    def show(result: Result, console: Console) -> None:
        _show(plan, result, console)
        for picture in asked["pictures"] if result.cells else ():
            from overlock_tools.core.render import (  # slow to import, and they start threads
                plots,
                sweep_plot,
            )

            drawn = plots.picture(sweep_plot.figure(plan, result), picture.suffix[1:])
            files.write(picture, drawn)
            console.print(f"written: {picture}", highlight=False)

    return bench.single(workload, derived, show)


def parameters(workload: Workload, texts: tuple[str, ...]) -> dict[str, Any]:
    """`cs=300` as the option that the workload's own command has."""
    known = {parameter.name: parameter for parameter in workload.parameters}
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise Fail(f"--parameter {text}: expected NAME=VALUE, as in cs=300")
        where = f"expected one of {', '.join(known)}"
        parameter = defs.known(known, name, f"parameter of {workload.name}", where)
        found[parameter.key] = number(value)
    return found


# Which values


def values(tunable: Tunable, asked: Asked) -> list[str]:
    """Checked, in order, and the default always among them."""
    spaced = asked.given & {"low", "high", "steps"}
    if asked["values"]:
        if spaced:
            raise Fail("--values cannot be combined with --from, --to and --steps")
        found = {tunable.check(text.strip()) for text in asked["values"].split(",")}
    else:
        low, high = _ends(tunable, asked)
        found = {tunable.check(str(v)) for v in between(tunable, low, high, asked["steps"])}
        if not spaced and tunable.unit == "ns":
            found |= {str(tunable.least), "inf"}
    found.add(str(tunable.default))
    return sorted(found, key=_as_number)


def _as_number(text: str) -> float:
    return math.inf if text == "inf" else int(text)


def _ends(tunable: Tunable, asked: Asked) -> tuple[int, int]:
    usual = max(tunable.default, 1)
    lowest = tunable.least if tunable.unit == "power" else usual // AROUND
    ends = (max(tunable.least, lowest), min(tunable.most, usual * AROUND))
    texts = (asked["low"], asked["high"])
    low, high = (
        end if text is None else int(_finite(tunable, text))
        for end, text in zip(ends, texts, strict=True)
    )
    if low >= high:
        raise Fail(f"--from {low} --to {high}: --from must be less than --to")
    return low, high


def _finite(tunable: Tunable, text: str) -> str:
    if text == "inf":
        raise Fail("--from and --to must be finite; give inf in --values")
    return tunable.check(text)


def between(tunable: Tunable, low: int, high: int, steps: int) -> list[int]:
    """From one to the other by equal ratios; 0 is a step of its own, before the ratios start."""
    zero = low == 0
    if zero:
        steps -= 1
        low = max(1, round(high / 2 ** (steps - 1)))
    ratio = math.log2(high / low) / max(1, steps - 1)
    found = [low * 2 ** (ratio * i) for i in range(steps)]
    if tunable.unit == "power":
        return [2 ** round(math.log2(v)) for v in found]
    return [*([0] if zero else []), *map(round, found)]


# Of which locks


def locks(tunable: Tunable, asked: Asked) -> list[str]:
    """Those named, else all that read the tunable; a lock that does not would measure nothing."""
    readers = [lock for lock in defs.load().locks if tunable.name in read_by(_header(lock))]
    found = [] if asked["locks"] else readers
    for lock in asked.names if asked["locks"] else ():
        found += readers if lock == "all" else [defs.now_called(lock, defs.load().locks)]
    if not found:
        raise Fail(f"no lock reads {tunable.name}; vary it with `overlock run` instead")
    for lock in found:
        name = lock.partition("@")[0]
        if f"@{tunable.name}=" in lock:
            raise Fail(f"--lock {lock}: the sweep itself sets {tunable.name}; remove the setting")
        if not header_locks.is_header(name) and name not in readers:
            defs.load().lock(name)
            others = f"{', '.join(readers)} do" if readers else "only `overlock run` does"
            raise Fail(f"{name} does not read {tunable.name}; {others}")
    return list(dict.fromkeys(found))


def _header(lock: str) -> Path:
    return native.include() / f"overlock/lock/{lock}.h"


def read_by(header: Path) -> set[str]:
    """The tunables that a lock's header asks for, or what it includes does."""
    text = header.read_text()
    found = set(re.findall(r"\bol_tune\((\w+)\)", text))
    found |= {tunable for call, tunable in BEHIND.items() if f"{call}(" in text}
    for name in re.findall(r"^#include <(overlock/lock/[\w/]+\.h)>", text, re.MULTILINE):
        found |= read_by(native.include() / name)
    return found


# What was found


def _show(plan: Sweep, result: Result, console: Console) -> None:
    for threads in result.threads:
        if any(cell.threads == threads for cell in result.cells):
            console.print(tables.detail(result, threads, plan.default), "")
    for line in [*findings(plan, result), *campaign.remarks(result)]:
        console.print(line, highlight=False)
    for line in result.warnings:
        console.print(f"warning: {line}", style="yellow")


def findings(plan: Sweep, result: Result) -> Iterator[str]:
    """For each lock and number of threads: is there a better value than the default?"""
    for lock, variants in plan.series(result).items():
        for threads in result.threads:
            if sentence := _finding(plan, result, lock, variants, threads):
                yield sentence


def halves(rounds: list[float]) -> tuple[list[float], list[float]]:
    """Those that choose, and those that judge."""
    return rounds[::2], rounds[1::2]


def _finding(
    plan: Sweep, result: Result, lock: str, variants: list[str], threads: int
) -> str | None:
    """The best of many medians is too great: half of the rounds choose, the others judge."""
    default = plan.default(variants[0])
    pairs = {v: found[0] for v in variants if (found := result.paired(v, default, [threads]))}
    ratios = {
        v: [a / b for a, b in zip(*pair, strict=True) if b] for v, pair in pairs.items()
    }  # round by round: the machine's phases cancel
    chosen = {v: stats.median(halves(r)[0]) for v, r in ratios.items() if len(r) > 1}
    if not chosen:
        return None
    best = max(chosen, key=chosen.__getitem__)
    where = f"{lock} with {quantities.count(threads)}: "
    name, value = plan.tunable.name, plan.parted(best)[1]
    if best == default:
        return f"{where}no value of {name} is better than the default, {value}."
    ours, theirs = pairs[best]
    ratio = stats.ratio(halves(ours)[1], halves(theirs)[1])
    text, interval = quantities.ratio_text(ratio)
    if ratio.low is not None and ratio.low > 1:
        return f"{where}{name}={value} is best: {text} the default ({interval})."
    how_sure = f" ({interval})" if interval else f", {TOO_FEW}"
    return (
        f"{where}no value of {name} is proven to be better than the default; {value} had the "
        f"highest rate: {text} the default{how_sure}."
    )
