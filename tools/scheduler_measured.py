# SPDX-License-Identifier: MIT
"""The table of docs/scheduler.md, from docs/measured/scheduler.json.

The file has the cells of some boots of `overlock guest sched --json`. Rates of different boots are
not compared, so each lock with its threads is a row, and all of a row is of one boot.
"""

import json
from pathlib import Path
from typing import Any

from lock_pages import table

MEASURED = Path(__file__).resolve().parent.parent / "docs/measured/scheduler.json"
# The columns, by what the guest was scheduled by.
UNDER = {
    "kernel": "EEVDF",
    "sched --no-publish": "a",
    "sched --no-lead": "a, b, c",
    "sched --no-defer": "a, b, d",
    "sched": "a to d",
}


def _cell(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    rate, wait = cell["rates"][0], cell["p99_us"][0]
    shown = f"{rate / 1000:,.0f} k" if rate >= 10_000 else f"{rate:,.0f}"
    long = f"{wait / 1000:.0f} ms" if wait >= 1000 else f"{wait:.0f} µs"
    return f"{shown} / {long} / {cell['jain'][0]:.2f}"


def scheduler_table() -> str:
    """Acquisitions per second / p99 wait / Jain."""
    rows = []
    for boot in json.loads(MEASURED.read_text())["boots"]:
        by = {(c["lock"], c["threads"], c["under"]): c for c in boot["cells"]}
        for lock, threads in dict.fromkeys((c["lock"], c["threads"]) for c in boot["cells"]):
            cells = [_cell(by.get((lock, threads, under))) for under in UNDER]
            rows.append([f"`{lock}`", str(threads), *cells])
    rows.sort(key=lambda row: int(row[1]))
    return table(["lock", "threads", *UNDER.values()], rows)
