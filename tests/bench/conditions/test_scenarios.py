# SPDX-License-Identifier: MIT
"""Each scenario does what it says, as seen from outside; and says so when it does not."""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from overlock_tools.bench.conditions import SCENARIOS, Proofs, words
from overlock_tools.bench.conditions.base import Proof, deferred, ended_in_order
from overlock_tools.core.system.errors import Fail
from tests.bench.conditions.conftest import Proofs as Found
from tests.bench.conditions.conftest import Start, hogs_of
from tests.processes import children, read, until

Prove = Callable[..., Found]
SPINNERS = ("--copies-run", "3")  # they want 3 CPUs, and use up a fifth of one


def may_set_quotas() -> bool:
    return os.access("/sys/fs/cgroup/cpu/cgroup.procs", os.W_OK)


needs_quota = pytest.mark.skipif(
    not may_set_quotas(), reason="no cgroup v1 cpu controller that we may write to"
)


def field(file: Path, name: str) -> int:
    found = re.search(rf"^{name}\s*:?\s*(\d+)", file.read_text(), re.MULTILINE)
    assert found, f"{file} has no {name}"
    return int(found[1])


def cpu_seconds(pid: int) -> float:
    words = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


@needs_quota
def test_quota_throttles(start: Start) -> None:
    running = start("--quota", "0.2:20", *SPINNERS, "--cells", "1000")
    (group,) = running.groups()
    assert (group / "cpu.cfs_quota_us").read_text() == "4000\n"
    assert (group / "cpu.cfs_period_us").read_text() == "20000\n"
    cells = until(lambda: children(running.measured or 0))
    inside = set(map(int, (group / "cgroup.procs").read_text().split()))
    assert {running.measured, *cells} <= inside
    assert running.pid not in inside
    before = field(group / "cpu.stat", "throttled_time")
    until(lambda: field(group / "cpu.stat", "throttled_time") > before)
    until(lambda: field(group / "cpu.stat", "nr_throttled") > 5)


def held(proofs: Prove, *args: str) -> Found:
    """All of them, in the shortest time against which the delays of a busy machine are short.

    One that is not in force does not hold in any time.
    """
    for seconds in ("0.5", "5", "50"):
        found = proofs(*args, "--seconds", seconds)
        if all(proof["held"] for proof in found.values()):
            return found
    pytest.fail(str(found))


@needs_quota
def test_quota_is_proven(proofs: Prove) -> None:
    proof = held(proofs, "--quota", "0.2", *SPINNERS)["quota"]
    seen = proof["seen"]
    assert (seen["quota_us"], seen["period_us"]) == (20_000, 100_000)
    assert seen["throttled"] > 0
    assert seen["throttled_seconds"] > 0
    assert 0 < seen["cpu_seconds"] <= 0.2 * (seen["seconds"] + 0.1) * 1.05
    assert "quota of 0.2 CPUs per 100 ms, exhausted in" in proof["words"]


@needs_quota
@pytest.mark.parametrize("fault", ["no quota", "nobody inside"])
def test_quota_that_is_none_is_not_proven(proofs: Prove, fault: str) -> None:
    assert not proofs("--quota", "0.2", *SPINNERS, "--fault", fault)["quota"]["held"]


@needs_quota
def test_quota_that_nobody_uses_up_is_not_proven(proofs: Prove) -> None:
    # Much more than it takes to start and to run for so short a time.
    proof = proofs("--quota", "1.5", "--seconds", "0.01")["quota"]
    assert not proof["held"]
    assert proof["seen"]["throttled"] == 0


@pytest.mark.parametrize(
    ("sort", "policy"),
    [("hogs", os.SCHED_OTHER), ("batch", os.SCHED_BATCH), ("realtime", os.SCHED_FIFO)],
)
def test_background_takes_its_share(start: Start, sort: str, policy: int) -> None:
    running = start("--background", f"2:{sort}", "--cpus", "1", "--cells", "1000")
    hogs = hogs_of(running.pid)
    assert len(hogs) == 2
    for hog in hogs:
        assert os.sched_getscheduler(hog) == policy
        assert os.sched_getaffinity(hog) == os.sched_getaffinity(running.measured or 0)
    until(lambda: all(cpu_seconds(hog) > 0.05 for hog in hogs))


@pytest.mark.parametrize("sort", ["hogs", "batch", "realtime"])
def test_background_is_proven(proofs: Prove, sort: str) -> None:
    proof = held(proofs, "--background", f"2:{sort}")["background"]
    assert len(proof["seen"]["share_of_a_cpu"]) == 2
    assert re.fullmatch(
        r"2 background (CPU hogs|batch processes|real-time processes)( \(5 of every 10 ms\))? "
        r"that took "
        r"\d+ % of the CPUs",
        proof["words"],
    )


def test_realtime_leaves_half_of_the_machine(proofs: Prove) -> None:
    proof = held(proofs, "--background", "8:realtime", "--cpus", "1")["background"]
    assert proof["asked"]["busy_ms"] == 5 / 8
    assert proof["seen"]["share_of_cpus"] < 0.75


