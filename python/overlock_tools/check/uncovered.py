# SPDX-License-Identifier: MIT
"""Limits of a verdict: what the checks of a lock did not explore."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from overlock_tools.check import capabilities, foreign
from overlock_tools.check.coverage import Union
from overlock_tools.check.job import Job, Size
from overlock_tools.check.outcome import FAILS, OUT_OF_TIME, Outcome
from overlock_tools.check.source import Lines

# A lock that relies on what these take away may fail in earnest.
EVENTS = ("late", "lost", "lies")
OF_OURS = ("lies",)  # what only locks with a header ask
HINTS = {"trylock": "try", "timedlock": "timed"}  # scenarios, by what functions are called
MOST_PLACES = 6
MOST_SOURCE = 4
MORE_SECONDS = 600.0


def joined(words: Iterable[object]) -> str:
    return ", ".join(map(str, words))


@dataclass(frozen=True)
class Limits:
    """Of the checks of one lock, with whatever settings."""

    outcomes: Sequence[Outcome]  # those that were not refused

    @property
    def job(self) -> Job:
        return self.outcomes[0].job

    @cached_property
    def coverage(self) -> Union:
        """Of a search that was killed nothing is known, but that it is open."""
        said = [one for one in self.outcomes if one.exhausted or one.coverage]
        return Union(one.coverage for one in said)

    @property
    def never_called(self) -> list[str]:
        """Functions of the lock without its operations: which scenario uses these is known."""
        taken = self.job.subject.taken
        operations = taken.listed.values() if taken else ()
        return [name for name in self.coverage.never_called if name not in operations]

    @property
    def failed(self) -> bool:
        return any(one.verdict == FAILS for one in self.outcomes)

    @property
    def scenarios(self) -> list[str]:
        """Those that apply and were not run."""
        run = {one.job.scenario for one in self.outcomes}
        can = capabilities.supported(self.job.subject).scenarios
        listed = capabilities.of_wait(self.job.subject) or capabilities.load().scenarios
        return [name for name in listed if name in can - run]

    @property
    def models(self) -> list[str]:
        run = {one.job.model for one in self.outcomes}
        return [name for name in capabilities.load().models if name not in run]

    @property
    def sizes(self) -> dict[tuple[Size, ...], list[str]]:
        """The largest sizes, each with the scenarios that were run at these."""
        run = defaultdict(set)
        for one in self.outcomes:
            run[one.job.scenario].add(one.job.size)
        found = defaultdict(list)
        for scenario, sizes in run.items():
            found[tuple(sorted(filter(_is_largest(sizes), sizes)))].append(scenario)
        return dict(found)

    @property
    def events(self) -> list[str]:
        """Kinds that no check allowed."""
        allowed = {
            kind
            for one in self.outcomes
            for kind, n in {**(one.result.get("budgets") or {}), **dict(one.job.budgets)}.items()
            if n
        }
        header = self.job.subject.header
        if header and foreign.is_foreign(header.name):
            allowed.update(OF_OURS)
        known = capabilities.load().budgets
        return [kind for kind in EVENTS if kind in known and kind not in allowed]

    @property
    def open_ends(self) -> list[Outcome]:
        """The checks that the time did not suffice for."""
        return [one for one in self.outcomes if one.result.get("ended") == OUT_OF_TIME]

    @property
    def loops(self) -> list[str]:
        return sorted({place for one in self.outcomes for place in one.loops})

    @property
    def has_gaps(self) -> bool:
        """Something of the lock itself was not explored at the sizes that were."""
        unseen = self.job.subject.unseen
        return bool(self.loops or unseen or self.coverage.unreached or self.coverage.unknown)


def _is_largest(sizes: Iterable[Size]) -> Any:
    def is_largest(size: Size) -> bool:
        return not any(
            other != size
            and other.contexts >= size.contexts
            and other.acquisitions >= size.acquisitions
            for other in sizes
        )

    return is_largest


def by_lock(outcomes: Iterable[Outcome]) -> list[Limits]:
    groups: dict[tuple[str, Path | None], list[Outcome]] = defaultdict(list)
    for one in outcomes:
        if not one.refused:
            groups[one.job.subject.name, one.job.subject.header].append(one)
    return [Limits(group) for group in groups.values()]


def lines(outcomes: Sequence[Outcome], within: float | None = None) -> list[str]:
    """For people. A lock that fails has other problems."""
    locks = [one for one in by_lock(outcomes) if not one.failed]
    if not locks:
        return []
    said = [
        _said("not run", _not_run(locks)),
        _said("not explored", _not_explored(locks)),
        *(line for one in locks for line in _open(one, within)),
    ]
    for one in locks:
        said += _of_lock(one, "" if len(locks) == 1 else f" of {one.job.subject.name}")
    return list(filter(None, said))


def _said(what: str, parts: Iterable[str]) -> str:
    words = "; ".join(filter(None, parts))
    return f"{what}: {words}" if words else ""


def _union(lists: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(word for words in lists for word in words))


def _not_run(locks: Sequence[Limits]) -> list[str]:
    scenarios, models = _union(one.scenarios for one in locks), _union(one.models for one in locks)
    return [
        f"scenario{'s' if len(scenarios) > 1 else ''} {joined(scenarios)}" if scenarios else "",
        f"model{'s' if len(models) > 1 else ''} {joined(models)}" if models else "",
    ]


def _not_explored(locks: Sequence[Limits]) -> list[str]:
    sizes: dict[tuple[Size, ...], list[str]] = defaultdict(list)
    for one in locks:
        for largest, scenarios in one.sizes.items():
            sizes[largest] += [name for name in scenarios if name not in sizes[largest]]
    events = _union(one.events for one in locks)
    return [_sizes(sizes), f"{joined(events)} (--budget {events[0]}=1)" if events else ""]


def _sizes(sizes: dict[tuple[Size, ...], list[str]]) -> str:
    """Those with most scenarios are `the others`, after the rest."""
    order = sorted(sizes.items(), key=lambda entry: len(entry[1]))
    words = [f"larger than {' and '.join(map(str, largest))}" for largest, _ in order]
    if len(order) == 1:
        return f"sizes {words[0]}"
    names = [*(joined(scenarios) for _, scenarios in order[:-1]), "other scenarios"]
    return "sizes " + joined(f"{a} ({b})" for a, b in zip(words, names, strict=True))


def _open(one: Limits, within: float | None) -> list[str]:
    """What the time did not suffice for, and how to go on."""
    ends = one.open_ends
    if not ends:
        return []
    lock = one.job.subject.name
    names = joined(
        f"{job.shown_scenario} {job.size} {job.model}" for job in (end.job for end in ends)
    )
    limit = f" within {within:g} s" if within else ""
    command = ends[0].job.command(max(MORE_SECONDS, 10 * (ends[0].job.search.seconds or 0)))
    return [f"not exhausted{limit}: {lock}: {names}", f"  to go on: {command}"]


def _of_lock(one: Limits, of: str) -> list[str]:
    covered = one.coverage
    found = [
        _said(f"loops cut{of}", [joined(one.loops)]),
        covered.unknown and f"source lines reached{of}: not known: {covered.unknown}",
        _said(f"not reached{of}", [_places(covered.places())]),
    ]
    if not of:
        found += _source(one)
    found.append(_said(f"never called{of}", [joined(map(_hinted, one.never_called))]))
    return found


def _places(places: Sequence[str]) -> str:
    """A file is named once for those in a row."""
    words, file = [], ""
    for place in places[:MOST_PLACES]:
        name, _, rest = place.rpartition(":")
        words.append(rest if name == file else place)
        file = name
    more = len(places) - MOST_PLACES
    return joined([*words, *([f"and {more} more (--json)"] if more > 0 else [])])


def _source(one: Limits) -> list[str]:
    """The first of those that were not reached."""
    text = Lines(one.job.subject)
    first = sorted(one.coverage.unreached)[:MOST_SOURCE]
    return [f"  {line:5}  {said}" for file, line in first if (said := text.text(file, line))]


def _hinted(function: str) -> str:
    for ending, scenario in HINTS.items():
        if function.endswith(ending):
            return f"{function} (scenario {scenario})"
    return function


def document(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """For programs: schema/check.json says what each part is."""
    return [
        {
            "lock": one.job.subject.name,
            "header": str(one.job.subject.header) if one.job.subject.header else None,
            "scenarios": one.scenarios,
            "models": one.models,
            "larger_than": [
                {"scenarios": scenarios, "sizes": [str(size) for size in sizes]}
                for sizes, scenarios in one.sizes.items()
            ],
            "events": one.events,
            "out_of_time": [end.job.command(MORE_SECONDS) for end in one.open_ends],
            "lines": {name: of["unreached"] for name, of in one.coverage.files.items()},
            "lines_unknown": one.coverage.unknown or None,
            "never_called": one.never_called,
            "loops": one.loops,
        }
        for one in by_lock(outcomes)
    ]
