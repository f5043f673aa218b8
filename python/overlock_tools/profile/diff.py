# SPDX-License-Identifier: MIT
"""Two reports of `--json` beside each other: `overlock profile diff BEFORE AFTER`.

How much work was done is unknown, so what is compared is the share of the time in which threads had
work.
"""

import json
from pathlib import Path
from typing import Any

from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.text import printable
from overlock_tools.profile import advice, causes, show
from overlock_tools.profile.report import FORMAT

Report = dict[str, Any]

ROWS = 8


def read(path: Path) -> Report:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Fail(
            f"{path} cannot be read: {error}; give a file of `overlock profile --json`"
        ) from error
    if not is_report(found):
        raise Fail(f"{path} is no report of `overlock profile --json`")
    return dict(found)


def is_report(found: object) -> bool:
    return isinstance(found, dict) and found.get("format") == FORMAT


def _shares(report: Report) -> dict[str, tuple[float, str]]:
    """By lock: its share of the active time, and the main cause."""
    whole = report["wanted_ns"] or 1
    return {
        show.lock_name(lock): (advice.lost(lock) / whole, advice.main_cause(lock)[0])
        for lock in report["locks"]
        if advice.counts(lock)
    }


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{part:.1%}".replace("%", " %")


def _column(cause: str) -> str:
    one = causes.BY_NAME.get(cause)
    return (
        f"holder {one.column}" if one and cause.startswith("holder") else one.column if one else ""
    )


def text(before: Report, after: Report) -> str:
    lost = [report["lost_ns"] / (report["wanted_ns"] or 1) for report in (before, after)]
    first, second = _shares(before), _shares(after)
    names = sorted(
        {*first, *second},
        key=lambda name: -max(first.get(name, (0, ""))[0], second.get(name, (0, ""))[0]),
    )
    lines = [
        f"Share of the active time spent waiting for locks: {_percent(lost[0])} before, "
        f"{_percent(lost[1])} after.",
        f"{'before':>9} {'after':>9}  lock, and what its waits were mostly due to",
    ]
    for name in names[:ROWS]:
        was, now = first.get(name), second.get(name)
        causes_of = dict.fromkeys(_column(one[1]) for one in (was, now) if one)
        lines.append(
            f"{_percent(was and was[0]):>9} {_percent(now and now[0]):>9}  {printable(name)}, "
            f"{' then '.join(causes_of)}"
        )
    for when, report in (("before", before), ("after", after)):
        if doubts := report.get("doubts"):
            lines.append(f"Not judged, {when}: {printable('; '.join(doubts))}.")
    return "\n".join(lines) + "\n"
