# SPDX-License-Identifier: MIT
"""Measures a plan: one cell after the other, into a result that can be taken up again."""

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.measure import executor, header_locks, machine_queue, peers, throw_mutexes
from overlock_tools.measure.executor import Bench, Hung, Impossible, Server
from overlock_tools.model import defs, histograms, stats, workloads
from overlock_tools.model.plan import Place, Plan
from overlock_tools.model.results import Cell, GivenUp, Result
from overlock_tools.model.workloads import Workload
from overlock_tools.system import machine, native
from overlock_tools.system.errors import Fail
from overlock_tools.system.machine import BUSY_SHARE

# Of the native lock's rate: what has less in the pilot round has collapsed, and is not repeated.
COLLAPSED = 0.1
NATIVE = "pthread_mutex"
# With fixed work, a cell that takes this many times the native one's time is cut.
CUT_AT = 10.0
LEAST_LIMIT_SECONDS = 0.5
SAVE_EVERY_SECONDS = 60.0


@dataclass(frozen=True)
class Subjects:
    """What overlock-bench can measure, as it says itself."""

    facts: dict[str, Any]
    what: dict[str, str]
    peers: list[str]
    missing: list[str]  # peers that are not installed
    workloads: dict[str, Workload]


def known_to(bench: Server, missing: Sequence[str] = ()) -> Subjects:
    facts = dict(bench.facts)
    listed = facts.pop("subjects")
    found = workloads.from_facts(facts)
    return Subjects(
        facts,
        {entry["id"]: entry["what"] for entry in listed},
        [entry["id"] for entry in listed if entry["kind"] == "peer"],
        list(missing),
        found,
    )


def subjects() -> Subjects:
    with executor.started() as bench:
        return known_to(bench)


def parse_variants(text: str, known: Subjects) -> list[str]:
    """`ticket,preemptable_ticket@tau=0@spin=500,all,peers` as a list without repetitions."""
    groups = {"all": list(known.what), "peers": known.peers}
    variants: dict[str, None] = {}
    where = "`overlock locks` lists them, peers included"
    for word in filter(None, (word.strip() for word in text.split(","))):
        listed = groups.get(word) or [defs.checked_variant(word, known.what, where)]
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
        arrivals=answer.get("arrivals", 0),
        events=answer.get("events", {}),
        wait_ns=answer.get("wait_ns"),
        spin_ns=answer.get("spin_ns"),
        hold_ns=answer.get("hold_ns"),
        handover_ns=answer.get("handover_ns"),
    )


