# SPDX-License-Identifier: MIT
"""Comparisons in the terminal and as JSON: of two runs, or of contenders of one."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from overlock_tools.core.analyze import comparison, ministat
from overlock_tools.core.analyze.comparison import NO_DIFFERENCE, Comparison, Pair
from overlock_tools.core.analyze.wording import times
from overlock_tools.core.model import quantities, results, stats
from overlock_tools.core.model.results import Result
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import FAILED, Fail
from overlock_tools.core.system.terminal import console as terminal


def run(inputs: Sequence[Path], options: dict[str, Any]) -> int:
    if options["json_file"]:
        files.check_writable(options["json_file"])
    read = [results.from_file(path) for path in inputs]
    if empty := [str(path) for path, result in zip(inputs, read, strict=True) if not result.cells]:
        raise Fail(f"{empty[0]} has no complete cell; measure longer")
    match read, options["variants"]:
        case [before, after], None:
            return _runs(before, after, options)
        case [result], str() as variants:
            return _contenders(result, variants, options)
    raise Fail("compare takes two files, or one file with --variants X,Y")


def _written(path: Path | None, body: dict[str, Any], console: Console) -> None:
    if path:
        files.write(path, json.dumps(body, indent=1) + "\n")
        console.print(f"written: {path}")


# Two files


def _runs(before: Result, after: Result, options: dict[str, Any]) -> int:
    console = terminal()
    found = comparison.compare(
        before, after, options["control"], float(options["confidence"]) / 100
    )
    _show_drift(found, console)
    for point in dict.fromkeys(change.threads for change in found.changes):
        _show_changes(found, point, console)
    for note in found.notes:
        console.print(f"note: {note}", style="yellow")
    _written(options["json_file"], found.to_json(), console)
    return _regressions(found, options["regression"], console)


def _show_drift(found: Comparison, console: Console) -> None:
    console.print(
        f"The control is {found.control}: each lock's rate is divided by its rate in the same "
        "round.\nThe control's own rates show changes of the machine:"
    )
    table = _table("threads", "before", "after", "after ÷ before")
    for drift in found.drifts:
        rates = [f"{quantities.si(rate)}/s" for rate in (drift.before, drift.after)]
        moved = f"{quantities.factor(drift.after / drift.before)}×" if drift.before else ""
        table.add_row(str(drift.threads), *rates, moved)
    console.print(table, "")


def _table(first: str, *headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _show_changes(found: Comparison, point: tuple[int, ...], console: Console) -> None:
    title = quantities.count(point[0])
    if len(point) > 1:
        title = f"geometric mean over {', '.join(map(str, point))} threads"
    console.print(Text(f"{title}, ÷ {found.control}", style="bold"))
    table = _table("lock", "before", "after", "change", f"{100 * found.confidence:g} %")
    table.add_column("", no_wrap=True)
    for change in found.changes:
        if change.threads == point:
            ratios = (
                f"{quantities.factor(ratio.value)}×" for ratio in (change.before, change.after)
            )
            words = ("peer: " if change.peer else "") + _shown(change.words)
            table.add_row(change.variant, *ratios, *quantities.ratio_text(change.change), words)
    console.print(table, "")


def _shown(words: str) -> str:
    """For the terminal; the file keeps `no difference proven`."""
    return "no significant difference" if words == NO_DIFFERENCE else words


def _regressions(found: Comparison, percent: float | None, console: Console) -> int:
    if percent is None:
        return 0
    slower = [c for c in found.changes if not c.peer and c.slower_by(percent)]
    for change in slower:
        where = ", ".join(map(str, change.threads))
        console.print(
            f"regression: {change.variant} at {where} threads is significantly slower, "
            f"by more than {percent:g} %: {times(change.change)}"
        )
    if not slower:
        console.print(f"No lock is significantly slower by more than {percent:g} %.")
    return FAILED if slower else 0


# One file


def _contenders(result: Result, text: str, options: dict[str, Any]) -> int:
    if options["control"] or options["regression"] is not None:
        raise Fail("--control and --fail-on-regression are for two files")
    variants = _named(result, text)
    confidence = float(options["confidence"]) / 100
    console = terminal()
    found: list[Pair] = []
    for n in result.threads:
        rates = comparison.common_rates(result, variants, n)
        rounds = len(next(iter(rates.values()), []))
        console.print(Text(f"{quantities.count(n)}, {result.unit} per second", style="bold"))
        if rounds < ministat.LEAST_VALUES:
            need = ministat.LEAST_VALUES
            console.print(f"{rounds} rounds have all contenders; a comparison needs {need}", "")
            continue
        console.print(ministat.text(rates, 100 * confidence), end="", markup=False)
        for pair in comparison.pairs(rates, n, confidence):
            console.print(f"Round by round {pair.second} ÷ {pair.first}: {_verdict(pair)}")
            found.append(pair)
        console.print("")
    if not found:
        raise Fail(f"nothing to compare: {', '.join(variants)} have too few rounds in common")
    body = {
        "format": "overlock-contenders",
        "version": 1,
        "unit": result.unit,
        "pairs": [asdict(pair) for pair in found],
    }
    _written(options["json_file"], body, console)
    return 0


def _named(result: Result, text: str) -> list[str]:
    words = filter(None, (word.strip() for word in text.split(",")))
    variants = list(dict.fromkeys(result.variant_called(word) for word in words))
    for variant in variants:
        if variant not in result.variants:
            raise Fail(
                f"--variants: {variant} is not in the file; choose from "
                f"{', '.join(result.variants)}"
            )
    if len(variants) < 2:
        raise Fail("--variants takes two contenders or more, as in ticket,pthread_mutex")
    return variants


def _verdict(pair: Pair) -> str:
    ratio, percent = pair.ratio, f"{100 * pair.confidence:g} %"
    if ratio.low is None:
        needed = stats.least_rounds(pair.confidence)
        return f"{times(ratio)}; an interval at {percent} needs {needed} rounds"
    differs = ratio.above_one or ratio.below_one
    proven = "a significant difference" if differs else "no significant difference"
    return f"{times(ratio)} at {percent}: {proven}"
