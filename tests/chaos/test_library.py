# SPDX-License-Identifier: MIT
"""The library: each call answers as glibc's, and what is decided depends on the seed alone."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from overlock_tools.chaos.record import Recorded
from overlock_tools.chaos.settings import Length, Settings, kinds
from tests.chaos.conftest import Build, under

SHORT = Settings(1, 0.3, Length.parse("1us"))
ALWAYS = replace(SHORT, rate=1)


def naps(found: Recorded) -> dict[str, int]:
    return {name: site.naps for name, site in found.sites.items() if site.naps}


def kinds_of(found: Recorded) -> set[str]:
    return {name.rpartition(":")[2] for name in naps(found)}


@pytest.mark.parametrize("seed", [1, 3])
def test_calls_answer_as_without_it(seed: int, build: Build, tmp_path: Path) -> None:
    found = under(ALWAYS.with_seed(seed), tmp_path / "all", build("kinds"))
    assert kinds_of(found) == set(kinds())


@pytest.mark.parametrize("kind", ["holder", "wake", "once", "before-signal"])
def test_a_kind_can_be_chosen(kind: str, build: Build, tmp_path: Path) -> None:
    found = under(replace(ALWAYS, at=(kind,)), tmp_path / kind, build("kinds"))
    assert kinds_of(found) == {kind}


def test_the_seed_decides(build: Build, tmp_path: Path) -> None:
    program = build("visits")
    once, again = (naps(under(SHORT, tmp_path / name, program)) for name in ("once", "again"))
    other = naps(under(SHORT.with_seed(3), tmp_path / "other", program))
    assert once == again
    assert once != other


def test_threads_that_meet_at_a_site_see_one(build: Build, tmp_path: Path) -> None:
    program = build("meet")
    found = under(replace(ALWAYS, at=("waiter",)), tmp_path / "met", program).sites.values()
    met = [site for site in found if site.naps == 2]
    assert len(met) == 256
    assert all(site.offset < program.stat().st_size for site in met)


def test_about_as_many_as_the_rate_says(build: Build, tmp_path: Path) -> None:
    """The same in every run: of 3 threads, 50 visits each of 8 sites."""
    found = under(SHORT, tmp_path / "many", build("visits"))
    busy = [site for site in found.sites.values() if site.visits == 150]
    assert len(busy) == 8
    assert 0.25 < sum(site.naps for site in busy) / 1200 < 0.35


def test_a_site_that_is_left_out_changes_no_other(build: Build, tmp_path: Path) -> None:
    program = build("visits")
    every = naps(under(SHORT, tmp_path / "every", program))
    kept = sorted(every)[::2]
    assert naps(under(SHORT.with_only(kept), tmp_path / "kept", program)) == {
        name: every[name] for name in kept
    }
    assert naps(under(SHORT.with_only([]), tmp_path / "none", program)) == {}


def test_hot_sites_cost_less_and_less(build: Build, tmp_path: Path) -> None:
    found = under(ALWAYS, tmp_path / "hot", build("visits", "-DVISITS=2000"))
    most = max(site.naps for site in found.sites.values())
    assert 3 * 64 < most < 3 * (64 + 64 * 5)  # 64, and 64 times the logarithm of 2000 / 64


def test_functions_can_be_chosen(build: Build, tmp_path: Path) -> None:
    program = build("visits")
    every = naps(under(ALWAYS, tmp_path / "every", program))
    one = naps(under(replace(ALWAYS, patterns=("visit",)), tmp_path / "one", program))
    both = naps(under(replace(ALWAYS, patterns=("vis*t", "*:visit_?oo")), tmp_path / "b", program))
    mine = replace(ALWAYS, patterns=(f"{program.name}:*",))
    assert naps(under(mine, tmp_path / "object", program)) == every
    assert set(one) < set(both) < set(every)
    assert len(one) == 4  # waiter, holder, before and after its unlock
    assert len(both) == 8


def test_children_are_seen(build: Build, tmp_path: Path) -> None:
    program = build("visits")
    alone = under(ALWAYS, tmp_path / "alone", program)
    forked = under(ALWAYS, tmp_path / "forked", program, "fork")
    executed = under(ALWAYS, tmp_path / "executed", program, "exec", program)
    visits = [sum(site.visits for site in found.sites.values()) for found in (alone, forked)]
    assert visits[1] == visits[0] + 50 * 8
    assert naps(executed) == {name: 2 * n for name, n in naps(alone).items()}


def test_one_that_is_killed_leaves_its_record(build: Build, tmp_path: Path) -> None:
    found = under(SHORT, tmp_path / "killed", build("visits"), "abort", code=-signal.SIGABRT)
    assert naps(found) == naps(under(SHORT, tmp_path / "alone", build("visits")))


def test_rate_0_records_nothing(build: Build, tmp_path: Path) -> None:
    assert under(replace(SHORT, rate=0), tmp_path / "idle", build("kinds")).sites == {}
