# SPDX-License-Identifier: MIT
"""What the papers' figures say, sentence by sentence, and whether a result here shows it.

The papers' threads had a CPU each unless said otherwise: what needs more CPUs than there are here
is said to need them, rather than tested with threads that take turns.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from overlock_tools.analyze.derived import View
from overlock_tools.model import stats
from overlock_tools.model.quantities import count, factor
from overlock_tools.model.results import GUEST, Result, named, value_of
from overlock_tools.model.stats import Ratio


@dataclass(frozen=True)
class RunTime:
    """A row of 003's table: what a million lock-unlock pairs take each thread."""

    threads: int
    mean_ms: float
    sd_ms: float


# On 32 virtual CPUs.
BYTE_003 = (
    RunTime(4, 386, 153),
    RunTime(8, 940, 117),
    RunTime(16, 6046, 1747),
    RunTime(32, 37028, 10136),
)
PAIRS_003 = 1_000_000

# The papers repeat five times: the range of five rounds is an interval at 93.75 %, and no more.
CONFIDENCE = 0.9
# "Comparable": within a tenth. "Almost the same duration": a standard deviation of a twentieth.
COMPARABLE = 0.1
ALMOST_NIL = 0.05


class Verdict(StrEnum):
    SEEN = "seen here"
    NOT_SEEN = "not seen here"
    OPEN = "undecided"
    NOT_MEASURED = "not measured here"


@dataclass(frozen=True)
class Finding:
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Claim:
    paper: str
    figure: str
    sentence: str
    verdict: str  # Verdict's words, or "needs N CPUs"
    reason: str


# How many copies of the program a statement is about.
ALONE, SEVERAL, ANY_NUMBER = "alone", "several", "any number"


@dataclass(frozen=True)
class Statement:
    paper: str
    figure: str
    sentence: str
    workloads: tuple[str, ...]  # GUEST: every load in guests
    check: Callable[[Result], Finding]
    cpus: int = 2
    copies: str = ALONE

    def about(self, result: Result) -> bool:
        here = SEVERAL if copies(result) > 1 else ALONE
        known = result.kind in self.workloads or (GUEST in self.workloads and result.in_guests)
        return known and self.copies in (here, ANY_NUMBER)

    def claim(self, result: Result) -> Claim:
        if result.cpus < self.cpus:
            verdict = f"needs {self.cpus} CPUs"
            reason = f"the result has {result.cpus} CPUs, which the threads must share"
        else:
            found = self.check(result)
            verdict, reason = found.verdict.value, found.reason
        return Claim(self.paper, self.figure, self.sentence, verdict, reason)


def copies(result: Result) -> int:
    """Programs that ran at once."""
    return max((len(cell.copies) for cell in result.cells), default=1)


def byte_run_times(result: Result) -> list[RunTime]:
    """For a table beside BYTE_003: of all rounds together, for as many pairs as the paper's."""
    scale = 1000 * PAIRS_003 / (result.settings.get("turns") or PAIRS_003)
    found = []
    for n in result.threads:
        mean, sd = (result.value(name, "byte", n) for name in ("run_time", "run_time_sd"))
        if mean is not None and sd is not None:
            found.append(RunTime(n, mean * scale, sd * scale))
    return found


def claims(result: Result) -> list[Claim]:
    """What the papers say of this workload in this scenario, each with whether it is so here."""
    result = named(result)
    return [statement.claim(result) for statement in STATEMENTS if statement.about(result)]


# What can be asked of a result


def compared(
    result: Result, one: tuple[str, int], other: tuple[str, int], measure: str = "rate"
) -> Ratio | None:
    return View(result).between(measure, one, other, CONFIDENCE)


def fitting(result: Result, least: int = 1, most: int = 10**6) -> list[int]:
    """Numbers of threads that have a CPU each, between bounds."""
    return [n for n in result.threads if least <= n <= min(most, result.cpus)]


def _times(ratio: Ratio) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{factor(ratio.value)}×, with too few rounds for an interval"
    return f"{factor(ratio.value)}× [{factor(ratio.low)} – {factor(ratio.high)}]"


CSD_NS = 6000.0  # 002: 2^14 cycles of its machines, the most that a critical section takes
MEAN_CSD_NS = 1500.0  # 002: 2^12, the average
Range = tuple[float, float]
MORE: Range = (1.0, float("inf"))
LESS: Range = (0.0, 1.0)
ALIKE: Range = (1 - COMPARABLE, 1 / (1 - COMPARABLE))


