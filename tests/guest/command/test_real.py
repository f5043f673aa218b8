# SPDX-License-Identifier: MIT
"""A real kernel in a real QEMU, where one was built; `make guest-test` builds it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.model import defs
from overlock_tools.core.trace import format as traces
from overlock_tools.core.trace.format import ACQUIRE, RELEASE
from overlock_tools.guest import paths
from tests.command import Overlock
from tests.core.trace.made_up import Step, made_up
from tests.processes import HANG_S

BUILT = paths.home().built()
REQUIRED = os.environ.get("OVERLOCK_GUEST_TEST") == "1"
pytestmark = pytest.mark.skipif(
    BUILT is None and not REQUIRED,
    reason="there is no guest kernel, so only the parts are tested; `make guest-test` builds one",
)
# What `make test` does not need to know, if somebody has built a kernel.
LONG = pytest.mark.skipif(not REQUIRED, reason="`make guest-test` runs it, and takes minutes")
RUN = ("guest", "run", "--smp", "2", "--rounds", "1")
LIAR = Path(__file__).with_name("lying_hostd.py")


def measured(overlock: Overlock, folder: Path, *asked: str, seconds: float = HANG_S) -> Any:
    """The result of a run of one round."""
    done = overlock(*RUN, *asked, "--json", "r.json", seconds=seconds)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "r.json").read_text())


def test_the_guest_says_which_lock_it_runs(overlock: Overlock) -> None:
    done = overlock("guest", "boot", "--lock", "preemptable_ticket", "--smp", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("lock in force: preemptable_ticket")


def test_the_kernel_knows_what_a_lock_was_called(overlock: Overlock) -> None:
    old, now = next(iter(defs.load().aliases.items()))
    done = overlock("guest", "boot", "--lock", f"native@spinlock={old}", "--smp", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"lock in force: {now}")


def test_two_locks_under_locktorture(overlock: Overlock, tmp_path: Path) -> None:
    asked = ("--lock", "preemptable_ticket", "--baseline", "ticket", "--load", "locktorture")
    cells = measured(overlock, tmp_path, *asked, "--seconds", "5")["cells"]
    assert {cell["variant"] for cell in cells} == {"ticket", "preemptable_ticket"}
    assert all(cell["work"] > 0 and not cell["wrong"] for cell in cells)


def test_busted_is_caught_by_the_loop(overlock: Overlock) -> None:
    asked = ("--lock", "busted", "--baseline", "busted", "--seconds", "1")
    done = overlock(*RUN, *asked)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "WRONG: busted with 2 vCPUs" in done.stdout


# An older kernel has nothing to wait with.
STALE = pytest.mark.skipif(
    not REQUIRED and BUILT is not None and paths.is_of_other_sources(BUILT),
    reason="the guest kernel was built from other sources; `overlock guest build` updates it",
)
SPINNERS = ("spin_barrier", "yield_barrier")  # of which a time slice may not see a single round
MEET = ("--load", "rounds", "--seconds", "0.5")


@STALE
@pytest.mark.parametrize("irqs_off", ["0", "1"])
def test_vcpus_meet_at_each_barrier(overlock: Overlock, tmp_path: Path, irqs_off: str) -> None:
    """With interrupts disabled only a kick wakes a waiter: one that is lost hangs the guest."""
    asked = (*MEET, "--lock", "all", "--smp", "4", "--parameter", f"irqs_off={irqs_off}")
    body = measured(overlock, tmp_path, *asked, seconds=200)
    barriers = {barrier.id for barrier in defs.load().barriers.values() if barrier.simulated}
    assert {cell["variant"] for cell in body["cells"]} == barriers
    for cell in body["cells"]:
        assert not cell["wrong"]
        assert cell["drained"]
        assert min(cell["per_thread"]) > 0 or cell["variant"] in SPINNERS
        # Nobody is more than a round ahead; all move on by one while the counts are read, twice.
        assert max(cell["per_thread"]) - min(cell["per_thread"]) <= 4
        assert body["native"]["in_force"][cell["variant"]] == "native qspinlock (halt+nmi)"


@STALE
def test_a_barrier_that_opens_too_early_is_caught(overlock: Overlock) -> None:
    asked = (*MEET, "--lock", "busted_barrier", "--baseline", "busted_barrier")
    done = overlock(*RUN, *asked)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "WRONG: busted_barrier with 2 vCPUs: a context passed the barrier" in done.stdout


@STALE
def test_waits_park_only_if_that_is_asked_for(overlock: Overlock, tmp_path: Path) -> None:
    asked = (*MEET, "--baseline", "barrier@overlock.park=spin")
    in_force = measured(overlock, tmp_path, *asked)["native"]["in_force"]
    assert list(in_force.values()) == ["native qspinlock (spin)"]


@LONG
def test_sections_are_as_long_as_they_were_asked_for(overlock: Overlock, tmp_path: Path) -> None:
    asked = ("--lock", "tas", "--baseline", "tas", "--parameter", "sections_cs=40000")
    (summary,) = measured(overlock, tmp_path, *asked, "--seconds", "1")["summary"]
    assert summary["measures"]["hold"] > 30_000  # ns; nothing shortens it, much can lengthen it


@LONG
def test_a_guest_that_sees_a_hypervisor_falls_back(overlock: Overlock) -> None:
    done = overlock("guest", "boot", "--smp", "2", "--accel", "tcg", "--hypervisor")
    assert done.returncode == 0, done.stderr
    assert "test-and-set" in done.stdout
    hidden = overlock("guest", "boot", "--smp", "2", "--accel", "tcg", "--no-hypervisor")
    assert "qspinlock" in hidden.stdout
    by_name = overlock("guest", "boot", "--smp", "2", "--accel", "tcg", "--lock", "native_tas")
    assert "lock in force: native test-and-set" in by_name.stdout


def lacking_for_slices() -> str:
    if not (Path(os.environ["OVERLOCK_NATIVE"]) / "overlock-hostd").exists():
        return "overlock-hostd is not built here"
    if os.geteuid() or not Path("/sys/kernel/btf/vmlinux").exists():
        return "overlock-hostd needs root, and a kernel with BTF"
    return ""


@pytest.mark.skipif(bool(lacking_for_slices()), reason=lacking_for_slices() or "-")
def test_a_guest_takes_its_slice_page(overlock: Overlock, tmp_path: Path) -> None:
    asked = ("--lock", "i_spin", "--baseline", "i_spin", "--seconds", "1", "--slice-page")
    told = measured(overlock, tmp_path, *asked)["native"]["slices"]["i_spin"]
    assert told["begun"]["watching"] == 2
    assert told["ended"]["slices"] > 10
    assert told["ended"]["error_ns"]["count"]
    if looked := told["looked"]:  # a kernel that counts
        assert looked["looks"] > 100 * looked["unknown"]


@pytest.fixture
def liar(hostd: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """An agent that tells of slices what the test says."""
    hostd(LIAR.read_text())

    def lie(**ms: int) -> None:
        for name, value in ms.items():
            monkeypatch.setenv(name.upper(), str(value))

    return lie


def looked_at(overlock: Overlock, folder: Path) -> tuple[dict[str, Any], float]:
    """What a counting kernel saw of its slices under i_spin, and how many ms they lasted."""
    asked = ("--variant", "counted", "--lock", "i_spin", "--baseline", "i_spin", "--slice-page")
    body = measured(overlock, folder, *asked, "--seconds", "2")
    found = body["native"]["slices"]["i_spin"]
    return found["looked"], found["ended"]["lasted_ms"]


@LONG
@pytest.mark.parametrize(("lasts", "told"), [(20, 60), (25, 5)])
def test_a_guest_sees_how_true_the_ends_are(
    overlock: Overlock, tmp_path: Path, liar: Callable[..., None], lasts: int, told: int
) -> None:
    liar(lasts=lasts, told=told, stopped=0)
    looked, lasted = looked_at(overlock, tmp_path)
    ended, other = ("early_ns", "late_ns") if lasts < told else ("late_ns", "early_ns")
    assert looked[ended]["count"] > 50  # of two vCPUs and some 80 slices
    assert looked[other]["count"] < looked[ended]["count"] / 5
    assert 0.7 < looked[ended]["p50"] * 1e-6 / abs(lasted - told) < 1.5


@LONG
def test_who_tells_may_be_stopped_half_way(
    overlock: Overlock, tmp_path: Path, liar: Callable[..., None]
) -> None:
    liar(lasts=20, told=60, stopped=5)
    looked, _ = looked_at(overlock, tmp_path)
    assert looked["looks"] / 20 < looked["unknown"] < looked["looks"] / 2


@LONG
@pytest.mark.parametrize("load", ["hackbench", "ebizzy", "kernbench", "pbzip2", "pgbench"])
def test_a_load_works_and_checks_itself(overlock: Overlock, tmp_path: Path, load: str) -> None:
    """Its programs are fetched where they are not installed."""
    asked = ("--lock", "tas", "--baseline", "tas", "--load", load, "--seconds", "2")
    (cell,) = measured(overlock, tmp_path, *asked, seconds=400)["cells"]
    assert cell["work"] > 0
    assert not cell["wrong"]
    assert not cell["cut"]


def nested(outer: int, inner: int) -> list[Step]:
    taken: list[Step] = [(ACQUIRE, outer, 3000), (ACQUIRE, inner, 2000)]
    return [*taken, (RELEASE, outer, 2000), (RELEASE, inner, 4000)]


def recorded(file: Path) -> None:
    """By three threads, one of which slept for 2 ms within its first section."""
    trace = made_up([nested(0, 1) * 200, nested(0, 2) * 200, nested(1, 2) * 200])
    trace.events["idle_ns"][1] = 2_000_000
    traces.write(file, trace)


def test_a_trace_is_replayed_in_order(overlock: Overlock, tmp_path: Path) -> None:
    recorded(tmp_path / "t.trace")
    asked = ("--lock", "tas", "--baseline", "tas", "--replay", "t.trace", "--seconds", "1")
    done = overlock(*RUN, *asked, "--json", "r.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "moved behind their sections: 1 sleeps, 0.002 s in all" in done.stdout
    (cell,) = json.loads((tmp_path / "r.json").read_text())["cells"]
    (replay,) = cell["replays"]
    assert replay["in_order"] == 1
    assert replay["replayed"]["acquisitions"] == 1200
    assert replay["pass_seconds"] > 0.002
    assert cell["work"] > 600
    assert not cell["wrong"]


@LONG
def test_busted_is_caught_by_a_replay(overlock: Overlock, tmp_path: Path) -> None:
    recorded(tmp_path / "t.trace")
    asked = ("--lock", "busted", "--baseline", "busted", "--replay", "t.trace", "--seconds", "1")
    done = overlock(*RUN, *asked)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "WRONG: busted with 2 vCPUs" in done.stdout


@LONG
def test_the_loop_counts_who_had_lost_its_cpu(overlock: Overlock, tmp_path: Path) -> None:
    """With four times as many vCPUs as CPUs somebody has; of a lock that is not ours, too."""
    asked = ("--lock", "tas", "--parameter", "preemptions=1", "--pool", "0", "--seconds", "2")
    body = measured(overlock, tmp_path, *asked, "--smp", "4")
    assert body["native"]["slices_by"] in {"gaps", "steal", "told"}
    for cell in body["cells"]:
        counted = cell["events"]
        assert counted["ACQUIRE"] > 0
        assert counted["STALL"] >= counted["STALL_HELD"] + counted["STALL_FREE"]
        assert 0 < counted["LHP"] + counted["LWP"] <= 2 * counted["ACQUIRE"]
        assert 1 <= cell["queue_max"] <= 3


@LONG
def test_instructions_are_counted_exactly(overlock: Overlock, tmp_path: Path) -> None:
    found = []
    for name in ("a.json", "b.json"):
        done = overlock("guest", "instructions", "--lock", "ticket", "--json", name)
        assert done.returncode == 0, done.stdout + done.stderr
        found.append(json.loads((tmp_path / name).read_text())["instructions"])
    assert found[0] == found[1]
    assert 0 < found[0]["native"]["both"] <= found[0]["ticket"]["both"] < 100