class Run:
    """A plan on its way: what is done, what is left, and until when."""

    def __init__(self, plan: Plan, result: Result) -> None:
        self.plan, self.result = plan, result
        self.places = set(plan.places)
        self.began = self.saved = 0.0  # run() says when
        self.measured = 0  # cells of this run; the result may have others
        self.round, self.left_in_round = 0, 0
        self.to_do = 0
        self.count()
        self.others: dict[int, float] = {}  # other programs' share of the CPUs, by round

    @property
    def given_up(self) -> set[Place]:
        listed = self.result.collapsed + self.result.impossible + self.result.hung
        return {Place(entry.variant, entry.threads) for entry in listed}

    @property
    def total(self) -> int:
        """Cells in all, as far as is known what collapses."""
        return len(self.result.cells) + self.to_do

    @property
    def seconds_left(self) -> float | None:
        """As the cells so far took; None before there is one."""
        if not self.measured:
            return None
        return (time.monotonic() - self.began) / self.measured * self.to_do

    def count(self) -> None:
        """After something was given up, there is less to do."""
        rounds = range(1, self.plan.rounds + 1)
        self.to_do = sum(len(self.left(number)) for number in rounds)

    def left(self, round_number: int) -> list[Place]:
        """Of that round, in its order; with fixed work the native lock first: it sets limits."""
        done = {Place(c.variant, c.threads) for c in self.result.cells if c.round == round_number}
        skipped = done | self.given_up
        order = [place for place in self.plan.order(round_number) if place not in skipped]
        if self.plan.turns:
            order.sort(key=lambda place: place.variant != native_of(self.result))
        return order

    def limit(self, place: Place) -> float:
        """Seconds that the cell may take, or is to take."""
        if not self.plan.turns:
            return self.plan.seconds
        native_lock = native_of(self.result)
        known = [c.seconds for c in self.result.of(native_lock or "", place.threads) if not c.cut]
        if not known or place.variant == native_lock:
            return self.plan.seconds
        return min(self.plan.seconds, max(LEAST_LIMIT_SECONDS, CUT_AT * stats.median(known)))

    def measure(self, bench: Bench, round_number: int, place: Place) -> None:
        try:
            answer = bench.measure(self.plan.line(round_number, place, self.limit(place)))
        except Impossible as error:
            why = str(error)
            self.result.impossible.append(GivenUp(place.variant, place.threads, why))
            self.count()
        except Hung:
            why = f"hung in round {round_number}"
            self.result.hung.append(GivenUp(place.variant, place.threads, why))
            self.count()
        else:
            self.result.cells.append(cell_of(answer, round_number, place.variant))
            self.to_do -= 1
        self.measured += 1

    def judge_pilot(self) -> None:
        """What has collapsed in round 1 is known well enough: it is not measured again."""
        self.result.collapsed = [
            GivenUp(cell.variant, cell.threads, why)
            for cell in self.result.cells
            if cell.round == 1 and (why := self._collapsed(cell))
        ]
        self.count()

    def _collapsed(self, cell: Cell) -> str:
        """In words; empty if it has not."""
        if cell.cut:
            return f"cut after {cell.seconds:.3g} s, unfinished"
        beside = [c for c in self.result.cells if c.round == 1 and c.threads == cell.threads]
        native_lock = next((c for c in beside if c.variant == NATIVE), None)
        judge = native_lock or max(beside, key=lambda c: c.rate)
        if cell.rate < COLLAPSED * judge.rate:
            return f"less than a tenth of {judge.variant}'s rate"
        return ""

    def busy_warning(self) -> str | None:
        busy = {number: share for number, share in self.others.items() if share >= BUSY_SHARE}
        if not busy:
            return None
        rounds = ", ".join(map(str, busy))
        return (
            f"other work took up to {max(busy.values()):.0%} of the CPUs in round"
            f"{'' if len(busy) == 1 else 's'} {rounds}: expect noise, in rates more than in ratios"
        )


def native_of(result: Result) -> str | None:
    return NATIVE if NATIVE in result.variants else None


@dataclass
class Watching:
    """Who wants to know how it goes: called between cells only."""

    each: Callable[[], None]
    save: Callable[[], None]


def run(bench: Bench, job: Run, watching: Watching, until: float | None = None) -> None:
    """Completes job.result; interrupted, it leaves what is whole.

    A round that would not end by `until`, a time.monotonic(), is not begun.
    """
    job.began = job.saved = time.monotonic()
    try:
        _rounds(bench, job, watching, until)
    finally:
        if warning := job.busy_warning():
            job.result.warnings.append(warning)


def _rounds(bench: Bench, job: Run, watching: Watching, until: float | None) -> None:
    longest = 0.0
    for round_number in range(1, job.plan.rounds + 1):
        order = job.left(round_number)
        began = time.monotonic()
        if order and round_number > 1 and until and began + longest > until:
            done = f"{round_number - 1} of {job.plan.rounds} rounds"
            job.result.warnings.append(f"stopped at the time limit after {done}")
            break
        _round(bench, job, watching, round_number, order)
        if round_number == 1 and job.plan.pilot:
            job.judge_pilot()
        longest = max(longest, time.monotonic() - began)
    job.result.complete = True


def _round(
    bench: Bench, job: Run, watching: Watching, round_number: int, order: list[Place]
) -> None:
    then = machine.Load.now()
    job.round, job.left_in_round = round_number, len(order)
    try:
        with machine_queue.asked_for() as turn:
            for place in order:
                if waited := turn.take():
                    then = then.but_for(*waited)
                job.measure(bench, round_number, place)
                job.left_in_round -= 1
                watching.each()
                if time.monotonic() - job.saved > SAVE_EVERY_SECONDS:
                    watching.save()
                    job.saved = time.monotonic()
                turn.pass_on()
    finally:
        if order:
            job.others[round_number] = machine.Load.now().others_since(then)


@contextmanager
def loaded_headers(headers: Sequence[Path], counted: bool) -> Iterator[list[str]]:
    """Compiles headers for as long as the context lasts; gives the --lock-so options."""
    with tempfile.TemporaryDirectory(prefix="overlock-") as folder:
        yield [
            f"--lock-so={header_locks.lock_id(header)}="
            f"{header_locks.compile_lock(header, Path(folder), counted)}"
            for header in headers
        ]
