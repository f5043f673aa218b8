# SPDX-License-Identifier: MIT
"""A suite under each lock beside the same suite natively."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from overlock_tools.bench.programs import NATIVE
from tests.run.thirdparty.reading import PASSED, SKIPPED
from tests.run.thirdparty.running import Outcome

NOT_RUN = "not run"


@dataclass
class Difference:
    """A test that under a lock once ended as it did not natively."""

    suite: str
    program: str
    test: str
    variant: str
    native: Counter[str]  # verdicts, of all runs
    under: Counter[str]

    @property
    def is_ours(self) -> bool:
        """Natively it never ended in any of these ways; else it is unsteady."""
        return bool(set(self.under) - set(self.native))

    def words(self) -> str:
        def told(counts: Counter[str]) -> str:
            return ", ".join(f"{n} × {verdict}" for verdict, n in counts.most_common())

        what = "DIFFERS" if self.is_ours else "unsteady"
        place = f"{self.suite}: {self.program}: {self.test}"
        under, native = told(self.under), told(self.native)
        return f"{what}: {place}: {under} under {self.variant}; {native} natively"


@dataclass
class Program:
    """One program of a suite: its runs, by variant."""

    suite: str
    name: str
    runs: dict[str, list[Outcome]] = field(default_factory=dict)

    def add(self, variant: str, outcome: Outcome) -> None:
        self.runs.setdefault(variant, []).append(outcome)

    def counts(self, variant: str, test: str) -> Counter[str]:
        return Counter(run.verdicts.get(test, NOT_RUN) for run in self.runs[variant])

    def differences(self) -> list[Difference]:
        tests = {test: None for runs in self.runs.values() for run in runs for test in run.verdicts}
        found = []
        for variant in self.runs:
            for test in tests:
                native, under = self.counts(NATIVE, test), self.counts(variant, test)
                if set(under) - set(native) or (self.retried(variant) and len(under) > 1):
                    found.append(Difference(self.suite, self.name, test, variant, native, under))
        return found

    def retried(self, variant: str) -> bool:
        return variant != NATIVE and len(self.runs[variant]) > 1


Run = Callable[[str], Outcome]  # by variant


def compared(program: Program, variants: Sequence[str], run: Run, again: int) -> None:
    """Each variant once; where one differs from native, both again."""
    for variant in (NATIVE, *variants):
        program.add(variant, run(variant))
    odd = dict.fromkeys(difference.variant for difference in program.differences())
    for _ in range(again if odd else 0):
        for variant in (NATIVE, *odd):
            program.add(variant, run(variant))


def passed(runs: Sequence[Outcome]) -> Counter[str]:
    """Of the first run: how many tests passed, failed, were skipped."""
    counts: Counter[str] = Counter()
    for verdict in runs[0].verdicts.values():
        counts[verdict if verdict in (PASSED, SKIPPED) else "failed"] += 1
    return counts


def totals(programs: Sequence[Program], variant: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for program in programs:
        counts += passed(program.runs[variant])
    return counts


def by_suite(programs: Sequence[Program]) -> Iterator[tuple[str, list[Program]]]:
    found: dict[str, list[Program]] = {}
    for program in programs:
        found.setdefault(program.suite, []).append(program)
    yield from found.items()


def as_json(programs: Sequence[Program]) -> list[Mapping[str, object]]:
    return [
        {
            "suite": program.suite,
            "program": program.name,
            "variant": variant,
            "seconds": [round(run.seconds, 3) for run in runs],
            "acquired": runs[0].acquired,
            "waited": runs[0].waited,
            "left": runs[0].left,
            "verdicts": [run.verdicts for run in runs],
        }
        for program in programs
        for variant, runs in program.runs.items()
    ]