def within(ratio: Ratio, expected: Range) -> Verdict:
    """Whether the whole interval is where it should be, or nothing of it is."""
    if ratio.low is None or ratio.high is None:
        return Verdict.OPEN
    low, high = expected
    if low < ratio.low and ratio.high < high:
        return Verdict.SEEN
    return Verdict.NOT_SEEN if ratio.high < low or high < ratio.low else Verdict.OPEN


def everywhere(found: Sequence[tuple[Verdict, str]], missing: str) -> Finding:
    """Seen if all are, not seen if one is not."""
    verdicts = {verdict for verdict, _ in found}
    if not found:
        return Finding(Verdict.NOT_MEASURED, missing)
    reason = "; ".join(reason for _, reason in found)
    for verdict in (Verdict.NOT_SEEN, Verdict.OPEN):
        if verdict in verdicts:
            return Finding(verdict, reason)
    return Finding(Verdict.SEEN, reason)


Threads = Callable[[Result], list[int]]


def having_cpus(least: int = 1, most: int = 10**6) -> Threads:
    return lambda result: fitting(result, least, most)


def crowded(result: Result) -> list[int]:
    """All that were measured: where a paper's virtual machines overcommit the host."""
    return result.threads


def among(*numbers: int) -> Threads:
    """A paper's own numbers, although here the threads take turns."""
    return lambda result: [n for n in result.threads if n in numbers]


MEASURES = {
    "rate": "",
    "one_copy": ", one copy at random",
    "run_time": ", run time",
    "run_time_sd": ", σ of run times",
}


def beside(
    ours: str,
    theirs: str,
    expected: Range,
    threads: Threads = fitting,
    *,
    measures: Sequence[str] = ("rate",),
) -> Callable[[Result], Finding]:
    """One lock's rate by another's."""

    def check(result: Result) -> Finding:
        found = []
        for n in threads(result):
            for measure in measures:
                if ratio := compared(result, (ours, n), (theirs, n), measure):
                    what = MEASURES[measure]
                    words = f"{ours} ÷ {theirs} with {count(n)}{what}: {_times(ratio)}"
                    found.append((within(ratio, expected), words))
        return everywhere(found, f"needs {ours} and {theirs}")

    return check


def against_one_thread(
    expected: Range, threads: Threads, locks: Sequence[str] = ()
) -> Callable[[Result], Finding]:
    """Each lock's rate with several threads by its own with one."""

    def check(result: Result) -> Finding:
        found = []
        for variant in [v for v in result.variants if v in locks] or result.variants[:1]:
            for n in threads(result):
                if ratio := compared(result, (variant, n), (variant, 1)):
                    words = f"{variant} with {count(n)} ÷ one: {_times(ratio)}"
                    found.append((within(ratio, expected), words))
        return everywhere(found, "needs one thread and several threads, one per CPU at most")

    return check


def _best_at_first(result: Result) -> Finding:
    return _all_of(
        result,
        *(beside("ticket", other, MORE, having_cpus(most=6)) for other in ("twa", "mcs")),
    )


def _all_of(result: Result, *checks: Callable[[Result], Finding]) -> Finding:
    found = [check(result) for check in checks]
    if missing := [one for one in found if one.verdict is Verdict.NOT_MEASURED]:
        return missing[0]
    return everywhere([(one.verdict, one.reason) for one in found], "")


def _fails_to_scale(result: Result) -> Finding:
    few, many = fitting(result, 2, 6), fitting(result, 7)
    ratio = compared(result, ("ticket", max(many)), ("ticket", max(few))) if few and many else None
    if not ratio:
        return Finding(Verdict.NOT_MEASURED, "needs ticket with 2 to 6 threads and with more")
    words = f"ticket with {count(max(many))} ÷ {max(few)}: {_times(ratio)}"
    return Finding(within(ratio, LESS), words)


def _doublings(result: Result) -> Iterator[tuple[int, int]]:
    return ((n, 2 * n) for n in fitting(result) if 2 * n in fitting(result))


def _grows_faster_than_threads(result: Result) -> Finding:
    found = []
    for few, many in _doublings(result):
        if ratio := compared(result, ("byte", many), ("byte", few), "run_time"):
            words = f"byte's run time with {count(many)} ÷ {few}: {_times(ratio)}"
            found.append((within(ratio, (2.0, float("inf"))), words))
    return everywhere(found, "needs byte, fixed work, and two numbers of threads, N and 2N")


