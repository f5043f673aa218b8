# SPDX-License-Identifier: MIT
"""The papers' experiments in guests: what is measured, and what its figures have to show.

Unlike papers.STATEMENTS, which are about one result each, these look at several at once: another
number of guests, another load. They claim what ranges show that do not overlap, and no more.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from overlock_tools import ministat, presets
from overlock_tools.histograms import Times
from overlock_tools.papers import ALIKE, Claim, Finding, Verdict, compared, everywhere, within
from overlock_tools.results import Result, value_of
from overlock_tools.tables import duration, factor, plain

Results = Mapping[str, Result]  # by part
Values = Sequence[float]
CSD_NS = 6000.0  # 002: 2^14 cycles of its machines
MEAN_CSD_NS = 1500.0  # 002: 2^12
# "Negligible": less than one of so many.
RARE = 1000


@dataclass(frozen=True)
class Part:
    """A load, with so many guests at once."""

    load: str
    vms: int = 1
    vcpus: str = "1x"  # of the host's CPUs
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.load}-{self.vms}"


@dataclass(frozen=True)
class Question:
    sentence: str
    check: Callable[[Results], Finding]


@dataclass(frozen=True)
class Experiment:
    paper: str
    figure: str
    what: str
    parts: Sequence[Part]
    locks: Sequence[str]  # the first is the baseline
    rounds: int
    seconds: float
    columns: Sequence[str]  # of results.MEASURES
    questions: Sequence[Question] = ()  # beside papers.STATEMENTS
    statistic: str = presets.MEDIAN
    events: Sequence[str] = ()  # to be shown by themselves
    otherwise: str = ""  # what the paper had, and this has not

    def claims(self, results: Results) -> list[Claim]:
        found = ((question.sentence, question.check(results)) for question in self.questions)
        return [
            Claim(self.paper, self.figure, sentence, finding.verdict.value, finding.reason)
            for sentence, finding in found
        ]


# What can be asked


def values(result: Result | None, variant: str, n: int, measure: str) -> Values:
    cells = result.of(variant, n) if result else []
    return [value for cell in cells if (value := value_of(measure, cell)) is not None]


def beyond(greater: Values, less: Values) -> Verdict:
    """Whether all of the one are greater than all of the other."""
    if min(len(greater), len(less)) < 2:
        return Verdict.OPEN
    if min(greater) > max(less):
        return Verdict.SEEN
    return Verdict.NOT_SEEN if max(greater) < min(less) else Verdict.OPEN


def _range(found: Values) -> str:
    low, high = plain(min(found)), plain(max(found))
    return low.strip() if low == high else f"{low.strip()} – {high.strip()}"


def _asked(greater: Values, less: Values, words: str) -> tuple[Verdict, str] | None:
    if not greater or not less:
        return None
    return beyond(greater, less), f"{words}: {_range(greater)} and {_range(less)}"


def _finding(found: Sequence[tuple[Verdict, str] | None], missing: str) -> Finding:
    return everywhere([one for one in found if one], missing)


def more_with_guests(load: str, lock: str, measure: str) -> Callable[[Results], Finding]:
    """With two at once than with one alone."""

    def check(results: Results) -> Finding:
        one, two = results.get(f"{load}-1"), results.get(f"{load}-2")
        counts = [n for n in (two.threads if two else []) if one and n in one.threads]
        found = [
            _asked(
                values(two, lock, n, measure),
                values(one, lock, n, measure),
                f"{load}, {n} vCPUs, two guests and one",
            )
            for n in counts
        ]
        return _finding(found, f"it takes {load} with one guest and with two")

    return check


def more_than(part: str, lock: str, measure: str, bound: float) -> Callable[[Results], Finding]:
    """At the most vCPUs."""

    def check(results: Results) -> Finding:
        result = results.get(part)
        found = values(result, lock, result.threads[-1], measure) if result else []
        if not found:
            return Finding(Verdict.NOT_MEASURED, f"it takes {part}, counted")
        verdict = Verdict.OPEN
        if min(found) > bound or max(found) < bound:
            verdict = Verdict.SEEN if min(found) > bound else Verdict.NOT_SEEN
        return Finding(verdict, f"{part}: {_range(found)}")

    return check


def grows_with_vcpus(part: str, lock: str, measure: str) -> Callable[[Results], Finding]:
    """From the fewest to the most."""

    def check(results: Results) -> Finding:
        result = results.get(part)
        numbers = result.threads if result else []
        if len(numbers) < 2:
            return Finding(Verdict.NOT_MEASURED, f"it takes {part} with several numbers of vCPUs")
        few, many = numbers[0], numbers[-1]
        asked = _asked(
            values(result, lock, many, measure),
            values(result, lock, few, measure),
            f"{part}, {many} vCPUs and {few}",
        )
        return _finding([asked], f"it takes {part}, counted")

    return check


def fewer_than(ours: str, theirs: str, measure: str, *parts: str) -> Callable[[Results], Finding]:
    """One lock's by another's, where vCPUs outnumber the CPUs."""

    def check(results: Results) -> Finding:
        found = [
            _asked(
                values(result, theirs, n, measure),
                values(result, ours, n, measure),
                f"{part}, {n} vCPUs, {theirs} and {ours}",
            )
            for part in parts
            if (result := results.get(part))
            for n in result.threads
            if n > result.cpus_of_its_own
        ]
        return _finding(found, f"it takes {ours} and {theirs} in {', '.join(parts)}")

    return check


def as_fast_as(ours: str, theirs: str, *parts: str) -> Callable[[Results], Finding]:
    def check(results: Results) -> Finding:
        found: list[tuple[Verdict, str] | None] = []
        for part in parts:
            result = results.get(part)
            for n in result.threads if result else []:
                if result and (ratio := compared(result, (ours, n), (theirs, n))):
                    low, high = ratio.low, ratio.high
                    interval = (
                        f" [{factor(low)} – {factor(high)}]" if low is not None and high else ""
                    )
                    words = f"{part}, {n} vCPUs: {factor(ratio.value)}×{interval}"
                    found.append((within(ratio, ALIKE), words))
        return _finding(found, f"it takes {ours} and {theirs} in {', '.join(parts)}")

    return check


def costs_more(ours: str, theirs: str, part: str) -> Callable[[Results], Finding]:
    """The usual wait of each round."""

    def check(results: Results) -> Finding:
        result = results.get(part)
        found = [
            _asked(
                values(result, ours, n, "p50"),
                values(result, theirs, n, "p50"),
                f"{part}, {n} vCPUs, ns, {ours} and {theirs}",
            )
            for n in (result.threads if result else [])
        ]
        return _finding(found, f"it takes {ours} and {theirs} in {part}")

    return check


def queue_is_long(part: str, lock: str) -> Callable[[Results], Finding]:
    def check(results: Results) -> Finding:
        result, found = results.get(part), []
        for n in [n for n in (result.threads if result else []) if n > 1]:
            longest = values(result, lock, n, "queue_max")
            if longest:
                verdict = Verdict.SEEN if max(longest) >= 0.9 * (n - 1) else Verdict.NOT_SEEN
                found.append((verdict, f"{n} vCPUs, at most {max(longest):g} others"))
        return everywhere(found, f"it takes {part}, counted")

    return check


def _holds(result: Result, lock: str) -> Times:
    return Times([cell.hold for n in result.threads for cell in result.of(lock, n)])


def sections_take(lock: str) -> Callable[[Results], Finding]:
    """Half or twice as long is as long."""

    def check(results: Results) -> Finding:
        found: list[tuple[Verdict, str]] = []
        for part, result in results.items():
            times = _holds(result, lock)
            if times.count:
                near = MEAN_CSD_NS / 2 < times.mean < 2 * MEAN_CSD_NS
                verdict = Verdict.SEEN if near else Verdict.NOT_SEEN
                found.append((verdict, f"{part}: {duration(times.mean)} on average"))
        return everywhere(found, "it takes a kernel that counts")

    return check


def sections_end_within(lock: str) -> Callable[[Results], Finding]:
    def check(results: Results) -> Finding:
        found: list[tuple[Verdict, str]] = []
        for part, result in results.items():
            times = _holds(result, lock)
            if times.count:
                longer = times.share_above(CSD_NS)
                verdict = Verdict.SEEN if longer * RARE < 1 else Verdict.NOT_SEEN
                found.append((verdict, f"{part}: {longer:.2%} are longer"))
        return everywhere(found, "it takes a kernel that counts")

    return check


def at_the_door(lock: str) -> Callable[[Results], Finding]:
    """003's counts: the first are those of whoever had no place in line."""

    def check(results: Results) -> Finding:
        result = results.get("boot-1")
        found: list[tuple[Verdict, str]] = []
        for n in result.threads if result else []:
            for cell in result.of(lock, n) if result else []:
                door = cell.events.get("STEAL@0", 0)
                inside = cell.events.get("STEAL", 0) - door
                if door + inside:
                    verdict = Verdict.SEEN if door > inside else Verdict.NOT_SEEN
                    found.append((verdict, f"{n} vCPUs: {door:,} at the door, {inside:,} in line"))
        return everywhere(found, f"nothing was stolen, or {lock} was not counted")

    return check


