# SPDX-License-Identifier: MIT
"""`overlock sim random`: drawn loads on simulated machines, and a verdict on all of them."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.text import Text

from overlock_tools.bench.conditions.base import deferred
from overlock_tools.bench.random_loads import check_files, chosen, tell
from overlock_tools.core.analyze import random_loads
from overlock_tools.core.analyze.random_loads import OURS, PEER, Document, Judged, Load
from overlock_tools.core.model import drawn_loads
from overlock_tools.core.model.drawn_loads import DrawnLoad
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.plan import MOST_THREADS
from overlock_tools.core.model.results import GivenUp, Result
from overlock_tools.core.system import machine, native
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, Fail
from overlock_tools.core.system.terminal import console
from overlock_tools.sim import collect, lists, resolve, runner, scenario
from overlock_tools.sim.batch import Answer, Batch, Shown
from overlock_tools.sim.cache import Cache
from overlock_tools.sim.campaign import kept_in
from overlock_tools.sim.resolve import Run
from overlock_tools.sim.scenario import Scenario

# So long that each thread gets several slices; a fourth of it goes before.
TIME_MS, MORE_MS_PER_THREAD = 50.0, 12.0  # for each thread of a CPU
WARM_UP = 0.25


def reduced(_: str, answer: Answer) -> Answer:
    """What is kept of a run: a whole answer has numbers of each of 10,000 locks."""
    if "error" in answer:
        return answer
    contexts = [context for guest in answer["guests"] for context in guest["contexts"]]
    return {
        "failure": answer["failure"],
        "time_ns": answer["time_ns"],
        "turns": [context["turns"] for context in contexts],
        "ran_ns": sum(context["ran_ns"] for context in contexts),
        "longest_ns": max(guest["waits"]["longest_ns"] for guest in answer["guests"]),
    }


@dataclass
class Part:
    """A load on a machine."""

    load: DrawnLoad
    result: Result
    runs: list[Run]
    left: int


def run(options: Mapping[str, Any]) -> int:
    out = console()
    told_files = {**options, "json_file": options["output"]}
    check_files(told_files)
    if options["read"]:
        tell(_together([random_loads.read(path) for path in options["read"]]), told_files, out)
        return 0
    parts = _parts(options)
    batch = _batch(parts, Cache(kept_in(options)))
    first = parts[0].result
    if not options["quiet"]:
        out.print(machine.headline(first.machine), soft_wrap=True)
        out.print(f"{len(parts)} loads, {len(first.variants)} locks: {batch.total} runs")
    shown = Shown(out, options["quiet"], lambda: Text("random loads", style="bold"))
    with deferred() as asked_to_end:
        batch.simulate(options, shown, asked_to_end)
        document, failures = _document(parts, options), _failures(parts)
        if document.loads:
            tell(document, told_files, out)
        for failure in failures:
            out.print(f"failed: {failure}", soft_wrap=True)
        if asked_to_end():
            out.print(batch.interrupted(), soft_wrap=True)
            return INTERRUPTED
    return FAILED if failures else 0


def _together(found: Sequence[Document]) -> Document:
    """Several results as one, of other numbers of CPUs or other loads."""
    first = found[0]
    for document in found[1:]:
        if document.ours != first.ours:
            raise Fail(f"--read: one result judges {first.ours}, another {document.ours}")
    loads = [load for document in found for load in document.loads]
    twice = [at for at, n in Counter((load.number, load.cpus) for load in loads).items() if n > 1]
    for number, cpus in twice[:1]:
        raise Fail(f"--read: two results have load {number} on {cpus} CPUs; give one of them")
    return replace(
        first,
        command="; ".join(document.command for document in found),
        machine="; ".join(dict.fromkeys(document.machine for document in found)),
        simulated=all(document.simulated for document in found),
        loads=loads,
        unjudged=[number for document in found for number in document.unjudged],
    )


# What is to be done


def _parts(options: Mapping[str, Any]) -> list[Part]:
    program, command = runner.digest(native.simulator()), _command(options)
    found = []
    for cpus in _cpus(options["cpus"]):
        for load in chosen(options):
            place = resolve.places(_scenario(load, cpus, options))[0]
            result = collect.new_result([place], program, command)
            runs = list(resolve.runs(place))
            found.append(Part(load, result, runs, len(runs)))
    return found


def _cpus(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words or not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise Fail(f"--cpus {text}: expected numbers of CPUs, as in 16,64")
    return list(dict.fromkeys(map(int, words)))


def _locks(options: Mapping[str, Any]) -> list[str]:
    """The lock under test first."""
    others = [name for text in options["locks"] or ("all",) for name in text.split(",") if name]
    return list(dict.fromkeys([options["baseline"], *others]))


def _scenario(load: DrawnLoad, cpus: int, options: Mapping[str, Any]) -> Scenario:
    threads = load.threads(cpus, options["threads_at_most"])
    crowd = threads * load.processes / cpus
    time_ms = options["time_ms"] or TIME_MS + MORE_MS_PER_THREAD * crowd
    workload = lists.load().workloads[load.workload]
    guest = {
        "name": "app",
        "contexts": threads,
        "count": load.processes,
        "workload": load.workload,
        "parameters": {
            lists.key(p): load.parameters[p.key]
            for p in workload.parameters
            if p.key in load.parameters
        },
    }
    values = {
        "title": f"load {load.number}: {load.what}",
        "machine": {"base": options["machine"], "cpus": cpus},
        "host": {"scheduler": options["scheduler"]},
        "guest": [guest],
        "locks": _locks(options),
        "baseline": options["baseline"],
        "seeds": options["seeds"],
        "time_ms": round(time_ms, 1),
        "warm_up_ms": round(time_ms * WARM_UP, 1),
    }
    given = {
        ("machine",): f"--machine {options['machine']}",
        ("host",): f"--scheduler {options['scheduler']}",
        ("machine", "cpus"): f"--cpus {cpus}",
        ("locks",): f"--baseline {options['baseline']} --locks {','.join(_locks(options)[1:])}",
        ("baseline",): f"--baseline {options['baseline']}",
    }
    found = Scenario(Path("random"), values, {}, given)  # type: ignore[arg-type]
    scenario.check(found)
    return found


def _batch(parts: Sequence[Part], cache: Cache) -> Batch:
    wanted = [(part, one) for part in parts for one in part.runs]

    def add(place: int, answer: Answer) -> None:
        part, one = wanted[place]
        _add(part.result, one, answer)
        part.left -= 1

    return Batch([one.told for _, one in wanted], cache, add, reduced)


def _add(result: Result, one: Run, answer: Answer) -> None:
    threads = one.place.threads
    why = answer.get("error") or answer["failure"]
    if "error" in answer or why.startswith(collect.DEADLOCK):
        listed = result.impossible if "error" in answer else result.hung
        listed.append(GivenUp(one.variant, threads, f"with seed {one.seed}: {why}"))
        return
    result.cells.append(
        Cell(
            round=one.place.scenario.seeds.index(one.seed) + 1,
            variant=one.variant,
            threads=threads,
            work=sum(answer["turns"]),
            seconds=answer["time_ns"] * 1e-9,
            cpu_seconds=answer["ran_ns"] * 1e-9,
            per_thread=answer["turns"],
            wrong=f"{why} (seed {one.seed})" if why else "",
            gap_ns=answer["longest_ns"],
        )
    )


# Told


def _document(parts: Sequence[Part], options: Mapping[str, Any]) -> Document:
    judged = [(part, _judged(part, options)) for part in parts if not part.left]
    return Document(
        command=_command(options),
        machine="; ".join(dict.fromkeys(machine.headline(part.result.machine) for part in parts)),
        ours=parts[0].result.baseline,
        seed=options["seed"],
        half=options["half"],
        simulated=True,
        loads=[one for _, one in judged if one],
        unjudged=[part.load.number for part, one in judged if not one],
    )


def _judged(part: Part, options: Mapping[str, Any]) -> Judged | None:
    load, result = part.load, part.result
    ours = result.baseline
    made = load.at(result.cpus, options["threads_at_most"])
    again = {**options, "only": str(load.number), "locks": (f"{OURS},{PEER}",)}
    about = Load(
        load.number,
        load.what,
        _command({**again, "cpus": str(result.cpus)}),
        load.processes,
        drawn_loads.command(made, [OURS, PEER], PEER),
    )
    return random_loads.judge(result, about, ours, None)


def _failures(parts: Sequence[Part]) -> list[str]:
    found = []
    for part in parts:
        lines = [*part.result.wrong()]
        lines += [f"{one.variant}: {one.why}" for one in part.result.impossible]
        found += [f"load {part.load.number} on {part.result.cpus} CPUs: {line}" for line in lines]
    return found


def _command(options: Mapping[str, Any]) -> str:
    words: list[object] = ["overlock", "sim", "random", "--seed", options["seed"]]
    words += ["--only", options["only"]] if options["only"] else ["--count", options["count"]]
    words += ["--half", options["half"], "--machine", options["machine"]]
    words += ["--cpus", options["cpus"], "--scheduler", options["scheduler"]]
    words += ["--baseline", options["baseline"]]
    words += ["--locks", ",".join(options["locks"])] if options["locks"] else []
    words += ["--seeds", options["seeds"]]
    words += ["--time", f"{options['time_ms']:g}"] if options["time_ms"] else []
    if options["threads_at_most"] < MOST_THREADS:
        words += ["--threads-at-most", options["threads_at_most"]]
    return shlex.join(map(str, words))
