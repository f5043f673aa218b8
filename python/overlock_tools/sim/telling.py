# SPDX-License-Identifier: MIT
"""One traced run: its timeline, its picture, and the explanation of its worst wait."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from overlock_tools.core.system import files, native
from overlock_tools.core.system.errors import Fail
from overlock_tools.sim import explain, resolve, runner, timeline, trace
from overlock_tools.sim.resolve import Place, Run
from overlock_tools.sim.trace import Trace

MS = 10**9  # in ps
MOST_EVENTS = 1_000_000


def wanted(options: Mapping[str, Any]) -> bool:
    return bool(options["explain"] or options["timeline"] or options["svg"])


def run(places: Sequence[Place], options: Mapping[str, Any], out: Console) -> int:
    for path in filter(None, (options["timeline"], options["svg"])):
        files.check_writable(path)
    one = _only(places)
    window = _window(options["window"])
    traced = trace.of(_simulated(one, window, options["limit"]))
    if traced.full:
        out.print(
            f"traced until {explain.moment(traced.end)}, {MOST_EVENTS:,} events; "
            "trace a part by --window"
        )
    _write(traced, one, options, out)
    if options["explain"]:
        at = options["at"]
        told = explain.explain(traced, options["explain"], None if at is None else round(at * MS))
        print(told, end="", flush=True)
    return 0


def _write(traced: Trace, run: Run, options: Mapping[str, Any], out: Console) -> None:
    if path := options["timeline"]:
        timeline.write_perfetto(traced, path)
        out.print(f"written: {path}; open it in ui.perfetto.dev")
    if path := options["svg"]:
        from overlock_tools.sim import svg  # slow to import, with a cache of fonts

        svg.write_svg(traced, path, title=run.variant)
        out.print(f"written: {path}")


def _only(places: Sequence[Place]) -> Run:
    runs = [run for place in places for run in resolve.runs(place)]
    if len(runs) != 1:
        raise Fail(
            f"the scenario has {len(runs)} runs, and a trace is of one; "
            "name one lock by --lock, one seed by --seeds 1, and no sweep"
        )
    return runs[0]


def _window(text: str | None) -> tuple[float, float] | None:
    if not text:
        return None
    try:
        start, end = map(float, text.split("-"))
    except ValueError:
        start = end = 0.0
    if not 0 <= start < end:
        raise Fail(f"--window {text}: expected FROM-UNTIL in ms, as in 10-30")
    return start, end


def _simulated(run: Run, window: tuple[float, float] | None, limit: float) -> dict[str, Any]:
    asked: dict[str, Any] = {"most_events": MOST_EVENTS}
    if window:
        asked |= {"from_us": window[0] * 1000, "until_us": window[1] * 1000}
    told = json.dumps({**json.loads(run.told), "trace": asked})
    program = runner.digest(native.simulator())
    answer = runner.simulate(told, program, "trace", limit)
    if "error" in answer:
        raise Fail(answer["error"])
    return answer