def rarer_further_back(lock: str) -> Callable[[Results], Finding]:
    """All rounds together, for they are few."""

    def check(results: Results) -> Finding:
        result = results.get("boot-1")
        found: list[tuple[Verdict, str]] = []
        for n in result.threads if result else []:
            cells = result.of(lock, n) if result else []
            sums = [sum(cell.events.get(f"STEAL@{i}", 0) for cell in cells) for i in range(1, 4)]
            if sum(sums) and n > 2:
                verdict = Verdict.SEEN if sums == sorted(sums, reverse=True) else Verdict.NOT_SEEN
                listed = ", ".join(f"{count:,}" for count in sums)
                found.append((verdict, f"{n} vCPUs, places 1 to 3: {listed}"))
        return everywhere(found, "nobody stole from within the line")

    return check


def no_penalty(base: str, others: Sequence[str]) -> Callable[[Results], Finding]:
    """By 001's statistic."""

    def check(results: Results) -> Finding:
        found: list[tuple[Verdict, str]] = []
        for part, result in results.items():
            for n in result.threads:
                first = result.rates(base, n)
                for other in others:
                    rates = result.rates(other, n)
                    if min(len(first), len(rates)) < ministat.LEAST_VALUES:
                        continue
                    than = ministat.difference(first, rates)
                    told = f"{than.relative:+.1f} % ± {than.relative_error:.1f}"
                    told = told if than.proven else "no difference proven"
                    slower = than.proven and than.absolute < 0
                    verdict = Verdict.NOT_SEEN if slower else Verdict.SEEN
                    found.append((verdict, f"{part}, {other}: {told}"))
        return everywhere(found, f"it takes {ministat.LEAST_VALUES} rounds")

    return check