def _spread_of(variant: str, result: Result, n: int) -> Ratio | None:
    """Standard deviation of the threads' run times by their mean."""
    cells = result.of(variant, n)
    pairs = [(value_of("run_time_sd", c), value_of("run_time", c)) for c in cells]
    known = [(sd, mean) for sd, mean in pairs if sd is not None and mean]
    sds, means = [sd for sd, _ in known], [mean for _, mean in known]
    return stats.ratio(sds, means, CONFIDENCE) if known else None


def _run_times_vary(result: Result) -> Finding:
    """003's standard deviations are 12 to 40 % of the means."""
    found = []
    for n in fitting(result, 2):
        if ratio := _spread_of("byte", result, n):
            words = f"byte's σ ÷ mean with {count(n)}: {_times(ratio)}"
            found.append((within(ratio, (0.1, float("inf"))), words))
    return everywhere(found, "needs byte and fixed work")


def _queue_as_long_as_threads(result: Result) -> Finding:
    found = []
    for n in [n for n in result.threads if n > 1]:
        longest = [v for c in result.of("ticket", n) if (v := value_of("queue_max", c)) is not None]
        if longest:
            seen = max(longest) >= 0.9 * (n - 1)
            words = f"with {count(n)}, ticket's longest queue was {max(longest):g}"
            found.append((Verdict.SEEN if seen else Verdict.NOT_SEEN, words))
    return everywhere(found, "needs ticket with a sampled queue")


def _same_duration(result: Result) -> Finding:
    found = []
    lock = "i_spin" if "i_spin" in result.variants else "ticket"
    for n in [n for n in result.threads if n > 1]:
        if ratio := _spread_of(lock, result, n):
            words = f"{lock}'s σ ÷ mean with {count(n)}: {_times(ratio)}"
            found.append((within(ratio, (0.0, ALMOST_NIL)), words))
    return everywhere(found, "needs i_spin (or ticket, its base) and fixed work")


def _outperforms_all(result: Result) -> Finding:
    """002 section 5.5."""
    others = ("ticket", "pv_ticket", "preemptable_ticket", "oticket")
    checks = (beside("i_spin", other, MORE, crowded, measures=ONE_AND_ALL) for other in others)
    return _all_of(result, *checks)


TRIO_004 = ("ticket", "mcs", "twa")
COPIED = ("sections", "mutexbench", "lockloop", "fairness", "stress_latency", GUEST)
ONE_AND_ALL = ("rate", "one_copy")
TORTURE_004 = f"{GUEST}torture-004"  # locktorture with the paper's parameters

