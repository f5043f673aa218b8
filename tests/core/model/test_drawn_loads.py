# SPDX-License-Identifier: MIT
"""Random loads: the same everywhere, in their ranges, and none both for tuning and for judging."""

import math
from collections import Counter
from typing import Any

import pytest

from overlock_tools.core.model import drawn_loads
from overlock_tools.core.model.drawn_loads import DrawnLoad, Half, chosen, drawn
from overlock_tools.core.system.errors import Fail

MANY = [drawn(5, number) for number in range(4000)]
SECTIONS = [load for load in MANY if load.workload == "sections"]


def values(name: str) -> list[Any]:
    return [load.parameters[name] for load in SECTIONS if name in load.parameters]


def share(found: list[bool]) -> float:
    return sum(found) / len(found)


def test_a_load_is_the_same_on_every_machine_and_with_every_python() -> None:
    """If this changes, results of before and after are of other loads."""
    said = [drawn_loads.command(drawn(1, n).at(2), ["rota", "tas"], "tas") for n in (1, 5, 8)]
    assert [line.removeprefix("overlock bench ") for line in said] == [
        "sections --locks rota,tas --threads 2 --cs-ns 483 --ncs-ns 3110 --shape exponential "
        "--lock-count 231 --zipf 0 --nested 1 --baseline tas",
        "conditions --locks rota,tas --threads 2 --ncs-ns 491 --neighbours 2 --baseline tas",
        "sections --locks rota,tas --threads 40 --cs-ns 3300 --ncs-ns 4180 --shape fixed "
        "--lock-count 696 --zipf 0.99 --nested 1 --baseline tas",
    ]
    assert drawn(1, 1).what == "sections 483 ns / 3.11 µs exponential, 231 locks (Zipf 0, nested)"
    assert drawn(2, 1) != drawn(1, 1)


def test_lengths_do_not_depend_on_the_machine_s_mathematics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Libraries differ in the last digit of a power; Decimal is exact."""
    before = [drawn(3, number) for number in range(50)]
    for name in ("exp", "log", "pow", "exp2", "log2"):
        monkeypatch.setattr(math, name, None)
    assert [drawn(3, number) for number in range(50)] == before


@pytest.mark.parametrize("cpus", [1, 2, 16, 64])
def test_no_load_is_in_both_halves(cpus: int) -> None:
    def as_measured(load: DrawnLoad) -> str:
        made = load.at(cpus)
        return f"{made.workload} {sorted(made.options.items())}"

    halves: dict[Half, set[str]] = {Half.TUNING: set(), Half.JUDGING: set()}
    for load in MANY:
        halves[drawn_loads.half_of(load.number)].add(as_measured(load))
    assert not halves[Half.TUNING] & halves[Half.JUDGING]
    assert min(map(len, halves.values())) > 1900  # nor is one half the same loads again and again


def test_lengths_are_in_their_ranges() -> None:
    sections, rests = values("cs_ns"), values("ncs_ns")
    assert 20 <= min(sections) < 25
    assert 45_000 < max(sections) <= 50_000
    assert share([ns < 2000 for ns in sections]) == pytest.approx(0.8, abs=0.03)
    assert share([ns == 0 for ns in rests]) == pytest.approx(0.1, abs=0.02)
    assert 10 <= min(filter(None, rests)) < 12
    assert 45_000 < max(rests) <= 50_000
    below = share([ns < math.sqrt(10 * 50_000) for ns in rests if ns])
    assert below == pytest.approx(0.5, abs=0.03)  # equal shares of each doubling


def test_choices_have_their_shares() -> None:
    assert len(SECTIONS) / len(MANY) == pytest.approx(0.85, abs=0.02)
    assert share([load.processes == 2 for load in MANY]) == pytest.approx(0.15, abs=0.02)
    assert set(Counter(values("shape"))) == {"fixed", "uniform", "exponential", "pareto"}
    several = values("lock_count")
    assert len(several) / len(SECTIONS) == pytest.approx(0.5, abs=0.03)
    assert (min(several), max(several) > 9000, max(several) <= 10_000) == (2, True, True)
    for name, count in (("shape", 4), ("zipf", 4), ("nested", 2)):
        found = Counter(values(name))
        assert len(found) == count
        assert min(found.values()) > 0.8 * sum(found.values()) / count
    one, two = (share([load.few == n for load in MANY]) for n in (1, 2))
    assert one == pytest.approx(1 / 12, abs=0.015)
    assert two == pytest.approx(1 / 12, abs=0.015)


def test_only_several_locks_have_a_skew_and_are_nested() -> None:
    for load in MANY:
        names = set(load.parameters)
        assert ({"zipf", "nested"} <= names) == ("lock_count" in names)
        assert ({"cs_ns", "shape"} <= names) == (load.workload == "sections")


def test_threads_follow_the_cpus() -> None:
    crowded = next(load for load in MANY if not load.few and load.processes == 1)
    assert crowded.threads(64) == round(64 * crowded.per_cpu)
    assert crowded.threads(64, most=10) == 10
    per_cpu = [load.per_cpu for load in MANY]
    assert (min(per_cpu) >= 1, max(per_cpu) <= 32) == (True, True)
    for load in MANY:
        assert load.threads(16) * load.processes <= 32 * 16
        assert load.threads(2, most=2) >= (2 if load.workload == "conditions" else 1)
    pair = next(load for load in MANY if not load.few and load.processes == 2)
    assert pair.threads(64) == round(64 * pair.per_cpu) // 2
    assert pair.at(64).options["neighbours"] == "2"


def test_each_half_has_its_numbers() -> None:
    assert [load.number for load in chosen(1, Half.JUDGING, 3)] == [1, 3, 5]
    assert [load.number for load in chosen(1, Half.TUNING, 3)] == [0, 2, 4]
    assert [load.number for load in chosen(1, Half.ALL, 3)] == [0, 1, 2]
    assert [load.number for load in chosen(1, Half.JUDGING, 3, "17, 3,17")] == [17, 3]


@pytest.mark.parametrize(
    ("only", "why"),
    [
        ("3,4", "--only 3,4: load 4 is for tuning; give --half tuning, or all"),
        ("x", "--only x: 'x' is not the number of a load; as in --only 3,17"),
        (",", "--only names no load; give numbers, as in --only 3,17"),
    ],
)
def test_a_load_for_tuning_does_not_judge(only: str, why: str) -> None:
    with pytest.raises(Fail) as failed:
        chosen(1, Half.JUDGING, 3, only)
    assert failed.value.message == why
