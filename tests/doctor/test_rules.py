# SPDX-License-Identifier: MIT
"""Each rule applies where it should and nowhere else, on recorded machines and at its edges."""

import re
from dataclasses import replace
from typing import Any

import click
import pytest

from overlock_tools.cli.main import cli
from overlock_tools.core.model import defs
from overlock_tools.doctor import Report
from overlock_tools.doctor.fact import Fact, Found, Known
from overlock_tools.doctor.judging import Answer, Rule, Scope, Values
from overlock_tools.doctor.rules import RULES, judge
from tests.doctor.recorded import NAMES, Machine

Machines = dict[str, tuple[Machine, Report]]
BY_ID = {rule.id: rule for rule in RULES}


def found(report: Report, rules: tuple[Rule, ...] = RULES) -> list[str]:
    return [finding.rule.id for finding in judge(report.known, report.pid, rules)]


@pytest.mark.parametrize("name", NAMES)
def test_the_rules_that_apply(name: str, machines: Machines) -> None:
    machine, report = machines[name]
    assert found(report) == machine.expects


@pytest.mark.parametrize("fault", [False, True], ids=["never", "always"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_wrong_rule_is_caught(rule: Rule, fault: bool, machines: Machines) -> None:
    """Some recorded machine tells a rule from one that never, or always, applies."""
    wrong = replace(rule, when=lambda _: fault)
    rules = tuple(wrong if one is rule else one for one in RULES)
    assert any(found(report, rules) != machine.expects for machine, report in machines.values())


CPUS = {"cpus_online": 4, "cpus_usable": 4, "quota": None}
EFFICIENT = {"held_up": {"share": 0.049}, "spinning": {"share": 0.049}}
SPINS = {"user_mode": 0.95, "on_cpu": 0.1, "voluntary": 1.0, "involuntary": 11.0}
SLEEPS = {"voluntary": 100.0, "asleep_in": {"futex": 0.5}}
SELDOM = {"throttled": 0.0, "throttled_ever": {"share": 0.049}}
OFTEN = {"throttled": 0.0, "throttled_ever": {"share": 0.05}}
STARVED = {**CPUS, "waiting": 0.2, "wanting": 4.41}
CROWDED_OUT = {**CPUS, "waiting": 0.2, "wanting": 4.4}
MISCOUNTS = {"counting": {"miscounts": True}}
FIFO, UNORDERED = {"openmp_lock": {"fifo": True}}, {"openmp_lock": {"fifo": False}}
SPIN = {"openmp_barriers": {"spin": True}, "openmp_threads": 5, "threads_fit": 4}
RTE = {"own_locks": [{"name": "jemalloc", "spins": False}, {"name": "DPDK", "spins": True}]}
EDGES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # rule, facts with which it just applies, what of them changes so that it does not
    ("openmp_fifo", {**STARVED, **FIFO}, UNORDERED),
    ("openmp_fifo", {**STARVED, **FIFO}, {"waiting": 0.19}),
    ("openmp_fifo", {**STARVED, **FIFO}, {"wanting": 4.4}),
    ("openmp_fifo_crowded_out", {**CROWDED_OUT, **FIFO}, UNORDERED),
    ("openmp_fifo_crowded_out", {**CROWDED_OUT, **FIFO}, {"waiting": 0.19}),
    ("openmp_fifo_crowded_out", {**CROWDED_OUT, **FIFO}, {"wanting": 4.41}),
    ("openmp_crowded", {**STARVED, **UNORDERED}, FIFO),
    ("openmp_crowded", {**STARVED, **UNORDERED}, {"wanting": 4.4}),
    ("openmp_may_crowd", {"openmp_threads": 5, "threads_fit": 4}, {"threads_fit": 5}),
    ("openmp_may_crowd", {"openmp_threads": 5, "threads_fit": 4}, STARVED),
    ("openmp_spins", SPIN, {"openmp_barriers": {"spin": False}}),
    ("openmp_spins", SPIN, {"threads_fit": 5}),
    ("openmp_spins", {**SPIN, **CROWDED_OUT, "threads_fit": 5}, {"waiting": 0.19}),
    ("own_spinlocks", {**STARVED, **RTE}, {"own_locks": RTE["own_locks"][:1]}),
    ("own_spinlocks", {**STARVED, **RTE}, {"wanting": 4.4}),
    ("throttled", {"throttled": 0.001}, {"throttled": 0.0}),
    ("throttled", {"throttled": 0.001}, EFFICIENT),
    ("spins", {"spinning": {"burnt": 0.05}}, {"spinning": {"burnt": 0.049}}),
    ("held_up", {"held_up": {"share": 0.2}}, {"held_up": {"share": 0.19}}),
    ("held_up", {"held_up": {"share": 0.2}}, {"spinning": {"burnt": 0.05}}),
    ("efficient", {**EFFICIENT, "waiting": 0.05}, {"waiting": 0.049}),
    ("efficient", {**EFFICIENT, "waiting": 0.05}, {"held_up": {"share": 0.05}}),
    ("efficient", {**EFFICIENT, "waiting": 0.05}, {"spinning": {"share": 0.05}}),
    ("starved", STARVED, EFFICIENT),
    ("crowded_out", CROWDED_OUT, EFFICIENT),
    ("crowded_out", CROWDED_OUT, {"spinning": {"burnt": 0.05}}),
    ("waits_some", {"waiting": 0.05}, EFFICIENT),
    ("stolen", {"stolen": 0.05}, {"stolen": 0.049}),
    ("starved", {**CPUS, "waiting": 0.2, "wanting": 4.41}, {"waiting": 0.19}),
    ("starved", {**CPUS, "waiting": 0.2, "wanting": 4.41}, {"wanting": 4.4}),
    ("starved", {**CPUS, "waiting": 0.2, "wanting": 1.2, "quota": 1.0}, {"quota": 2.0}),
    ("starved", {**CPUS, "waiting": 0.2, "wanting": 1.2, "quota": 0.5}, {"wanting": 1.1}),
    ("crowded_out", {**CPUS, "waiting": 0.2, "wanting": 1.0}, {"throttled": 0.5}),
    ("crowded_out", {**CPUS, "waiting": 0.2, "wanting": 4.4}, {"wanting": 4.41}),
    ("crowded_out", {**CPUS, "waiting": 0.2, "wanting": 1.0}, {"waiting": 0.19}),
    ("waits_some", {"waiting": 0.05}, {"waiting": 0.049}),
    ("waits_some", {"waiting": 0.19}, {"waiting": 0.2}),
    ("fits", {"waiting": 0.049, "on_cpu": 0.01}, {"waiting": 0.05}),
    ("fits", {"waiting": 0.049, "on_cpu": 0.01}, {"on_cpu": 0.009}),
    ("fits", {"waiting": 0.0, "on_cpu": 1.0, "stolen": 0.0}, {"stolen": 0.05}),
    ("fits", {"waiting": 0.0, "on_cpu": 1.0, "throttled": 0.0}, {"throttled": 0.1}),
    ("was_idle", {"on_cpu": 0.009, "waiting": 0.1}, {"on_cpu": 0.01}),
    ("was_idle", {"on_cpu": 0.009, "waiting": 0.1}, {"waiting": 0.2}),
    ("only_user", SPINS, {"user_mode": 0.94}),
    ("only_user", SPINS, {"spinning": {"share": 0.0}}),
    ("only_user", SPINS, {"on_cpu": 0.09}),
    ("only_user", SPINS, {"involuntary": 10.0}),
    ("sleeps_in_futex", SLEEPS, {"voluntary": 99.0}),
    ("sleeps_in_futex", SLEEPS, {"asleep_in": {"futex": 0.49}}),
    ("sleeps_in_futex", SLEEPS, {"asleep_in": {}}),
    ("crowded", {**CPUS, "runnable": 4.41}, {"runnable": 4.4}),
    ("crowded", {**CPUS, "queued": 0.8}, {"queued": 0.79}),
    ("pressure", {**CPUS, "pressure": 0.2, "runnable": 1.0}, {"pressure": 0.19}),
    ("pressure", {**CPUS, "pressure": 0.2, "runnable": 1.0}, {"runnable": 9.0}),
    ("throttled_before", OFTEN, {"throttled_ever": {"share": 0.049}}),
    ("throttled_seldom", SELDOM, {"throttled_ever": {"share": 0.05}}),
    ("throttled_seldom", SELDOM, {"throttled_ever": {"share": 0.0}}),
    ("miscounted", {**CPUS, **MISCOUNTS, "quota": 3.0}, {"quota": 3.1}),
    ("miscounted", {**CPUS, **MISCOUNTS, "quota": 3.0}, {"counting": {"miscounts": False}}),
    ("quota", {**CPUS, **SELDOM, "quota": 3.9}, {"quota": 4.0}),
    ("quota", {**CPUS, **SELDOM, "quota": 3.9}, OFTEN),
    ("slow_clock", {"clock": 200.0}, {"clock": 199.0}),
    ("pinned", {**CPUS, "cpus_usable": 3}, {"cpus_usable": 4}),
    ("long_slice", {"slice": 3_000_000}, {"slice": 2_900_000}),
    ("free", {**CPUS, "runnable": 4.4}, {"runnable": 4.41}),
    ("free", {**CPUS, "runnable": 1.0, "pressure": 0.19}, {"pressure": 0.2}),
    ("free", {**CPUS, "runnable": 1.0, "stolen": 0.04}, {"stolen": 0.05}),
]


def values(facts: dict[str, Any]) -> Values:
    def known(id_: str, value: Any) -> Known:
        fact = Fact(id_, "", "", "", "", lambda _: Found(value, ""))
        return Known(fact, value, str(value))

    return Values([known(id_, value) for id_, value in facts.items()])


@pytest.mark.parametrize(("rule", "facts", "change"), EDGES)
def test_edges(rule: str, facts: dict[str, Any], change: dict[str, Any]) -> None:
    assert BY_ID[rule].when(values(facts))
    assert not BY_ID[rule].when(values({**facts, **change}))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_rule_applies_where_nothing_is_known(rule: Rule) -> None:
    assert not rule.when(values({}))


def test_every_rule_says_what_to_do() -> None:
    assert len(BY_ID) == len(RULES)
    for rule in RULES:
        assert rule.verdict.endswith(".")
        assert rule.advice, rule.id


def test_preemption_of_holders_is_never_claimed() -> None:
    """From outside it can be likely, on a condition; it cannot be seen."""
    for rule in RULES:
        if "holder preemption" in rule.verdict:
            assert "likely if" in rule.verdict
            assert "cannot be seen" in rule.verdict


def test_of_a_process_its_own_findings_come_first(machines: Machines) -> None:
    assert machines["process_fits"][1].answer is Answer.NO
    crowded = machines["process_crowded_out"][1]
    assert crowded.answer is Answer.LIKELY  # though its machine's answer is graver
    assert crowded.findings[1].rule.scope is Scope.MACHINE


def test_advice_names_the_threads_that_fit(machines: Machines) -> None:
    for name, fit in (("process_openmp_fifo", 2), ("process_openmp_quota", 1)):
        first = machines[name][1].findings[0]
        assert first.advice[0].startswith(f"free: OMP_NUM_THREADS={fit},")


def test_what_is_free_is_advised_first() -> None:
    *free, ours = BY_ID["openmp_fifo"].advice
    assert len(free) == 2
    assert all(advice.startswith("free: ") for advice in free)
    assert "overlock run" in ours


def options_of(command: list[str]) -> set[str]:
    """Of `overlock COMMAND [WORKLOAD]`, as click knows them."""
    found: click.Command = cli
    for word in command:
        with click.Context(found) as context:
            assert isinstance(found, click.Group)
            inner = found.get_command(context, word)
        assert inner, f"there is no command {command}"
        found = inner
    with click.Context(found) as context:
        return {name for param in found.get_params(context) for name in param.opts}


@pytest.mark.parametrize("rule", ["only_user", "own_spinlocks"])
def test_who_may_spin_has_a_free_trial(rule: str) -> None:
    assert any("overlock run --spins -- PROGRAM" in advice for advice in BY_ID[rule].advice)


ADVICE = sorted({advice for rule in RULES for advice in rule.advice})


@pytest.mark.parametrize("advice", ADVICE)
def test_commands_that_are_advised_exist(advice: str) -> None:
    for words in re.findall(r"overlock ((?:bench \w+|run|doctor|profile)[^;:,)]*)", advice):
        command = re.findall(r"^(?:bench \w+|\w+)", words)[0].split()
        named = re.findall(r"(?<![\w-])--[a-z][\w-]*", words.partition(" -- ")[0])
        assert set(named) <= options_of(command), words
    for lock in re.findall(r"--lock ([a-z_]+)", advice):
        assert lock in defs.load().locks