STATEMENTS = (
    Statement(
        "004",
        "Fig. 1",
        "A writer slows down as more readers poll the word.",
        ("invalidation",),
        against_one_thread(LESS, having_cpus(2)),
    ),
    Statement(
        "004",
        "Fig. 2",
        "Up to 6 threads, ticket is the fastest and TWA is slightly slower.",
        ("mutexbench",),
        _best_at_first,
    ),
    Statement(
        "004",
        "Fig. 2",
        "Beyond 6 threads, ticket fails to scale.",
        ("mutexbench",),
        _fails_to_scale,
        cpus=7,
    ),
    Statement(
        "004",
        "Fig. 2",
        "MCS surpasses ticket at 24 threads.",
        ("mutexbench",),
        beside("mcs", "ticket", MORE, having_cpus(24)),
        cpus=24,
    ),
    Statement(
        "004",
        "Fig. 2",
        "TWA outperforms MCS at every number of threads.",
        ("mutexbench",),
        beside("twa", "mcs", MORE),
    ),
    Statement(
        "004",
        "Fig. 3",
        "The rate of throws drops from 1 to 2 threads.",
        ("throw", "throw_locked"),
        against_one_thread(LESS, having_cpus(2, 2), TRIO_004),
    ),
    Statement(
        "004",
        "Fig. 3",
        "Beyond 2 threads, the rate of throws never exceeds that of one thread.",
        ("throw", "throw_locked"),
        against_one_thread(LESS, having_cpus(3), TRIO_004),
        cpus=3,
    ),
    Statement(
        "004",
        "Fig. 3",
        "Beyond 2 threads, the curve is like MutexBench's: MCS surpasses ticket at 24.",
        ("throw", "throw_locked"),
        beside("mcs", "ticket", MORE, having_cpus(24)),
        cpus=24,
    ),
    Statement(
        "004",
        "Fig. 4",
        "At low contention, TWA is comparable to ticket.",
        ("stress_latency",),
        beside("twa", "ticket", ALIKE, having_cpus(most=2)),
    ),
    Statement(
        "004",
        "Fig. 4",
        "At high contention, TWA is as fast as MCS or faster.",
        ("stress_latency",),
        beside("twa", "mcs", (1 - COMPARABLE, float("inf")), having_cpus(24)),
        cpus=24,
    ),
    Statement(
        "004",
        "Fig. 7",
        "TWA is as fast as the kernel's qspinlock, or slightly faster.",
        (TORTURE_004,),
        beside("twa", "native", (1 - COMPARABLE, float("inf"))),
    ),
    Statement(
        "004",
        "Fig. 7",
        "Ticket locks perform well with few threads.",
        (TORTURE_004,),
        beside("ticket", "native", (1 - COMPARABLE, float("inf")), having_cpus(most=2)),
    ),
    Statement(
        "004",
        "Fig. 7",
        "Ticket locks slow down as the number of threads grows.",
        (TORTURE_004,),
        beside("ticket", "twa", LESS, having_cpus(8)),
        cpus=8,
    ),
    Statement(
        "003",
        "table",
        "Byte's run time grows faster than the number of threads.",
        ("lockloop",),
        _grows_faster_than_threads,
        cpus=8,
    ),
    Statement(
        "003",
        "table",
        "The run times of byte's threads vary by a tenth or more.",
        ("lockloop",),
        _run_times_vary,
        cpus=4,
    ),
    Statement(
        "003",
        "table",
        "With 4 and 8 threads (one per CPU), the unfair queued lock is slower than byte.",
        ("lockloop",),
        beside("unfair_qspin", "byte", MORE, among(4, 8), measures=["run_time"]),
    ),
    Statement(
        "003",
        "table",
        "With 16 and 32 threads (one per CPU), the unfair queued lock is 1.7 and 5.2 times as fast "
        "as byte.",
        ("lockloop",),
        beside("byte", "unfair_qspin", MORE, among(16, 32), measures=["run_time"]),
    ),
    Statement(
        "003",
        "table",
        "With 4, 16 and 32 threads (one per CPU), the run times of the unfair queued lock vary "
        "less than byte's.",
        ("lockloop",),
        beside("unfair_qspin", "byte", LESS, among(4, 16, 32), measures=["run_time_sd"]),
    ),
    Statement(
        "002",
        "Fig. 6, top",
        "The queue can hold all threads.",
        ("fairness",),
        _queue_as_long_as_threads,
        copies=ANY_NUMBER,
    ),
    Statement(
        "002",
        "Fig. 6, bottom",
        "All threads of I-Spinlock run for almost the same time.",
        ("fairness",),
        _same_duration,
        copies=ANY_NUMBER,
    ),
    Statement(
        "002",
        "§5.5",
        "I-Spinlock outperforms ticket, pv ticket, preemptable ticket and Oticket.",
        COPIED,
        _outperforms_all,
        copies=SEVERAL,
    ),
    Statement(
        "000",
        "Fig. 5, one VM",
        "Preemptable tickets cost less than 6 % without preemption.",
        COPIED,
        beside("preemptable_ticket", "ticket", (0.94, float("inf"))),
    ),
    Statement(
        "000",
        "Fig. 5, 2 VMs and more",
        "Preemptable tickets are faster than tickets, without help from the host.",
        COPIED,
        beside("preemptable_ticket", "ticket", MORE, crowded, measures=ONE_AND_ALL),
        copies=SEVERAL,
    ),
    Statement(
        "000",
        "Fig. 5, 2 VMs and more",
        "PV preemptable tickets are faster than PV tickets.",
        COPIED,
        beside("pv_preemptable_ticket", "pv_ticket", MORE, crowded, measures=ONE_AND_ALL),
        copies=SEVERAL,
    ),
    Statement(
        "000",
        "Fig. 5, 2 VMs and more",
        "PV tickets are faster than preemptable tickets (except in ebizzy).",
        COPIED,
        beside("pv_ticket", "preemptable_ticket", MORE, crowded, measures=ONE_AND_ALL),
        copies=SEVERAL,
    ),
)
