# SPDX-License-Identifier: MIT
"""What can be asked of the results of several parts.

All claim what ranges show that do not overlap, and no more.
"""

from collections.abc import Callable, Sequence

from overlock_tools.core.analyze import ministat
from overlock_tools.core.analyze.paper_claims import (
    ALIKE,
    CSD_NS,
    MEAN_CSD_NS,
    Finding,
    Verdict,
    compared,
    everywhere,
    within,
)
from overlock_tools.core.analyze.wording import times
from overlock_tools.core.model.histograms import Times
from overlock_tools.core.model.measures import value_of
from overlock_tools.core.model.quantities import duration, plain
from overlock_tools.core.model.results import Result
from overlock_tools.lab.reproduce.guests.experiment import Results, Values

# "Negligible": less than one of so many.
RARE = 1000
# So many percent at most are no penalty.
NEGLIGIBLE = 5.0
Said = tuple[Verdict, str]
Check = Callable[[Results], Finding]


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


def _asked(greater: Values, less: Values, words: str) -> list[Said]:
    """Nothing if one of them was not measured."""
    if not greater or not less:
        return []
    return [(beyond(greater, less), f"{words}: {_range(greater)} and {_range(less)}")]


def _more_of(result: Result, pair: tuple[str, str], n: int, measure: str, where: str) -> list[Said]:
    """One lock's by another's, in the same guests."""
    more, less = (values(result, lock, n, measure) for lock in pair)
    return _asked(more, less, f"{where}, {' and '.join(pair)}")


def more_with_guests(load: str, lock: str, measure: str) -> Check:
    """With two at once than with one alone."""

    def check(results: Results) -> Finding:
        one, two = results.get(f"{load}-1"), results.get(f"{load}-2")
        found: list[Said] = []
        for n in two.threads if two else []:
            more, less = (values(result, lock, n, measure) for result in (two, one))
            found += _asked(more, less, f"{load}, {n} vCPUs, two guests and one")
        return everywhere(found, f"needs {load} with one guest and with two")

    return check


def more_than(part: str, lock: str, measure: str, bound: float) -> Check:
    """At the most vCPUs."""

    def check(results: Results) -> Finding:
        result = results.get(part)
        found = values(result, lock, result.threads[-1], measure) if result else []
        if not found:
            return Finding(Verdict.NOT_MEASURED, f"needs {part} with counters")
        verdict = Verdict.OPEN
        if min(found) > bound or max(found) < bound:
            verdict = Verdict.SEEN if min(found) > bound else Verdict.NOT_SEEN
        return Finding(verdict, f"{part}: {_range(found)}")

    return check


def grows_with_vcpus(part: str, lock: str, measure: str) -> Check:
    """From the fewest to the most."""

    def check(results: Results) -> Finding:
        result = results.get(part)
        numbers = result.threads if result else []
        if len(numbers) < 2:
            return Finding(Verdict.NOT_MEASURED, f"needs {part} with several numbers of vCPUs")
        few, many = numbers[0], numbers[-1]
        more, less = (values(result, lock, n, measure) for n in (many, few))
        found = _asked(more, less, f"{part}, {many} vCPUs and {few}")
        return everywhere(found, f"needs {part} with counters")

    return check


def fewer_than(ours: str, theirs: str, measure: str, *parts: str) -> Check:
    """One lock's by another's, where vCPUs outnumber the CPUs."""

    def check(results: Results) -> Finding:
        found = [
            said
            for part in parts
            if (result := results.get(part))
            for n in result.threads
            if n > result.cpus_of_its_own
            for said in _more_of(result, (theirs, ours), n, measure, f"{part}, {n} vCPUs")
        ]
        return everywhere(found, f"needs {ours} and {theirs} in {', '.join(parts)}")

    return check


def as_fast_as(ours: str, theirs: str, *parts: str) -> Check:
    def check(results: Results) -> Finding:
        found: list[Said] = []
        for part in parts:
            result = results.get(part)
            for n in result.threads if result else []:
                if result and (ratio := compared(result, (ours, n), (theirs, n))):
                    words = f"{part}, {n} vCPUs: {times(ratio)}"
                    found.append((within(ratio, ALIKE), words))
        return everywhere(found, f"needs {ours} and {theirs} in {', '.join(parts)}")

    return check


