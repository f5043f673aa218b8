# SPDX-License-Identifier: MIT
"""What a guest sends over its channel: the load's name in the first line, then what it printed."""

from dataclasses import dataclass
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from overlock_tools.core.model import combine, histograms
    from overlock_tools.core.trace import fidelity, plan
    from overlock_tools.guest import loads, slices
    from overlock_tools.guest.replaying import Replay
    from tests.core.trace.made_up import made_up
    from tests.fuzz.hostile import decoded, fuzz, is_plain

TRACE = made_up([[(0, 0, 5), (2, 0, 5), (0, 1, 5), (2, 1, 5)]] * 2)
PLAN = plan.awake_inside(plan.of(TRACE))
REPLAY = Replay(Path("t.trace"), PLAN, fidelity.recorded(TRACE, PLAN))
LOADS = {**loads.LOADS, REPLAY.name: REPLAY}


@dataclass
class Used:
    cpu_seconds: float = 1.0
    voluntary: int = 1
    involuntary: int = 1
    stolen_seconds: float | None = None


def take(data: bytes) -> None:
    name, *lines = decoded(data).split("\n")
    load = LOADS.get(name, LOADS["loop"])
    load.line(1.0, 1, load.presets)
    slices.looked(lines)
    try:
        answer = loads.answered(load, lines)
    except loads.Wrong:
        return
    assert is_plain(answer.wrong), "the terminal is told to do something"
    all_of_them = combine.together([answer, answer], Used(), 2)
    for name in ("latency", "handover", "hold"):
        histograms.packed(all_of_them[name]["ns"], all_of_them[name]["weight"])


if __name__ == "__main__":
    fuzz(take)