# The list

COUNTED = "@kernel=counted"
TICKET, I_SPIN, I_SPIN_PV = (f"{lock}{COUNTED}" for lock in ("ticket", "i_spin", "i_spin_pv"))
STEALING = f"unfair_qspin{COUNTED}"
OFF, OFF_NOPV = "native@kernel=off", "native@kernel=off-nopv"
ON_NOPV = "native@kernel=nopv"
TWICE = "1x,2x,4x"
SMALLER = "the papers' hosts had 8 CPUs and more"

EXPERIMENTS: Mapping[str, Experiment] = {
    "000-table1": Experiment(
        "000",
        "Table 1",
        "stalls behind holders and waiters without a CPU, one VM and two",
        [Part(load, vms) for load in ("hackbench", "ebizzy") for vms in (1, 2)],
        [TICKET],
        rounds=5,
        seconds=10,
        columns=("rate", "acquired", "stalls", "waiters", "stalls_per_million"),
        questions=[
            Question(
                f"With two VMs more of {load}'s acquisitions stall.",
                more_with_guests(load, TICKET, "stalls_per_million"),
            )
            for load in ("hackbench", "ebizzy")
        ]
        + [
            Question(
                f"The waiters' share of {load}'s stalls grows with the second VM.",
                more_with_guests(load, TICKET, "waiters"),
            )
            for load in ("hackbench", "ebizzy")
        ]
        + [
            Question(
                f"With two VMs most of {load}'s stalls are behind a waiter.",
                more_than(f"{load}-2", TICKET, "waiters", 0.5),
            )
            for load in ("hackbench", "ebizzy")
        ],
        otherwise="the paper's hackbench and ebizzy were fixed work; here their time is",
    ),
    "000-fig5": Experiment(
        "000",
        "Fig. 5",
        "what preemptable tickets cost where nothing is preempted, and gain with two VMs",
        [Part("loop", 1, "1,1x"), Part("hackbench", 1), Part("hackbench", 2), Part("ebizzy", 2)],
        ["ticket", "native", "preemptable_ticket", "pv_ticket", "pv_preemptable_ticket"],
        rounds=5,
        seconds=10,
        columns=("rate", "least_to_most"),
    ),
    "001": Experiment(
        "001",
        "the three benchmarks",
        "four kernels: the patch on and off, PARAVIRT_SPINLOCKS on and off",
        [Part("pgbench"), Part("pbzip2"), Part("kernbench")],
        [OFF, "native", OFF_NOPV, ON_NOPV],
        rounds=10,
        seconds=20,
        columns=("rate",),
        questions=[
            Question(
                "The patch costs nothing, with PARAVIRT_SPINLOCKS and without.",
                no_penalty(OFF, ["native", ON_NOPV]),
            ),
            Question(
                "Nor does PARAVIRT_SPINLOCKS without the patch.",
                no_penalty(OFF_NOPV, [OFF]),
            ),
        ],
        statistic=presets.MINISTAT,
        otherwise="the paper's patch is pv tickets, which Linux has had since; here it is ours, "
        "not chosen",
    ),
    "002-table1": Experiment(
        "002",
        "Table 1",
        "problematic preemptions and the time spun in two VMs",
        [Part("kernbench", 2, TWICE), Part("pbzip2", 2, TWICE)],
        [TICKET],
        rounds=5,
        seconds=20,
        columns=("rate", "acquired", "psp", "psp_per_million", "spun"),
        questions=[
            Question(
                f"{load}: the more vCPUs, the more are preempted holding or waiting.",
                grows_with_vcpus(f"{load}-2", TICKET, "psp_per_million"),
            )
            for load in ("kernbench", "pbzip2")
        ]
        + [
            Question(
                f"{load}: with the most vCPUs most of the time is spun away.",
                more_than(f"{load}-2", TICKET, "spun", 0.5),
            )
            for load in ("kernbench", "pbzip2")
        ],
        otherwise="the paper counts cycles; here a spinner's time runs on while it has no CPU",
    ),
    "002-fig3": Experiment(
        "002",
        "Fig. 3",
        "how long sections are that spinlocks guard",
        [Part("kernbench"), Part("pbzip2"), Part("ebizzy")],
        [TICKET],
        rounds=5,
        seconds=10,
        columns=("rate", "acquired", "hold"),
        questions=[
            Question("A section takes some 2^12 cycles, 1.5 µs.", sections_take(TICKET)),
            Question("No section takes more than 2^14 cycles, 6 µs.", sections_end_within(TICKET)),
        ],
    ),
    "002-fig6": Experiment(
        "002",
        "Fig. 6, top",
        "how long the queue gets",
        [Part("loop", 2, TWICE, {"workload": "fairness", "preemptions": "1"})],
        ["ticket", "i_spin"],
        rounds=5,
        seconds=5,
        columns=("rate", "queue", "queue_max", "least_to_most"),
        questions=[
            Question(
                f"{lock}: the queue can be as long as there are vCPUs.",
                queue_is_long("loop-2", lock),
            )
            for lock in ("ticket", "i_spin")
        ],
    ),
    "002-fig7": Experiment(
        "002",
        "Fig. 7",
        "I-Spinlock and tickets in two VMs: work done and preemptions",
        [Part(load, 2, TWICE) for load in ("kernbench", "pbzip2", "ebizzy")],
        [TICKET, I_SPIN, I_SPIN_PV],
        rounds=5,
        seconds=20,
        columns=("rate", "psp", "psp_per_million", "spun"),
        questions=[
            Question(
                f"{lock}: fewer are preempted holding or waiting than with tickets.",
                fewer_than(name, TICKET, "psp_per_million", "kernbench-2", "pbzip2-2", "ebizzy-2"),
            )
            for lock, name in (("i_spin", I_SPIN), ("i_spin_pv", I_SPIN_PV))
        ]
        + [
            Question(
                f"{lock}: more is done than with tickets.",
                fewer_than(TICKET, name, "rate", "kernbench-2", "pbzip2-2", "ebizzy-2"),
            )
            for lock, name in (("i_spin", I_SPIN), ("i_spin_pv", I_SPIN_PV))
        ],
        otherwise="it takes somebody who tells of slices: without, i_spin is ticket",
    ),
    "002-fig8": Experiment(
        "002",
        "Fig. 8",
        "what I-Spinlock costs in a VM alone",
        [Part("loop", 1, "1,1x"), Part("kernbench")],
        ["ticket", "i_spin", "i_spin_pv"],
        rounds=10,
        seconds=10,
        columns=("rate", "p50"),
        questions=[
            Question("(a) An acquisition costs more.", costs_more("i_spin", "ticket", "loop-1")),
            Question(
                "(b) kernbench takes the same time.",
                as_fast_as("i_spin", "ticket", "kernbench-1"),
            ),
            Question(
                "(b) So it does with the PV variant.",
                as_fast_as("i_spin_pv", "ticket", "kernbench-1"),
            ),
        ],
    ),
    "003-steals": Experiment(
        "003",
        "statistics counts",
        "what was stolen of the unfair queue while a guest booted",
        [Part("boot", 1, TWICE)],
        [STEALING],
        rounds=3,
        seconds=1,
        columns=("acquired",),
        questions=[
            Question("Most are stolen at the door.", at_the_door(STEALING)),
            Question("The further back in line, the fewer.", rarer_further_back(STEALING)),
        ],
        events=(*(f"STEAL@{place}" for place in range(8)), "STEAL_TRY"),
        otherwise="the paper's guest had 32 vCPUs and a distribution to boot",
    ),
    "004-fig7": Experiment(
        "004",
        "Fig. 7",
        "locktorture, from one vCPU to more than there are CPUs",
        [Part("torture-004", 1, "1,1x,2x,4x")],
        ["native", "ticket", "twa"],
        rounds=7,
        seconds=30,
        columns=("rate", "least_to_most"),
        otherwise="the paper's threads had a CPU each: what is said of more needs more",
    ),
}
