# SPDX-License-Identifier: MIT
"""`overlock sim validate`: the points of validation.toml, on this machine and in the simulator."""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from overlock_tools.bench.campaign import make
from overlock_tools.bench.conditions.base import deferred
from overlock_tools.core.model import results
from overlock_tools.core.model.quantities import plain
from overlock_tools.core.model.results import Result
from overlock_tools.core.system import files, machine
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, Fail
from overlock_tools.core.system.terminal import console
from overlock_tools.sim import (
    bundle,
    calibrate,
    campaign,
    lists,
    machines,
    native_points,
    schema,
)
from overlock_tools.sim.batch import Answer, Batch, Shown
from overlock_tools.sim.bundle import FORMAT, Native, Rates
from overlock_tools.sim.cache import Cache
from overlock_tools.sim.machines import Machine
from overlock_tools.sim.native_points import Compared, Kind, Plan, Point, Score, Series

SCHEDULERS = {"CFS": "fair", "EEVDF": "eevdf"}  # by what the kernel's is called
Bench = Callable[[list[str]], int]  # `overlock`, with these arguments


@dataclass
class Simulated:
    """Rates of the seeds, and of costs drawn from the calibration's ranges."""

    by_seed: Rates = field(default_factory=dict)
    by_calibration: Rates = field(default_factory=dict)


@dataclass(frozen=True)
class One:
    """A run."""

    point: Point
    seed: int
    machine: Machine
    drawn: bool


def run(options: Mapping[str, Any], bench: Bench) -> int:
    out, output = console(), options["output"]
    for path in filter(None, (output,)):
        files.check_writable(path)
    asked = native_points.plan()
    sections = options["cs_ns"], options["ncs_ns"]
    native = bundle.read(options["native"], asked, sections) if options["native"] else None
    like = _machine(options, native)
    scheduler = _scheduler(options, native)
    with _folder(options) as folder:
        native = native or _measured(asked, folder, options, bench)
        if not native:
            out.print(f"interrupted{_hint(options)}", soft_wrap=True)
            return INTERRUPTED
        asked = replace(asked, series=list(native.series))
        wanted = list(_wanted(asked, native, like))
        simulated = Simulated()
        batch = _batch(asked, wanted, scheduler, Cache(folder), simulated)
        with deferred() as asked_to_end:
            title = f"{batch.total} runs of {asked.simulated['seconds']:g} s on {like.title}"
            out.print(title, soft_wrap=True)
            batch.simulate(options, Shown(out, False, lambda: title), asked_to_end)
            whole = {n: r for n, r in simulated.by_seed.items() if len(r) == _seeds(asked)}
            compared = native_points.compare(asked, native.rates, whole, simulated.by_calibration)
            if output:
                files.write(output, document(asked, native, (like, scheduler), compared))
            _show(asked, like, compared, out)
            if output:
                out.print(f"written: {output}", soft_wrap=True)
            if asked_to_end():
                out.print(batch.interrupted(), soft_wrap=True)
                return INTERRUPTED
            return 0 if _passes(asked, compared) else FAILED


def _hint(options: Mapping[str, Any]) -> str:
    if options["output"] or options["cache"]:
        return "; repeat the command to continue"
    return "; give -o FILE or --cache FOLDER to keep what is measured next time"


@contextmanager
def _folder(options: Mapping[str, Any]) -> Iterator[Path]:
    """Of measurements and runs: kept if the user has named a place."""
    if kept := campaign.kept_in(options):
        make(kept)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="overlock-") as folder:
        yield Path(folder)


# Measured


def _measured(asked: Plan, folder: Path, options: Mapping[str, Any], bench: Bench) -> Native | None:
    """None: interrupted."""
    found: list[Result] = []
    for series in asked.series:
        file = folder / f"{series.name}.json"
        known = file.exists() and results.from_file(file).complete
        if not known and not _measure(series, asked.native, file, options, bench):
            return None
        found.append(results.from_file(file))
    rates = {
        point.name: result.rates(point.lock, point.threads)
        for series, result in zip(asked.series, found, strict=True)
        for point in native_points.points(asked)
        if point.series == series
    }
    how = {**asked.native, "date": found[0].settings["date"]}
    return Native(rates, asked.series, found[0].machine, how)