@pytest.mark.parametrize(
    ("sort", "fault"),
    [
        ("hogs", "sleepy hogs"),
        ("realtime", "sleepy hogs"),
        ("batch", "polite hogs"),
        ("realtime", "polite hogs"),
        ("hogs", "too few hogs"),
    ],
)
def test_background_that_is_none_is_not_proven(proofs: Prove, sort: str, fault: str) -> None:
    """A sleepy one wants a CPU once a second; in two, no queue for it is as long as that."""
    args = ("--background", f"2:{sort}", "--seconds", "2")
    assert not proofs(*args, "--fault", fault)["background"]["held"]


def test_copies_are_counted(proofs: Prove) -> None:
    proof = held(proofs, "--neighbours", "3", "--copies-run", "3")["neighbours"]
    assert proof["words"] == "3 copies at once"
    for copies in ("1", "2"):
        assert not proofs("--neighbours", "3", "--copies-run", copies)["neighbours"]["held"]


def test_threads_that_come_and_go_are_seen(proofs: Prove) -> None:
    assert held(proofs, "--phases", "3", "--phases-run", "3")
    assert not proofs("--phases", "3")["phases"]["held"]


def takes_slices() -> bool:
    release = os.uname().release.split(".")
    return (int(release[0]), int(release[1])) >= (6, 12)


needs_slices = pytest.mark.skipif(not takes_slices(), reason="Linux before 6.12 takes no slices")


@needs_slices
def test_slices_are_in_force(start: Start) -> None:
    running = start("--slice", "0.5", "--slice-run", "500", "--cells", "1000")
    hogs = hogs_of(running.pid)
    assert len(hogs) == len(os.sched_getaffinity(0))
    for hog in hogs:
        assert field(Path(f"/proc/{hog}/task/{hog}/sched"), "se.slice") == 500_000


@needs_slices
def test_slices_are_proven(proofs: Prove) -> None:
    proof = held(proofs, "--slice", "0.5", "--slice-run", "500")["slice"]
    assert 500 in proof["seen"]["slices_us"]
    assert proof["seen"]["neighbours_mean_on_cpu_ms"] > 0


@needs_slices
def test_slices_that_the_cells_have_not_are_not_proven(proofs: Prove) -> None:
    assert not proofs("--slice", "0.5")["slice"]["held"]


@needs_slices
def test_slice_that_the_kernel_does_not_keep_is_refused(start: Start) -> None:
    _, err = start("--slice", "0.5", "--fault", "hogs with other slices").ended()
    assert re.fullmatch(r"overlock: --slice 0.5: this kernel keeps slices of 20 ms; .*\n", err)


@needs_quota
def test_scenarios_combine(proofs: Prove) -> None:
    args = ("--quota", "0.2", "--background", "1:hogs", "--neighbours", "3")
    assert set(held(proofs, *args, *SPINNERS)) == {"quota", "background", "neighbours"}


def gone() -> Proof:
    raise FileNotFoundError(2, "No such file or directory")


def test_what_cannot_be_looked_at_has_not_held() -> None:
    proof = Proofs({"quota": gone}).collect()
    assert not proof["quota"]["held"]
    said = "quota could not be verified: No such file or directory (NOT HELD)"
    assert words(proof) == said


def test_signal_waits_for_what_must_be_whole() -> None:
    done = []

    def write() -> None:
        with deferred():
            for number in (signal.SIGTERM, signal.SIGINT):
                os.kill(os.getpid(), number)
                done.append(number)

    with pytest.raises(KeyboardInterrupt):
        write()
    assert done == [signal.SIGTERM, signal.SIGINT]


def test_deferred_signals_get_through_where_things_are_undone() -> None:
    with deferred(), pytest.raises(KeyboardInterrupt), ended_in_order():
        os.kill(os.getpid(), signal.SIGHUP)


REFUSED = [
    ("neighbours", "1", r"'1' is not a whole number from 2 to 5, as in --neighbours 2"),
    ("neighbours", "many", r"'many' is not a whole number"),
    ("quota", "nan", r"'nan' is not a number from 0.01 to 10000, as in 1.5 or 1.5:20"),
    ("quota", "1:0.1", r"'0.1' is not a number from 1 to 1000"),
    ("quota", "0.01:5", r"less than 1 ms per period; give a longer"),
    ("background", "2", r"'2' is not N:hogs\|batch\|realtime, such as 2:hogs"),
    ("background", "0:hogs", r"'0' is not a whole number from 1 to 1000"),
    ("phases", "1", r"'1' is not a whole number from 2 to 1000"),
    ("slice", "0.05", r"'0.05' is not a number from 0.1 to 100"),
    ("slice", "½", r"'½' is not"),
]


@pytest.mark.parametrize(("name", "text", "why"), REFUSED)
def test_impossible_settings(name: str, text: str, why: str) -> None:
    (scenario,) = (s for s in SCENARIOS if s.name == name)
    with pytest.raises(Fail, match=f"^--{name}.*: {why}"):
        scenario.parse(text)
