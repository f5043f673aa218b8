# SPDX-License-Identifier: MIT
"""What a verdict does not cover: in the last lines, the exit code and the document."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from overlock_tools.check.campaign import NOT_EXHAUSTED, WITH_GAPS
from tests.check.command.conftest import ONE, Fake
from tests.check.command.story import failure
from tests.command import schema

SCHEMA = schema("check")


def lines(reached: list[int], unreached: list[int], **others: Any) -> dict[str, Any]:
    files = {"lock.h": {"reached": reached, "unreached": unreached}}
    return {"result": {"coverage": {"files": files, **others}}}


def uncovered(fake: Fake, *args: str) -> dict[str, Any]:
    document = fake.json(*args)
    Draft202012Validator(SCHEMA).validate(document)
    [found] = document["uncovered"]
    return dict(found)


def test_what_was_not_run(fake: Fake) -> None:
    fake.says(
        {"result": {**lines([1], [])["result"], "budgets": {"expiry": 1, "late": 0, "lost": 1}}}
    )
    done = fake("ticket", "--size", "2x2", "--size", "2x1", "--size", "3x1", "--model", "tso")
    assert done.returncode == 0
    assert "\nnot run: scenarios try, free; models sc, c11\n" in done.stdout
    assert "\nnot explored: sizes larger than 2x2 and 3x1\n" in done.stdout
    found = uncovered(fake, "ticket", "--size", "2x2", "--size", "2x1", "--size", "3x1")
    assert (found["scenarios"], found["models"]) == (["try", "free"], ["tso", "c11"])
    assert found["larger_than"] == [{"scenarios": ["lock"], "sizes": ["2x2", "3x1"]}]


def test_events_that_no_check_allowed(fake: Fake) -> None:
    fake.says(budgets=[{"id": kind, "what": "w", "times": 0} for kind in ("late", "lost", "stop")])
    assert "; late, lost (--budget late=1)\n" in fake("ticket", *ONE).stdout
    assert "; late (--budget late=1)\n" in fake("ticket", *ONE, "--budget", "lost=1").stdout
    done = fake("ticket", *ONE, "--budget", "lost=1", "--budget", "late=2")
    assert "\nnot explored: sizes larger than 2x2\n" in done.stdout
    assert uncovered(fake, "ticket", *ONE)["events"] == ["late", "lost"]


def test_lines_that_were_not_reached(fake: Fake) -> None:
    fake.says(lines([1, 2, 9], [4, 5, 12], within={"nap": {"lock.h": [4, 5]}}))
    done = fake("ticket", *ONE)
    assert done.returncode == WITH_GAPS
    assert "\nnot reached: lock.h:4-5 (nap), 12\n" in done.stdout
    assert uncovered(fake, "ticket", *ONE)["lines"] == {"lock.h": [4, 5, 12]}


def test_lines_without_code_do_not_interrupt_a_range(fake: Fake) -> None:
    fake.says(lines([1, 20], [4, 8, 30]))
    assert "\nnot reached: lock.h:4-8, 30\n" in fake("ticket", *ONE).stdout


def test_a_line_that_one_check_reached_is_reached(fake: Fake) -> None:
    fake.says({"if": ["--scenario=try"], **lines([5], [6])}, lines([6], [5]))
    assert fake("ticket", *ONE, "--scenario", "try").returncode == WITH_GAPS
    done = fake("ticket", "--scenario", "lock,try")
    assert done.returncode == 0
    assert "not reached" not in done.stdout
    assert uncovered(fake, "ticket", "--scenario", "lock,try")["lines"] == {"lock.h": []}


def test_so_is_one_under_other_settings(fake: Fake) -> None:
    fake.says({"if": ["--tune=tau=0"], **lines([5], [6])}, lines([6], [5]))
    assert fake("preemptable_ticket", "preemptable_ticket@tau=0", *ONE).returncode == 0


def test_but_not_one_of_another_lock(fake: Fake) -> None:
    fake.says({"if": ["--lock=mcs"], **lines([5], [6])}, lines([6], [5]))
    done = fake("ticket", "mcs", *ONE)
    assert done.returncode == WITH_GAPS
    assert "\nnot reached of ticket: lock.h:5\nnot reached of mcs: lock.h:6\n" in done.stdout


def test_functions_that_no_scenario_calls(fake: Fake) -> None:
    uncalled = {"ol_ticket_trylock": {"lock.h": [7]}, "ol_ticket_is_locked": {"lock.h": [8]}}
    fake.says({"if": ["--scenario=try"], **lines([1, 7], [])}, lines([1], [], uncalled=uncalled))
    done = fake("ticket", *ONE)
    assert done.returncode == 0  # the paths of the scenarios are covered
    said = "\nnever called: ol_ticket_is_locked, ol_ticket_trylock (scenario try)\n"
    assert said in done.stdout
    assert uncovered(fake, "ticket", *ONE)["never_called"] == sorted(uncalled)
    done = fake("ticket", "--scenario", "lock,try")
    assert "\nnever called: ol_ticket_is_locked\n" in done.stdout


def test_what_is_unknown_is_not_taken_for_covered(fake: Fake) -> None:
    for coverage in ({"unknown": "objdump cannot be run"}, None):
        fake.says({"result": {"coverage": coverage}})
        done = fake("ticket", *ONE, "--no-cache")
        assert done.returncode == WITH_GAPS
        assert "\nsource lines reached: not known: " in done.stdout
        assert uncovered(fake, "ticket", *ONE, "--no-cache")["lines_unknown"]


@pytest.mark.parametrize("number", [1, 2])
def test_loops_that_were_cut(fake: Fake, number: int) -> None:
    places = [{"file": "x.c", "line": line, "turns": 2} for line in (12, 20)[:number]]
    fake.says({"result": {**lines([1], [])["result"], "loops": places}})
    done = fake("ticket", *ONE)
    assert done.returncode == WITH_GAPS
    of = ["loop at x.c:12", "loops at x.c:12, x.c:20"][number - 1]
    words = f"exhausted, loops cut: holds if the number of turns of the {of} does not matter"
    assert words in done.stdout
    assert "exhausted: holds" not in done.stdout
    assert f"\nloops cut: {of.partition(' at ')[2]}\n" in done.stdout
    assert len(uncovered(fake, "ticket", *ONE)["loops"]) == number


def test_what_is_cached_has_the_same_gaps(fake: Fake) -> None:
    fake.says(lines([1], [2]))
    first, again = fake("ticket", *ONE), fake("ticket", *ONE)
    assert "(cached)" in again.stdout
    assert first.returncode == again.returncode == WITH_GAPS
    assert len(fake.calls()) == 1


def test_a_lock_that_fails_has_other_problems(fake: Fake) -> None:
    fake.says({"if": ["--model=tso"], "failure": failure(), **lines([1], [2])}, lines([1], [2]))
    done = fake("ticket", "--model", "sc,tso")
    assert done.returncode == 1
    assert "not reached" not in done.stdout
    assert "not run" not in done.stdout


def test_time_that_was_too_short(fake: Fake) -> None:
    over = {"exhausted": False, "ended": "time"}
    fake.says({"if": ["--model=c11"], "result": over})
    done = fake("ticket", "--model", "all", "--seconds", "90", "--budget", "stop=1")
    assert done.returncode == NOT_EXHAUSTED
    assert "\nnot exhausted: ticket: lock 2x2 c11\n" in done.stdout
    command = "overlock check ticket --seconds 900 --size 2x2 --model c11 --scenario lock"
    assert f"\n  to go on: {command} --budget stop=1\n" in done.stdout