def _measure(
    series: Series, how: Mapping[str, Any], file: Path, options: Mapping[str, Any], bench: Bench
) -> bool:
    words = [
        *("bench", "sections", "--locks", ",".join(series.locks)),
        *("--threads", ",".join(map(str, series.threads))),
        *("--cs-ns", f"{series.cs_ns:g}", "--ncs-ns", f"{series.ncs_ns:g}"),
        *("--rounds", str(how["rounds"]), "--seconds", f"{how['seconds']:g}"),
        *("--no-pilot", "--no-latency", "--if-busy", options["if_busy"], "--json", str(file)),
    ]
    if series.quota_cpus:
        words += ["--quota", f"{series.quota_cpus:g}"]
    if series.copies > 1:
        words += ["--neighbours", str(series.copies)]
    if series.lock_count > 1:
        words += ["--lock-count", str(series.lock_count)]
    if file.exists():
        words.append("--resume")
    try:
        code = bench(words)
    except KeyboardInterrupt:
        return False
    if code == FAILED:
        raise Fail(f"the series {series.name} could not be measured", FAILED)
    return code == 0


# Simulated


def _machine(options: Mapping[str, Any], native: Native | None) -> Machine:
    if options["machine"]:
        return machines.from_file(options["machine"])
    if not native:
        return calibrate.here(calibrate.measured(options["runs"]))
    if not native.machine:
        raise Fail(
            f"{options['native']} does not say what operations cost there; name a machine by "
            "--machine FILE, which `overlock sim calibrate -o FILE` writes there"
        )
    return native.machine


def _scheduler(options: Mapping[str, Any], native: Native | None) -> str:
    if (name := options["scheduler"]) is not None:
        known = list(lists.load().hosts)
        if name not in known:
            raise Fail(f"--scheduler {name} is unknown{schema.suggestion(name, known)}")
        return str(name)
    own = (native.facts if native else machine.facts()).get("scheduler")
    if own is None:
        raise Fail(f"{options['native']} does not name its scheduler; name one by --scheduler")
    if own not in SCHEDULERS:
        raise Fail(f"the simulator has no scheduler like {own}; name one by --scheduler")
    return SCHEDULERS[own]


def _wanted(asked: Plan, native: Native, like: Machine) -> Iterator[One]:
    """What no verdict needs comes last: whoever interrupts has the verdicts."""
    points = [point for point in native_points.points(asked) if native.rates.get(point.name)]
    for point in points:
        for seed in range(1, _seeds(asked) + 1):
            yield One(point, seed, like, False)
    if not like.has_ranges:
        return
    for seed in range(1, asked.simulated["calibrations"] + 1):
        other = like.drawn(seed)
        for point in points:
            yield One(point, seed, other, True)


def _batch(
    asked: Plan, wanted: Sequence[One], scheduler: str, cache: Cache, found: Simulated
) -> Batch:
    def add(place: int, answer: Answer) -> None:
        one = wanted[place]
        if why := answer.get("error") or answer.get("failure"):
            raise Fail(f"{one.point.name}, seed {one.seed}: {why}", FAILED)
        rates = found.by_calibration if one.drawn else found.by_seed
        rates.setdefault(one.point.name, []).append(rate(answer))

    texts = [
        json.dumps(
            told(one.point, (one.machine, scheduler), asked.simulated, one.seed), sort_keys=True
        )
        for one in wanted
    ]
    return Batch(texts, cache, add)


def _seeds(asked: Plan) -> int:
    return int(asked.simulated["seeds"])


