# SPDX-License-Identifier: MIT
"""A counterexample can be read: its lines fit, nothing that matters is hidden, loops are short."""

import re
from dataclasses import replace
from typing import Any

import pytest

from overlock_tools.check.chart import chart
from overlock_tools.check.job import Job, Size, Subject
from overlock_tools.check.outcome import Outcome
from tests.check.command.story import HEADER, STEPS, events, failure
from tests.conftest import TOP

MARKS = {3, 19, 23, 25}  # told with the step that they come from
SOURCE = (TOP / "include/overlock/lock" / HEADER).read_text().splitlines()


def drawn(width: int, told: dict[str, Any] | None = None, contexts: int = 2) -> list[str]:
    job = Job(Subject("pv_ticket"), size=Size(contexts, 2), model="tso")
    result = {"verdict": "fails", "failure": told or failure()}
    return [line.plain for line in chart(Outcome(job, result), width)]


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_it_fits(width: int) -> None:
    lines = drawn(width)
    assert max(map(len, lines)) <= width
    assert len(lines) <= 40  # a page


@pytest.mark.parametrize("width", [80, 120, 200])
def test_every_step_is_there_but_the_repeated(width: int) -> None:
    shown = {int(found[1]) for line in drawn(width) if (found := re.match(r"[✗ ] +(\d+) ", line))}
    assert shown == set(range(1, len(STEPS) + 1)) - MARKS - {11, 12, 13, 14}


def row(lines: list[str], step: int) -> str:
    [line] = [line for line in lines if re.match(rf"[✗ ] +{step} ", line)]
    return line


def test_a_row_has_values_order_and_the_line() -> None:
    lines = drawn(200)
    assert "cas acquire" in row(lines, 2)
    assert "lock 0x0 → 0x20000" in row(lines, 2)
    assert row(lines, 18).endswith(" ".join(SOURCE[139].split()))
    assert " 140  " in row(lines, 18)
    assert "client.cpp:88" in row(lines, 8)
    assert lines[0].endswith("line of pv_ticket.h")


def test_orders_are_abbreviated_where_it_is_narrow_and_explained() -> None:
    lines = drawn(80)
    assert "cas.acq" in row(lines, 2)
    assert "acq acquire" in " ".join(lines[-3:])
    assert "uint32_t w = ol_load" in row(lines, 1)


def columns(lines: list[str]) -> list[int]:
    return [lines[0].index(name) for name in ("T1", "T2")]


def test_contexts_have_columns_of_their_own() -> None:
    lines = drawn(120)
    first, second = columns(lines)
    assert row(lines, 1)[first:].startswith("│ load relaxed")
    assert row(lines, 4)[second:].startswith("│ load relaxed")


def test_what_a_store_buffer_does_is_in_its_context_s_column() -> None:
    lines = drawn(120)
    assert row(lines, 27)[columns(lines)[0] :].startswith("│ drain")


def test_who_is_off_who_sleeps_who_holds() -> None:
    lines = drawn(120)
    first, second = columns(lines)
    line_of_t1 = "".join(row(lines, n)[first] for n in (1, 2, 4, 8, 9, 16, 17, 18, 20, 26))
    assert line_of_t1 == "│┏┃┃░░┃┗││"  # it holds the lock, is off its CPU meanwhile, releases
    assert row(lines, 17)[second] == "z"
    assert [row(lines, n)[second] for n in (21, 22, 24)] == ["│", "┏", "┗"]
    assert row(lines, 28)[second] == " "  # done
    legend = " ".join(lines[-2:])
    for word in ("░ off its CPU", "z sleeps until a kick", "┃ holds the lock"):
        assert word in legend


def test_the_failing_step_is_marked() -> None:
    [marked] = [line for line in drawn(120) if line.startswith("✗")]
    assert marked.split()[1] == "28"
    assert "FAILS" in marked
    assert "use after release" in marked


def test_where_nobody_can_go_on_the_end_is_marked() -> None:
    """A deadlock is no step of anybody."""
    told = {**failure(), "property": "deadlock"}
    told["events"][-1]["what"] = "FAILURE: deadlock: T1 relaxes at ..."
    lines = drawn(120, told)
    [marked] = [line for line in lines if line.startswith("✗")]
    assert "deadlock" in marked
    assert "FAILS" not in marked
    first, second = columns(lines)
    assert (marked[first], marked[second].strip()) == ("│", "")
    told["events"].pop()  # nor need it be told
    assert "deadlock" in next(line for line in drawn(120, told) if line.startswith("✗"))


def test_an_execution_that_does_not_fail_has_no_such_mark() -> None:
    told = {**failure(), "property": "none"}
    told["events"].pop()
    job = Job(Subject("pv_ticket"), replay="1*2")
    lines = chart(Outcome(job, {"verdict": "holds", "failure": told}), 120)
    assert lines
    assert not [line for line in lines if "✗" in line.plain]


def test_a_loop_is_told_once() -> None:
    lines = drawn(120)
    [remark] = [line for line in lines if "times more" in line]
    assert "–14" in remark
    assert "the 2 steps above, 2 times more" in remark


def test_what_differs_is_not_the_same() -> None:
    """A spin that reads another value is told, however alike it is."""
    told = failure()
    told["events"][12]["old"] = told["events"][12]["new"] = "0x40008"
    lines = drawn(120, told)
    assert not [line for line in lines if "2 times more" in line]
    assert "lock is 0x40008" in row(lines, 13)


def test_nor_is_a_loop_in_which_somebody_loses_its_cpu() -> None:
    told = failure()
    told["events"][12]["state"] = ["runs", "runs"]
    assert "lock is 0x40000" in row(drawn(120, told), 13)


def test_many_contexts_on_a_narrow_terminal() -> None:
    told = failure()
    for event in told["events"]:
        event["state"] = event["state"] + ["runs"] * 3
    lines = drawn(80, told, 5)
    assert max(map(len, lines)) <= 80
    assert "0x20000" in row(lines, 2)


def test_nothing_known_but_words() -> None:
    """Whatever a later checker leaves out, the rest is told."""
    bare = [{key: e[key] for key in ("n", "context", "what")} for e in events()]
    lines = drawn(100, {**failure(), "events": bare})
    assert re.search(r"cas_acquire +│ +lock: 0x0 -> 0x20000", row(lines, 2))


def test_no_events_no_chart() -> None:
    assert drawn(100, failure(told=False)) == []


def test_collapsing_keeps_the_count() -> None:
    """Rows told and rows repeated are as many as there were."""
    from overlock_tools.check.steps import Row, collapsed

    loop = [Row(str(n), 1, op=op) for n, op in enumerate("abcabcabcabd", 1)]
    rows = collapsed(loop)
    assert [r.op for r in rows if not r.remark] == list("abcabd")
    assert [r.remark for r in rows if r.remark] == ["the 3 steps above, 2 times more"]
    assert collapsed([replace(loop[0], step=str(n)) for n in range(5)])[1].remark == (
        "the step above, 4 times more"
    )


def test_a_long_cycle_is_told_once() -> None:
    """Two contexts that give way to each other for ever come round in a dozen steps."""
    from overlock_tools.check.steps import Row, collapsed

    rows = collapsed([Row(str(n), 1, op="abcdefghijkl"[n % 12]) for n in range(4800)])
    assert len(rows) == 13
    assert rows[-1].remark == "the 12 steps above, 399 times more"
