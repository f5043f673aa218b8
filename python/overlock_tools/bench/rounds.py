# SPDX-License-Identifier: MIT
"""Measures a plan in interleaved rounds, one cell after the other, into a result."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import geometric_mean

from overlock_tools.bench import machine_queue
from overlock_tools.bench.executor import Executor, Hung, Impossible
from overlock_tools.bench.subjects import cell_of
from overlock_tools.core.model import stats
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.plan import Place, Plan
from overlock_tools.core.model.results import GivenUp, Result
from overlock_tools.core.system import machine
from overlock_tools.core.system.machine import BUSY_SHARE

# Of the native lock's rate: what has less in the pilot round has collapsed, and is not repeated.
COLLAPSED = 0.1
NATIVE = "pthread_mutex"
# With fixed work, a cell that takes this many times the native one's time is cut.
CUT_AT = 10.0
LEAST_LIMIT_SECONDS = 0.5
SAVE_EVERY_SECONDS = 60.0


class Job:
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
        result = self.result
        listed = result.collapsed + result.impossible + result.hung + result.outside
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

    def measure(self, executor: Executor, round_number: int, place: Place) -> None:
        try:
            answer = executor.measure(self.plan.line(round_number, place, self.limit(place)))
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
            if cell.round == 1
            and cell.variant not in self.plan.always
            and (why := self._collapsed(cell))
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

    def choose_field(self, most: int) -> None:
        """After the pilot round: of the baseline's rivals, the `most` with the best rates go on."""
        stay = (self.plan.baseline, *self.plan.always)
        others = [v for v in self.plan.variants if v not in stay]
        last = sorted(others, key=self._pilot_rate, reverse=True)[most:]
        why = f"not among the {most} best"
        self.result.outside = [
            GivenUp(place.variant, place.threads, why)
            for place in self.plan.places
            if place.variant in last and place not in self.given_up
        ]
        self.count()

    def _pilot_rate(self, variant: str) -> float:
        """The geometric mean over the numbers of threads; 0 if it was not measured at each."""
        cells = [c for c in self.result.cells if c.round == 1 and c.variant == variant]
        if len(cells) < len(self.plan.threads):
            return 0.0
        return geometric_mean(cell.rate_or_bound for cell in cells)

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


def run(executor: Executor, job: Job, watching: Watching, until: float | None = None) -> None:
    """Completes job.result; interrupted, it leaves what is whole.

    A round that would not end by `until`, a time.monotonic(), is not begun.
    """
    job.began = job.saved = time.monotonic()
    try:
        _rounds(executor, job, watching, until)
    finally:
        if warning := job.busy_warning():
            job.result.warnings.append(warning)


def _rounds(executor: Executor, job: Job, watching: Watching, until: float | None) -> None:
    longest = 0.0
    for round_number in range(1, job.plan.rounds + 1):
        order = job.left(round_number)
        began = time.monotonic()
        if order and round_number > 1 and until and began + longest > until:
            done = f"{round_number - 1} of {job.plan.rounds} rounds"
            job.result.warnings.append(f"stopped at the time limit after {done}")
            break
        _round(executor, job, watching, round_number, order)
        if round_number == 1 and job.plan.pilot:
            job.judge_pilot()
        if round_number == 1 and job.plan.field and order:
            job.choose_field(job.plan.field)
        longest = max(longest, time.monotonic() - began)
    job.result.complete = True


def _round(
    executor: Executor, job: Job, watching: Watching, round_number: int, order: list[Place]
) -> None:
    then = machine.Load.now()
    job.round, job.left_in_round = round_number, len(order)
    try:
        with machine_queue.asked_for() as turn:
            for place in order:
                if waited := turn.take():
                    then = then.but_for(*waited)
                job.measure(executor, round_number, place)
                job.left_in_round -= 1
                watching.each()
                if time.monotonic() - job.saved > SAVE_EVERY_SECONDS:
                    watching.save()
                    job.saved = time.monotonic()
                turn.pass_on()
    finally:
        if order:
            job.others[round_number] = machine.Load.now().others_since(then)
