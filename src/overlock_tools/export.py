# SPDX-License-Identifier: MIT
"""Results for other programs: one line for each cell, as CSV."""

import csv
import io
from collections.abc import Sequence

from overlock_tools.results import MEASURES, Result, value_of

FACTS = ("workload", "lock", "threads", "round", "work", "seconds", "cut", "collapsed", "wrong")


def cells(results: Sequence[Result]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*FACTS, *(_heading(m.name, m.unit) for m in MEASURES)])
    for result in results:
        for cell in result.cells:
            given_up = result.given_up(cell.variant, cell.threads) is not None
            facts = [result.kind, cell.variant, cell.threads, cell.round, cell.work, cell.seconds]
            values = [value_of(measure.name, cell) for measure in MEASURES]
            writer.writerow([*facts, cell.cut, given_up, cell.wrong, *values])
    return out.getvalue()


def _heading(name: str, unit: str) -> str:
    return name + {"": "", "/s": "_per_second"}.get(unit, f"_{unit}")
