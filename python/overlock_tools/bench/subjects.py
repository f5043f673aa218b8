# SPDX-License-Identifier: MIT
"""What overlock-bench can measure, and a result of its cells."""

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.bench import header_locks, peers, server, throw_mutexes
from overlock_tools.bench.server import Server
from overlock_tools.core.model import defs, histograms, workloads
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.plan import Plan
from overlock_tools.core.model.results import Result
from overlock_tools.core.model.workloads import Workload
from overlock_tools.core.system import machine, native
from overlock_tools.core.system.errors import Fail

BARRIER = "barrier"  # the kind of such a subject


@dataclass(frozen=True)
class Subjects:
    """What overlock-bench can measure, as it says itself."""

    facts: dict[str, Any]
    what: dict[str, str]  # of locks
    barriers: dict[str, str]
    peers: list[str]
    missing: list[str]  # peers that are not installed
    workloads: dict[str, Workload]


def known_to(bench: Server, missing: Sequence[str] = ()) -> Subjects:
    facts = dict(bench.facts)
    listed = facts.pop("subjects")
    found = workloads.from_facts(facts)
    return Subjects(
        facts,
        {e["id"]: e["what"] for e in listed if e["kind"] != BARRIER},
        {e["id"]: e["what"] for e in listed if e["kind"] == BARRIER},
        [entry["id"] for entry in listed if entry["kind"] == "peer"],
        list(missing),
        found,
    )


def subjects() -> Subjects:
    with server.started() as bench:
        return known_to(bench)


def parse_variants(text: str, known: Subjects, workload: str = "") -> list[str]:
    """`ticket,preemptable_ticket@tau=0@spin=500,all,peers` as a list without repetitions."""
    what, peers_ = known.what, known.peers
    if workload == defs.MEETS:
        what = known.barriers
        peers_ = [name for name, one in defs.load().barriers.items() if not one.simulated]
    groups = {"all": list(what), "peers": peers_}
    variants: dict[str, None] = {}
    where = "`overlock locks` lists them, peers included"
    for word in filter(None, (word.strip() for word in text.split(","))):
        listed = groups.get(word) or [defs.checked_variant(word, what, where)]
        variants.update(dict.fromkeys(listed))
    if not variants:
        raise Fail("--locks names no lock; `overlock locks` lists them, `all` selects all")
    return list(variants)


def new_result(plan: Plan, known: Subjects) -> Result:
    program = native.file("overlock-bench-counted" if plan.counters else "overlock-bench")
    settings = plan.settings(plan.cpus or machine.cpus())
    settings["build"] = hashlib.sha256(program.read_bytes()).hexdigest()
    settings["plugins"] = peers.digests(plan.variants)
    return Result(
        kind=plan.workload.name,
        title=plan.title,
        unit=plan.workload.unit,
        baseline=plan.baseline,
        command=_variables(known.facts) + plan.command(),
        settings=settings,
        machine=machine.facts(),
        native=known.facts | throw_mutexes.facts(plan.workload.name),
        variants=plan.variants,
        threads=plan.threads,
        peers=[v for v in plan.variants if v.partition("@")[0] in known.peers],
        missing=known.missing,
        parameters=plan.parameters,
        scenario={"settings": plan.scenario} if plan.scenario else {},
        statistic=plan.statistic,
    )


def _variables(facts: dict[str, Any]) -> str:
    """What the environment set otherwise than it is by default, as a shell takes it."""
    presets = defs.load().tunables
    return "".join(
        f"{presets[name].variable}={value} "
        for name, value in facts.get("tunables", {}).items()
        if value != str(presets[name].default)
    )


def cell_of(answer: dict[str, Any], round_number: int, variant: str) -> Cell:
    told = ("latency", "handover", "hold", "queue")
    latency, handover, hold, queue = (answer.get(key, {}) for key in told)
    return Cell(
        round=round_number,
        variant=variant,
        threads=answer["threads"],
        work=answer["acquisitions"],
        seconds=answer["seconds"],
        cpu_seconds=answer["cpu_seconds"],
        voluntary=answer["voluntary"],
        involuntary=answer["involuntary"],
        per_thread=answer["per_thread"],
        copies=answer.get("copies", []),
        wrong=answer["wrong"],
        drained=answer["drained"],
        drain_seconds=answer["drain_seconds"],
        cut=answer.get("cut", False),
        work_seconds=answer.get("work_seconds"),
        gap_ns=answer.get("gap_ns"),
        latency=histograms.packed(latency.get("ns", []), latency.get("weight", [])),
        handover=histograms.packed(handover.get("ns", []), handover.get("weight", [])),
        hold=histograms.packed(hold.get("ns", []), hold.get("weight", [])),
        queue_mean=queue.get("mean"),
        queue_max=queue.get("max"),
        finish_ns=[ns for ns in answer.get("finish_ns", []) if ns is not None],  # null: cut
        slice_us=answer.get("slice_us"),
        steal_seconds=answer.get("steal_seconds"),
        throttled=answer.get("throttled"),
        arrivals=answer.get("arrivals", 0),
        events=answer.get("events", {}),
        wait_ns=answer.get("wait_ns"),
        spin_ns=answer.get("spin_ns"),
        hold_ns=answer.get("hold_ns"),
        handover_ns=answer.get("handover_ns"),
        replays=answer.get("replays", []),
    )


@contextmanager
def loaded_headers(headers: Sequence[Path], counted: bool, flags: str = "") -> Iterator[list[str]]:
    """Compiles headers for as long as the context lasts; gives the --lock-so options."""
    with tempfile.TemporaryDirectory(prefix="overlock-") as folder:
        found = []
        for number, header in enumerate(headers):
            place = Path(folder) / str(number)
            place.mkdir()
            made = header_locks.compile_lock(header, place, counted, flags)
            found.append(f"--lock-so={header_locks.lock_id(header)}={made}")
        yield found