def told(
    point: Point, on: tuple[Machine, str], how: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """As overlock-sim takes it."""
    series, (like, scheduler) = point.series, on
    guest: dict[str, Any] = {
        "contexts": point.threads,
        "lock": point.lock,
        "parameters": {
            "sections_cs": series.cs_ns,
            "sections_ncs": series.ncs_ns,
            "sections_locks": series.lock_count,
        },
    }
    if series.quota_cpus:
        guest |= {"quota_us": series.quota_cpus * 100_000, "period_us": 100_000}
    return {
        "machine": like.told(),
        "host": {"scheduler": scheduler},
        "guests": [guest] * series.copies,
        "seed": seed,
        "warm_up_us": how["warm_up"] * 1e6,
        "time_us": how["seconds"] * 1e6,
    }


def rate(answer: Mapping[str, Any]) -> float:
    turns = sum(context["turns"] for guest in answer["guests"] for context in guest["contexts"])
    return float(turns / answer["time_ns"] * 1e9)


# Kept


def document(
    asked: Plan, native: Native, on: tuple[Machine, str], compared: Sequence[Compared]
) -> str:
    """A line for each point, so that versions can be compared. Points without a verdict, too."""
    like, scheduler = on
    verdicts = {one.point.name: _verdict(one) for one in compared}
    points = [
        {"point": name, "native": [round(r) for r in rates], **verdicts.get(name, {})}
        for name, rates in native.rates.items()
    ]
    head = {
        "format": FORMAT,
        "command": "overlock sim validate",
        "machine": {name: of for name, of in native.facts.items() if name != "loadavg"},
        "measured": native.how,
        "scheduler": scheduler,
        "judged": asdict(asked.judged),
        "series": [asdict(one) for one in asked.series],
        "scores": {name: asdict(score) for name, score in _scored(compared).items()},
        "wrong_orders": [
            {"faster": pair.faster.point.name, "slower": pair.slower.point.name}
            for pair in native_points.orders(compared)
            if not pair.right
        ],
    }
    lines = [f" {json.dumps(name)}: {json.dumps(of)}," for name, of in head.items()]
    table = asdict(like)
    table["costs"] = {n: {k: v for k, v in of.items() if v} for n, of in table["costs"].items()}
    costs = [f"   {json.dumps(n)}: {json.dumps(of)}" for n, of in table.pop("costs").items()]
    lines.append(f' "simulated": {json.dumps(table)[:-1]}, "costs": {{')
    lines.append(",\n".join(costs) + "\n }},")
    lines.append(' "points": [')
    lines.append(",\n".join(f"  {json.dumps(point)}" for point in points))
    return "\n".join(["{", *lines, " ]", "}", ""])


def _verdict(one: Compared) -> dict[str, Any]:
    return {
        "simulated": [round(rate) for rate in one.simulated],
        "by_calibration": [round(rate) for rate in one.by_calibration],
        "kind": one.kind,
        "right": one.right,
        "held_out": one.held_out,
    }


# Shown


PARTS = {"calibration": False, "held out": True}


def _scored(compared: Sequence[Compared]) -> dict[str, Score]:
    return {name: native_points.score(compared, held_out) for name, held_out in PARTS.items()}


def _show(asked: Plan, like: Machine, compared: Sequence[Compared], out: Console) -> None:
    out.print(_table(compared))
    out.print(_scores(asked, compared))
    for pair in native_points.orders(compared):
        if not pair.right:
            names = f"{pair.faster.point.name} is faster than {pair.slower.point.name}"
            out.print(f"wrong order: natively {names}", soft_wrap=True)
    if not like.has_ranges:
        out.print(
            f"{like.title} has no ranges of its costs: the simulated ranges are of seeds only, "
            "and not of the calibration's error",
            soft_wrap=True,
        )


def _passes(asked: Plan, compared: Sequence[Compared]) -> bool:
    return all(score.passes(asked.judged) for score in _scored(compared).values())


HEADINGS = ("point", "native", "range", "simulated", "range", "÷ native", "verdict", "")


def _table(compared: Sequence[Compared]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in HEADINGS:
        left = heading in ("point", "verdict", "")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for one in compared:
        table.add_row(
            one.point.name,
            plain(median(one.native)),
            _range(min(one.native), max(one.native)),
            plain(median(one.simulated)),
            _range(*one.bar),
            f"{one.factor:.2f}",
            _word(one),
            "held out" if one.held_out else "",
        )
    return table


def _range(least: float, most: float) -> str:
    return f"{plain(least)} – {plain(most)}"


WORDS = {
    Kind.STEADY: "right",
    Kind.COLLAPSED: "both collapsed",
    Kind.UNSTEADY: "in the range of unsteady rounds",
}


def _word(one: Compared) -> str:
    return WORDS[one.kind] if one.right else "WRONG"


def _scores(asked: Plan, compared: Sequence[Compared]) -> Table:
    judged = asked.judged
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in (
        "points",
        f"steady: within {judged.within:g}×",
        "both collapsed",
        "unsteady (not counted)",
        "orders right",
        f"wanted: {judged.right:.0%} of each",
    ):
        table.add_column(heading)
    for name, score in _scored(compared).items():
        table.add_row(
            name,
            *(_of(score.points[kind]) for kind in Kind),
            _of(score.orders),
            "reached" if score.passes(judged) else "missed",
        )
    return table


def _of(counted: tuple[int, int]) -> str:
    number, right = counted
    return f"{right} of {number}"
