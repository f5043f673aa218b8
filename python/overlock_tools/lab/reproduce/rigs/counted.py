# SPDX-License-Identifier: MIT
"""What `overlock guest sched --json` leaves, as cells: those of one scheduler."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools.core.model.measures import Cell
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail

EVENTS = {"acquired": "ACQUIRE", "lhp": "LHP", "lwp": "LWP"}


@dataclass(frozen=True)
class Boot:
    """As much of a result as rows ask for."""

    cells: list[Cell]
    native: Mapping[str, Any] = field(default_factory=dict)

    @property
    def threads(self) -> set[int]:
        return {cell.threads for cell in self.cells}

    def of(self, lock: str, threads: int) -> list[Cell]:
        return [one for one in self.cells if (one.variant, one.threads) == (lock, threads)]


def from_file(path: Path) -> Boot:
    try:
        body = json.loads(files.read_text(path))
        cells = [cell for raw in body["cells"] for cell in _rounds(raw)]
        return Boot(cells, {"slices_by": _under(body)})
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise Fail(f"{path} is not a result of overlock guest sched ({error})") from error


def _under(body: Mapping[str, Any]) -> str:
    """Which ends of slices programs were told, and whether these were kept."""
    told = [one for each in body["schedulers"].values() for one in each]
    ended, within = (sum(one[key] for one in told) for key in ("taken", "within"))
    if not ended:
        return ""
    return f"overlock sched: {100 * within / ended:.0f} % of {ended:,} ended as told"


def _rounds(raw: Mapping[str, Any]) -> Iterator[Cell]:
    for i, (work, seconds) in enumerate(zip(raw["work"], raw["seconds"], strict=True)):
        cell = Cell(i + 1, raw["lock"], raw["threads"], raw["rates"][i] * seconds, seconds, 0.0)
        cell.per_thread = work
        cell.events = {event: raw[key][i] for key, event in EVENTS.items() if raw[key]}
        yield cell
