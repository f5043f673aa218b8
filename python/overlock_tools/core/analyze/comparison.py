# SPDX-License-Identifier: MIT
"""Two results, before and after: what changed, as far as runs can be compared; or two of one.

Rates of two runs are not comparable: between them the machine did as it liked. What is compared is
each lock's ratio to a control, one that is in both and that nobody changed; and the other peers
show whether such ratios keep still.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from overlock_tools.core.analyze import ministat
from overlock_tools.core.analyze.ministat import Difference
from overlock_tools.core.model import quantities, stats
from overlock_tools.core.model.results import Result
from overlock_tools.core.model.stats import Ratio
from overlock_tools.core.system.errors import Fail

# Of the machine: without these two results have nothing in common; with a difference in the others
# they can be compared, and the reader should know.
SAME = ("cpu", "architecture", "cpus_online", "virtual")
NOTED = ("kernel", "scheduler", "preemption", "libc", "governor", "thp", "quota_cpus")
SETTINGS = ("cpus", "turns", "counters", "latency")
NO_DIFFERENCE = "no difference proven"  # in the file of a comparison


@dataclass(frozen=True)
class Change:
    variant: str
    threads: tuple[int, ...]  # of several: the geometric mean over them
    peer: bool
    before: Ratio  # to the control
    after: Ratio
    change: Ratio

    @property
    def words(self) -> str:
        if self.change.low is None:
            return "too few rounds"
        if self.change.above_one:
            return "faster"
        return "slower" if self.change.below_one else NO_DIFFERENCE

    def slower_by(self, percent: float) -> bool:
        """Proven: the whole interval lies beyond."""
        return self.change.high is not None and self.change.high < 1 - percent / 100


@dataclass(frozen=True)
class Drift:
    """The control's own median rates: what the machine did, or what happened to the control."""

    threads: int
    before: float
    after: float


@dataclass(frozen=True)
class Comparison:
    control: str
    unit: str
    confidence: float
    drifts: list[Drift]
    changes: list[Change]
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        return {
            "format": "overlock-comparison",
            "version": 1,
            **asdict(self),
            "changes": [{**asdict(change), "words": change.words} for change in self.changes],
        }


def compare(
    before: Result,
    after: Result,
    control: str | None = None,
    confidence: float = stats.CONFIDENCE,
) -> Comparison:
    refuse_unlike(before, after)
    control = _control(before, after, control)
    threads = [n for n in before.threads if before.of(control, n) and after.of(control, n)]
    variants = [v for v in before.variants if v in after.variants and v != control]
    if not variants:
        raise Fail(f"the results share only {control}; measure the same locks in both")
    points: list[tuple[int, ...]] = [(n,) for n in threads]
    if len(threads) > 1:
        points.append(tuple(threads))
    changes = []
    for point in points:
        for variant in variants:
            pairs = [result.paired(variant, control, list(point)) for result in (before, after)]
            if all(pairs):
                ratios = [stats.geometric_mean_ratio(pair, confidence) for pair in pairs]
                change = stats.change(pairs[0], pairs[1], confidence)
                peer = variant in before.peers
                changes.append(Change(variant, point, peer, ratios[0], ratios[1], change))
    drifts = [_drift(before, after, control, n) for n in threads]
    notes = [*_noted(before, after), *_restless(changes, control)]
    return Comparison(control, before.unit, confidence, drifts, changes, notes)


def refuse_unlike(before: Result, after: Result) -> None:
    """Names the first thing that makes the two incomparable."""
    then, now = (_conditions(result) for result in (before, after))
    for what in {**then, **now}:
        if then.get(what) != now.get(what):
            raise Fail(
                f"the results cannot be compared: {what} is {_shown(then.get(what))} before and "
                f"{_shown(now.get(what))} after; repeat the measurement with the first command: "
                f"{before.command}"
            )


def _conditions(result: Result) -> dict[str, Any]:
    """What must be the same, by the names users know."""
    return {
        "the workload": result.kind,
        **{f"the parameter {name}": value for name, value in result.parameters.items()},
        "the scenario": result.scenario.get("settings") or None,
        **{f"the setting {name}": result.settings.get(name) for name in SETTINGS},
        **{f"the machine's {name}": result.machine.get(name) for name in SAME},
    }


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {of}" for name, of in value.items())
    return "none" if value is None else str(value)


def _control(before: Result, after: Result, wanted: str | None) -> str:
    """A peer that is in both, for nobody changes those; else the baseline, if it is the same."""
    peers = [peer for peer in before.peers if peer in after.variants]
    common = peers + [before.baseline] * (before.baseline == after.baseline)
    if wanted:
        wanted = before.variant_called(wanted)
        for when, result in (("before", before), ("after", after)):
            if wanted not in result.variants:
                raise Fail(f"--control {wanted}: not measured {when}; {_have(common)}")
        return wanted
    if not common:
        raise Fail("the results share neither a peer nor a baseline; measure one in both")
    return common[0]


def _have(common: Sequence[str]) -> str:
    return f"both have {', '.join(dict.fromkeys(common))}" if common else "no lock is in both"


def _drift(before: Result, after: Result, control: str, threads: int) -> Drift:
    then, now = (result.median_rate(control, threads) for result in (before, after))
    return Drift(threads, then or 0.0, now or 0.0)


def _noted(before: Result, after: Result) -> list[str]:
    then, now = (_circumstances(result) for result in (before, after))
    moved = [
        f"{what} is {_shown(then.get(what))} before and {_shown(now.get(what))} after"
        for what in {**then, **now}
        if then.get(what) != now.get(what)
    ]
    old, new = (result.settings.get("plugins", {}) for result in (before, after))
    rebuilt = [f for f in old if f in new and old[f] != new[f]]
    return moved + [f"{family}'s locks were built anew in between" for family in rebuilt]


def _circumstances(result: Result) -> dict[str, Any]:
    tunables = result.native.get("tunables", {})
    return {
        **{f"the machine's {name}": result.machine.get(name) for name in NOTED},
        **{f"the tunable {name}": value for name, value in tunables.items()},
    }


def _restless(changes: list[Change], control: str) -> list[str]:
    """Peers that moved although nobody changed them: so much is the machine's doing."""
    moved = [c for c in changes if c.peer and (c.change.above_one or c.change.below_one)]
    if not moved:
        return []
    worst = max(moved, key=lambda c: max(c.change.value, c.change.inverse.value))
    where = ", ".join(map(str, worst.threads))
    return [
        f"{worst.variant}, an unchanged peer, moved by {quantities.factor(worst.change.value)}× "
        f"against {control} at {where} threads: ignore smaller changes"
    ]


# Contenders of one result


@dataclass(frozen=True)
class Pair:
    first: str
    second: str
    threads: int
    confidence: float
    ratio: Ratio  # second by first, round by round
    students_t: Difference  # of their rates, as ministat has it


def common_rates(result: Result, variants: Sequence[str], threads: int) -> dict[str, list[float]]:
    """Of the rounds that all have; empty if there are none."""
    rows = stats.in_common([result.rates_by_round(v, threads) for v in variants])
    return dict(zip(variants, rows, strict=True)) if rows else {}


def pairs(rates: dict[str, list[float]], threads: int, confidence: float) -> list[Pair]:
    """Each beside the first, which must have as many rounds as ministat takes."""
    first, *others = rates
    return [
        Pair(
            first,
            other,
            threads,
            confidence,
            stats.ratio(rates[other], rates[first], confidence),
            ministat.difference(rates[first], rates[other], 100 * confidence),
        )
        for other in others
    ]