def costs_more(ours: str, theirs: str, part: str) -> Check:
    """The usual wait of each round."""

    def check(results: Results) -> Finding:
        found: list[Said] = []
        if result := results.get(part):
            for n in result.threads:
                found += _more_of(result, (ours, theirs), n, "p50", f"{part}, {n} vCPUs, ns")
        return everywhere(found, f"needs {ours} and {theirs} in {part}")

    return check


def queue_is_long(part: str, lock: str) -> Check:
    def check(results: Results) -> Finding:
        result, found = results.get(part), []
        for n in [n for n in (result.threads if result else []) if n > 1]:
            longest = values(result, lock, n, "queue_max")
            if longest:
                verdict = Verdict.SEEN if max(longest) >= 0.9 * (n - 1) else Verdict.NOT_SEEN
                found.append((verdict, f"{n} vCPUs, at most {max(longest):g} other waiters"))
        return everywhere(found, f"needs {part} with counters")

    return check


def _holds(result: Result, lock: str) -> Times:
    return Times([cell.hold for n in result.threads for cell in result.of(lock, n)])


def _sections(lock: str, judge: Callable[[Times], tuple[bool, str]]) -> Check:
    def check(results: Results) -> Finding:
        found: list[Said] = []
        for part, result in results.items():
            times = _holds(result, lock)
            if times.count:
                so, words = judge(times)
                found.append((Verdict.SEEN if so else Verdict.NOT_SEEN, f"{part}: {words}"))
        return everywhere(found, "needs a kernel with counters")

    return check


def sections_take(lock: str) -> Check:
    """Half or twice as long is as long."""

    def judge(times: Times) -> tuple[bool, str]:
        near = MEAN_CSD_NS / 2 < times.mean < 2 * MEAN_CSD_NS
        return near, f"{duration(times.mean)} on average"

    return _sections(lock, judge)


def sections_end_within(lock: str) -> Check:
    def judge(times: Times) -> tuple[bool, str]:
        longer = times.share_above(CSD_NS)
        return longer * RARE < 1, f"{longer:.2%} are longer"

    return _sections(lock, judge)


def at_the_door(lock: str) -> Check:
    """Long's counts: the first are those of whoever had no place in line."""

    def check(results: Results) -> Finding:
        result = results.get("boot-1")
        found: list[Said] = []
        for n in result.threads if result else []:
            for cell in result.of(lock, n) if result else []:
                door = cell.events.get("STEAL@0", 0)
                inside = cell.events.get("STEAL", 0) - door
                if door + inside:
                    verdict = Verdict.SEEN if door > inside else Verdict.NOT_SEEN
                    found.append(
                        (verdict, f"{n} vCPUs: {door:,} before queueing, {inside:,} in the queue")
                    )
        return everywhere(found, f"no waiter stole the lock, or {lock} has no counters")

    return check


def rarer_further_back(lock: str) -> Check:
    """All rounds together, for they are few."""

    def check(results: Results) -> Finding:
        result = results.get("boot-1")
        found: list[Said] = []
        for n in result.threads if result else []:
            cells = result.of(lock, n) if result else []
            sums = [sum(cell.events.get(f"STEAL@{i}", 0) for cell in cells) for i in range(1, 4)]
            if sum(sums) and n > 2:
                verdict = Verdict.SEEN if sums == sorted(sums, reverse=True) else Verdict.NOT_SEEN
                listed = ", ".join(f"{count:,}" for count in sums)
                found.append((verdict, f"{n} vCPUs, places 1 to 3: {listed}"))
        return everywhere(found, "no queued waiter stole the lock")

    return check


def _penalty(than: ministat.Difference) -> Verdict:
    """That none is proven says little where much would not have been."""
    if than.proven:
        return Verdict.NOT_SEEN if than.absolute < 0 else Verdict.SEEN
    return Verdict.SEEN if than.relative - than.relative_error > -NEGLIGIBLE else Verdict.OPEN


def no_penalty(base: str, others: Sequence[str]) -> Check:
    """By Rao & Dunlap's statistic."""

    def check(results: Results) -> Finding:
        found: list[Said] = []
        for part, result in results.items():
            for n in result.threads:
                first = result.rates(base, n)
                for other in others:
                    rates = result.rates(other, n)
                    if min(len(first), len(rates)) < ministat.LEAST_VALUES:
                        continue
                    than = ministat.difference(first, rates)
                    told = f"{than.relative:+.1f} % ± {than.relative_error:.1f}"
                    told += "" if than.proven else ", not significant"
                    found.append((_penalty(than), f"{part}, {other}: {told}"))
        return everywhere(found, f"needs {ministat.LEAST_VALUES} rounds")

    return check
