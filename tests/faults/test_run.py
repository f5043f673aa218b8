# SPDX-License-Identifier: MIT
"""Programs under the interposer are right, refused at the start, or end as natively."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.faults.conftest import ABORTED, GLIBC_ABORTS, Denial, Deny, Ended, each_denial

RIGHT = {
    "mutexes": (("mutexes", "4", "2000", "3"), "begin\nlost 0\n"),
    "conditions": (("conditions", "3", "30"), "begin\nturns 90\n"),
    "deadline": (("deadline",), "begin\nin time\n"),
}
# In the mutex, with nodes, parking, patient, and outside the mutex.
LOCKS = ["tas_yield", "ticket", "mcs", "pv_ticket", "pv_preemptable_ticket", "partitioned_ticket"]
DIAGNOSTICS: dict[str, tuple[str, dict[str, str]]] = {
    "sites": ("", {"OVERLOCK_SITES": "partitioned_ticket count\nmcs *"}),
    "counters": ("-counted", {"OVERLOCK_OUTPUT": "@/report"}),
    "live": ("-counted", {"OVERLOCK_OUTPUT": "@/report", "OVERLOCK_LIVE": "@"}),
    "stacks": ("-counted", {"OVERLOCK_OUTPUT": "@/report", "OVERLOCK_STACKS": "wait"}),
    "on demand": ("-counted", {"OVERLOCK_OUTPUT": "@/report", "OVERLOCK_SIGNAL": "10"}),
    "check": ("-checked", {"OVERLOCK_CHECK": "1", "OVERLOCK_DEADLOCK_NS": "100000000"}),
}


def is_right(ended: Ended, expected: str) -> bool:
    return (ended.code, ended.out, ended.err) == (0, expected, "")


def but_for_reports(ended: Ended) -> Ended:
    """Without the lines that say that there is no report, and no counters to read."""
    said = r"OVERLOCK_(OUTPUT|LIVE)=|the report cannot be written to "
    told = re.fullmatch(rf"(overlock: ({said})[^\n]+\n)+", ended.err)
    return replace(ended, err="") if told else ended


def aborts_in_glibc(ended: Ended) -> bool:
    return ended.code == ABORTED and ended.err.strip() == GLIBC_ABORTS


def judge(ended: Ended, natively: Ended, denial: Denial, expected: str) -> None:
    """glibc aborts any program that has to wait for a mutex without futexes, if it does wait."""
    assert (
        is_right(ended, expected)
        or ended.refused_in_words()
        or (natively.code and ended == natively)
        or (denial.words[0] == "futex" and aborts_in_glibc(ended))
    ), (ended, natively)


@pytest.mark.parametrize("what", RIGHT)
@each_denial
def test_a_program_is_no_worse_than_natively(
    deny: Deny, work: Path, denial: Denial, what: str
) -> None:
    words, expected = RIGHT[what]
    program: list[str | Path] = [work, *words]
    natively = deny(denial, program)
    library = native.file("liboverlock-run.so")
    for lock in LOCKS:
        ended = deny(denial, program, library, OVERLOCK_LOCK=lock)
        judge(ended, natively, denial, expected)


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
@pytest.mark.parametrize("lock", LOCKS)
def test_a_deadline_comes_without_futexes(deny: Deny, work: Path, lock: str, error: str) -> None:
    library = native.file("liboverlock-run.so")
    ended = deny(Denial(("futex", error)), [work, "deadline"], library, OVERLOCK_LOCK=lock)
    assert is_right(ended, "begin\nin time\n"), ended


def diagnosed(
    deny: Deny, denial: Denial, program: list[str | Path], kind: str, folder: Path
) -> Ended:
    flavour, more = DIAGNOSTICS[kind]
    told = {name: value.replace("@", str(folder)) for name, value in more.items()}
    return deny(denial, program, native.file(f"liboverlock-run{flavour}.so"), **told)


@pytest.mark.parametrize("kind", DIAGNOSTICS)
@each_denial
def test_nor_are_diagnostics(
    deny: Deny, work: Path, tmp_path: Path, denial: Denial, kind: str
) -> None:
    """One thread waits for no mutex: nothing of glibc's may abort it."""
    program: list[str | Path] = [work, "mutexes", "1", "2000", "3"]
    ended = but_for_reports(diagnosed(deny, denial, program, kind, tmp_path))
    assert (
        is_right(ended, "begin\nlost 0\n")
        or ended.refused_in_words()
        or ended == deny(denial, program)
    ), ended


@pytest.mark.parametrize("kind", ["stacks", "on demand", "check"])
def test_what_needs_futexes_is_refused(deny: Deny, work: Path, tmp_path: Path, kind: str) -> None:
    ended = diagnosed(deny, Denial(("futex", "EPERM")), [work, "deadline"], kind, tmp_path)
    assert ended.refused_in_words(), ended
    assert "run without --check, --stacks" in ended.err


@pytest.mark.parametrize("lock", LOCKS)
def test_a_filter_that_kills_for_what_glibc_does_not_call(
    deny: Deny, work: Path, lock: str
) -> None:
    ended = deny(
        Denial(("gettid", "KILL"), late=True),
        [work, "deadline"],
        native.file("liboverlock-run.so"),
        OVERLOCK_LOCK=lock,
    )
    assert is_right(ended, "begin\nin time\n"), ended


CALLED = (
    "sched_yield",
    "sched_getscheduler",
    "rt_sigprocmask",
    "sched_getaffinity",
    "sched_getattr",
    "prctl",
)


@pytest.mark.parametrize("flavour", ["", "-counted", "-checked"])
@pytest.mark.parametrize("call", CALLED)
def test_a_filter_that_kills_is_found_at_the_start(deny: Deny, call: str, flavour: str) -> None:
    denial = Denial((call, "KILL"), late=True)
    assert is_right(deny(denial, ["true"]), "")
    ended = deny(denial, ["true"], native.file(f"liboverlock-run{flavour}.so"))
    assert ended.refused_in_words(), ended
    assert f"a seccomp filter ends programs that call {call};" in ended.err
