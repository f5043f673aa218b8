# SPDX-License-Identifier: MIT
"""`overlock sim grid`: all locks in every combination of a scenario's axes."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from overlock_tools.bench.conditions.base import deferred
from overlock_tools.core.model import stats
from overlock_tools.core.model.quantities import duration, factor
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, Fail
from overlock_tools.core.system.terminal import console
from overlock_tools.sim import grid, native_points, resolve, scenario
from overlock_tools.sim.batch import Answer, Batch, Shown
from overlock_tools.sim.cache import Cache
from overlock_tools.sim.campaign import kept_in
from overlock_tools.sim.grid import LIKE_BEST, Grid, Regret
from overlock_tools.sim.resolve import Place
from overlock_tools.sim.scenario import NONE, Scenario

READY = "which-lock"  # the scenario
NATIVE = "eevdf"  # the scheduler of the kernels on which points are validated


def reduced(told: str, answer: Answer) -> Answer:
    """What is kept of a run: tens of thousands of whole answers would be gigabytes."""
    if "error" in answer:
        return answer
    asked = json.loads(told)["guests"]
    guests = [g for g, of in zip(answer["guests"], asked, strict=True) if of["lock"] != NONE]
    turns = [context["turns"] for guest in guests for context in guest["contexts"]]
    return {
        "failure": answer["failure"],
        "rate": sum(turns) / answer["time_ns"] * 1e9,
        "jain": stats.jain(turns) if any(turns) else 0.0,
        "longest_us": max(guest["waits"]["longest_ns"] for guest in guests) / 1000,
    }


def run(options: Mapping[str, Any]) -> int:
    out = console()
    if options["read"]:
        return _tell(grid.read(options["read"]), options)
    asked = _asked(options)
    places = resolve.places(asked)
    locks = places[0].variants
    answers: dict[int, Answer] = {}
    failures: list[str] = []

    def add(number: int, answer: Answer) -> None:
        answers[number] = answer
        if why := answer.get("error") or answer.get("failure"):
            place, lock = places[number // len(locks)], locks[number % len(locks)]
            failures.append(f"{lock}, {place.point}: {why}")

    told = [run.told for place in places for run in resolve.runs(place)]
    batch = Batch(told, Cache(kept_in(options)), add, reduced)
    if not options["quiet"]:
        out.print(f"{len(places):,} scenarios, {len(locks)} locks", soft_wrap=True)
    shown = Shown(out, options["quiet"], lambda: Text(asked.title, style="bold"))
    with deferred() as asked_to_end:
        batch.simulate(options, shown, asked_to_end)
        if asked_to_end():
            out.print(batch.interrupted(), soft_wrap=True)
            return INTERRUPTED
    found = _grid(asked, places, [answers[number] for number in range(len(told))])
    if options["output"]:
        files.write(options["output"], grid.document(found))
    code = _tell(found, options)
    for failure in failures:
        out.print(f"failed: {failure}", soft_wrap=True)
    return FAILED if failures else code


def _asked(options: Mapping[str, Any]) -> Scenario:
    changes = []
    if options["locks"]:
        names = [name for text in options["locks"] for name in text.split(",") if name]
        changes.append(("locks", names, f"--locks {','.join(options['locks'])}"))
    asked = scenario.load(options["scenario"], changes)
    if not asked.axes:
        raise Fail(f"{asked.file}: it has no axes; add tables such as [axes.CPUs]")
    for path, name in (("sweep", "sweep"), ("seeds", "seeds")):
        if path in asked.values:
            asked.refuse((path,), f"a grid has axes and one seed; remove {name}")
    return asked


def _grid(asked: Scenario, places: Sequence[Place], answers: Sequence[Answer]) -> Grid:
    locks = places[0].variants

    def matrix(name: str) -> NDArray[np.float64]:
        values = [math.nan if one.get("failure") else one.get(name, math.nan) for one in answers]
        return np.array(values, dtype=float).reshape(len(places), len(locks))

    axes = {name: list(axis) for name, axis in asked.axes.items()}
    command = f"overlock sim grid {asked.name}".removesuffix(f" {READY}")
    return Grid(
        asked.title,
        command,
        axes,
        locks,
        matrix("rate"),
        matrix("jain"),
        matrix("longest_us"),
        dict(_validated(places)),
    )


def _validated(places: Sequence[Place]) -> Iterator[tuple[str, int]]:
    """Scenarios that validation.toml has, too: those can be measured on a machine of two CPUs."""
    known = {json.dumps(_essence(place), sort_keys=True): i for i, place in enumerate(places)}
    for series in native_points.plan().series:
        for threads in series.threads:
            quota = series.quota_cpus and series.quota_cpus * resolve.PERIOD_MS * 1000
            wanted = (NATIVE, 2, 1, "threads", threads, series.cs_ns, series.ncs_ns, quota or "inf")
            row = known.get(json.dumps(wanted))
            if row is not None and series.copies == 1:
                yield f"{series.name}/{threads}", row


def _essence(place: Place) -> tuple[Any, ...]:
    told = resolve.told(place, place.variants[0], 1)
    first, parameters = told["guests"][0], told["guests"][0]["parameters"]
    return (
        told["host"]["scheduler"],
        told["machine"]["cpus"],
        len(told["guests"]),
        first["kind"],
        first["contexts"],
        parameters.get("sections_cs"),
        parameters.get("sections_ncs"),
        first["quota_us"],
    )


# Told


def _tell(found: Grid, options: Mapping[str, Any]) -> int:
    out = console()
    if not options["quiet"]:
        out.print(_table(found))
        parts = [f"{lock} {found.best.count(lock) / len(found.best):.0%}" for lock in found.named]
        other = found.best.count(None)
        parts += [f"others {other / len(found.best):.0%}"] if other else []
        out.print(f"as good as the best, first named first: {', '.join(parts)}", soft_wrap=True)
    if options["svg"]:
        from overlock_tools.sim import grid_map

        grid_map.write(found, options["svg"], options["of"])
    for path in filter(None, (options["output"], options["svg"])):
        out.print(f"written: {path}", soft_wrap=True)
    return 0


def _table(found: Grid) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("lock", "worst in") else "right")
    for one in grid.regrets(found):
        table.add_row(*cells(one))
    return table


HEADINGS = (
    "lock",
    f"≥ {LIKE_BEST:.0%} of the best",
    "collapsed",
    "best ÷ it",
    "in 9 of 10 ≤",
    "worst",
    "Jain",
    "longest wait, 9 of 10 ≤",
    "worst in",
)


def cells(one: Regret) -> list[str]:
    return [
        one.lock,
        f"{one.like_best:.0%}",
        f"{one.collapsed:.0%}",
        times(one.median),
        times(one.most_of_ten),
        times(one.worst),
        f"{one.jain:.2f}",
        duration(one.longest_us * 1000).strip(),
        ", ".join(one.where),
    ]


def times(value: float) -> str:
    return factor(value) if value < 999.5 else "∞" if math.isinf(value) else f"{value:,.0f}"
