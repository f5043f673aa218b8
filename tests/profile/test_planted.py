# SPDX-License-Identifier: MIT
"""Programs with planted causes: the lock, the cause, and how much, as the program itself measured.

The work is fixed and the shares are of the same waits, so a busy machine changes both sides alike.
Where the cause would be another one on a busy machine, the program's threads are real-time ones.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlock_tools.profile import advice, show
from tests.profile.conftest import (
    PLANTED,
    Build,
    Profiled,
    needs_bpf,
    profile,
    profile_running,
)
from tests.sim.command.test_timeline import fault

WITHIN = 0.10
CGROUPS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))

# The program, its lock, and what its holder is kept by.
HOLDERS = (
    ("holder_fifo", "fifo_lock", "holder_preempted"),
    ("holder_sibling", "shared_lock", "holder_preempted"),
    ("holder_neighbour", "beset_lock", "holder_preempted"),
    ("holder_io", "io_lock", "holder_io"),
    ("holder_sleeps", "slow_lock", "holder_asleep"),
    ("holder_lock", "outer_lock", "holder_lock"),
    ("two_locks", "sick_lock", "holder_asleep"),
    ("own_mutex", "own_lock", "holder_asleep"),
    ("barger", "passed_by", "holder_asleep"),
)

pytestmark = needs_bpf


def parts(found: Profiled) -> dict[str, float]:
    """Of the lock's waits: the holder works, it is kept from working, nobody has the lock."""
    split = found.lock["split"]
    total = sum(split.values())
    kept = sum(ns for name, ns in split.items() if name.startswith("holder"))
    kept -= split.get("holder_running", 0)
    free = split.get("next_preempted", 0) + split.get("wake_up", 0)
    sums = {"worked": split.get("holder_running", 0), "kept": kept, "free": free}
    return {name: ns / total for name, ns in sums.items()}


def check(found: Profiled) -> None:
    """What the program measured, and what was seen from outside."""
    truth, lock = found.truth, found.lock
    assert lock["wait_ns"] == pytest.approx(truth["wait_ns"], rel=WITHIN)
    assert sum(lock["split"].values()) == pytest.approx(lock["wait_ns"], rel=0.001)
    for name, share in parts(found).items():
        assert share == pytest.approx(truth[f"{name}_ns"] / truth["wait_ns"], abs=WITHIN), name


@pytest.mark.parametrize(("name", "variable", "cause"), HOLDERS)
def test_the_holder_is_kept(
    build: Build, tmp_path: Path, name: str, variable: str, cause: str
) -> None:
    found = profile(build(name), tmp_path)
    check(found)
    main = advice.main_lock(found.report)
    assert main
    assert main["name"] == variable
    assert main["address"] == found.truth["address"]
    assert main["holder_by"] == ("its wake-ups" if name == "own_mutex" else "the mutex")
    assert f"`{variable}`" in found.said
    if found.truth["kept_ns"] > found.truth["wait_ns"] / 2:  # how turns fall out decides about one
        assert advice.main_cause(main)[0] == cause
        assert cause in [one["cause"] for one in found.report["advice"]]


@pytest.mark.parametrize(
    ("name", "taker", "sibling"),
    [
        ("holder_fifo", "intruder", True),
        ("holder_neighbour", "neighbour", False),
    ],
)
def test_who_took_the_cpu(
    build: Build, tmp_path: Path, name: str, taker: str, sibling: bool
) -> None:
    found = profile(build(name), tmp_path)
    who = advice.takers(found.lock, "holder_preempted")[0]
    assert (who["taker"], who["sibling"]) == (taker, sibling)


def test_what_the_holder_sleeps_in(build: Build, tmp_path: Path) -> None:
    found = profile(build("holder_sleeps"), tmp_path)
    assert advice.takers(found.lock, "holder_asleep")[0]["call"] == "clock_nanosleep"
    holders = [stack for stack in found.lock["stacks"] if stack["of"] == "holder"]
    assert any("rest" in [call["function"] for call in stack["calls"]] for stack in holders)


def test_the_holder_s_stack_is_not_of_one_that_has_released_it(
    build: Build, tmp_path: Path
) -> None:
    """Who had the lock before sleeps meanwhile, without it."""
    found = profile(build("holder_lock"), tmp_path)
    holders = [stack for stack in found.lock["stacks"] if stack["of"] == "holder"]
    assert holders
    assert not [stack for stack in holders if "rest" in [c["function"] for c in stack["calls"]]]


def test_the_section_is_merely_long(build: Build, tmp_path: Path) -> None:
    found = profile(build("long_section"), tmp_path)
    check(found)
    main = advice.main_lock(found.report)
    assert main
    assert (main["name"], advice.main_cause(main)[0]) == ("long_lock", "holder_running")
    assert found.report["advice"][0]["predicted"] is None


def test_the_waiter_is_preempted(build: Build, tmp_path: Path) -> None:
    found = profile(build("waiter_preempted"), tmp_path)
    check(found)
    main = advice.main_lock(found.report)
    assert main
    assert (main["name"], advice.main_cause(main)[0]) == ("passed_lock", "next_preempted")
    assert advice.takers(main, "next_preempted")[0]["taker"] == "intruder"


@pytest.fixture
def group() -> Iterator[Path]:
    """A fifth of a CPU, in periods that are short beside the program.

    Its weight is the most: beside busy neighbours it would else get less than its quota, and
    never be throttled. Its name is its own: the tests may run twice at a time.
    """
    for base in CGROUPS:
        version_1 = (base / "cpu.cfs_quota_us").exists()
        if not version_1 and "cpu" not in read(base / "cgroup.subtree_control"):
            continue
        folder = base / f"overlock-test-profile-{os.getpid()}"
        folder.mkdir()
        if version_1:
            (folder / "cpu.cfs_period_us").write_text("50000")
            (folder / "cpu.cfs_quota_us").write_text("10000")
            (folder / "cpu.shares").write_text("262144")
        else:
            (folder / "cpu.max").write_text("10000 50000")
            (folder / "cpu.weight").write_text("10000")
        yield folder
        folder.rmdir()
        return
    pytest.skip("no cgroup with a CPU quota can be made here")


def read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def test_the_quota_is_used_up(build: Build, tmp_path: Path, group: Path) -> None:
    found = profile(build("holder_throttled"), tmp_path, str(group))
    check(found)
    assert found.lock["name"] == "quota_lock"
    assert found.lock["split"]["holder_throttled"] > 0
    assert found.report["quota"] == pytest.approx(0.2)
    causes = [one["cause"] for one in found.report["advice"]]
    assert "holder_throttled" in causes or "holder_preempted" in causes  # on a busy machine


@pytest.fixture
def hogs() -> Iterator[None]:
    """Two for each CPU."""
    found = [
        subprocess.Popen(["sh", "-c", "while :; do :; done"])
        for _ in range(2 * (os.cpu_count() or 1))
    ]
    yield
    for hog in found:
        hog.kill()
        hog.wait()


@pytest.mark.usefixtures("hogs")
def test_who_spins(build: Build, tmp_path: Path) -> None:
    """The word that is spun on, and that its holder is preempted.

    Real-time threads have all CPUs until the end, and what they leave is wanted by others: who
    watches must read the program's objects before that.
    """
    found = profile(build("spin_preempted"), tmp_path)
    main = advice.main_lock(found.report)
    assert main
    assert main["kind"] == "spinlock"
    assert main["address"] == found.truth["address"]
    assert main["loops"][0]["name"].startswith("spin_preempted+0x")
    assert f"loop {main['loops'][0]['name']}, wait" in found.said
    assert main["wait_ns"] == pytest.approx(found.truth["wait_ns"], rel=2 * WITHIN)
    assert advice.main_cause(main)[0] == "holder_preempted"
    share = main["split"]["holder_preempted"] / sum(main["split"].values())
    truth = found.truth["kept_ns"] / found.truth["wait_ns"]
    assert share == pytest.approx(truth, abs=WITHIN)


# What spins, as it is called, and where.
SPINNING = (
    ("barrier", "spin barrier", "gather"),
    ("two", "spin barrier", "gather"),
    ("mailbox", "poll", "mailbox"),
    ("pool", "pool that spins", "obtain"),
    ("ticket", "FIFO spinlock", "ticket"),
    ("queue", "FIFO spinlock", "queue"),
    ("yields", "yield loop", "yields"),
)


WAYS = {"--": profile, "--pid": profile_running}


@pytest.mark.parametrize("by", ["bpf", "looks"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("planted", SPINNING, ids=[what for what, _, _ in SPINNING])
def test_what_threads_spin_at(
    build: Build, tmp_path: Path, planted: tuple[str, str, str], way: str, by: str
) -> None:
    """By its code and its threads, for no function has a name that tells."""
    what, kind, place = planted
    found = WAYS[way](build("spinning"), tmp_path, what, options=("--by", by))
    main = advice.main_lock(found.report)
    assert main
    assert (main["kind"], main["site"]["function"]) == (kind, place), found.said
    share = main["ran_ns"] / found.report["times"]["running"]
    truth = found.truth["suffered_ns"] or found.truth["spun_ns"]
    # Of a loop that yields, the system call alone is seen.
    within = 2 * WITHIN if by == "looks" or what == "yields" else WITHIN
    assert share == pytest.approx(truth / found.truth["cpu_ns"], abs=within)
    assert found.said.split(".")[0].endswith(f"`{show.lock_name(main)}`") or kind in found.said


@pytest.mark.parametrize("by", ["bpf", "looks"])
@pytest.mark.parametrize("what", ["pays", "short", "computes"])
def test_no_alarm_where_spinning_costs_nothing(
    build: Build, tmp_path: Path, what: str, by: str
) -> None:
    """Real-time threads leave no CPU to who looks, who says so."""
    found = profile(build("spinning"), tmp_path, what, options=("--by", by))
    doubt = "its threads were looked at" if by == "looks" and what != "computes" else ""
    assert found.said.startswith("No lock trouble") or (doubt and doubt in found.said), found.said
    assert not found.report["advice"]


def test_code_that_is_mapped_elsewhere(build: Build, tmp_path: Path) -> None:
    """It has the names of the file that is there, by its addresses."""
    program, fixed = build("moved_code"), tmp_path / "fixed_code"
    other = tmp_path / "other_code"
    other.write_bytes(program.read_bytes())
    other.chmod(0o755)
    flags = ["-O2", "-no-pie", "-pthread", "-Wl,-z,noseparate-code"]
    subprocess.run(["cc", *flags, PLANTED / "moved_code.c", "-o", fixed], check=True)
    begins = {"moved_code": awaits(program), "other_code": awaits(program)}
    begins["fixed_code"] = awaits(fixed)
    offset = awaits(fixed) - 0x400000
    found = profile(program, tmp_path, str(other), str(fixed), str(offset))
    names = [loop["name"] for lock in found.report["locks"] for loop in lock["loops"]]
    places = {(name.partition("+")[0], int(name.partition("+")[2], 16)) for name in names}
    assert {one for one, _ in places} == begins.keys()
    assert all(begins[one] <= at < begins[one] + 64 for one, at in places)


def awaits(program: Path) -> int:
    nm = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in nm.splitlines() if "await_there" in line)


def test_who_yields(build: Build, tmp_path: Path) -> None:
    """Half of the waits is on a CPU, in sched_yield(), half off it, after sched_yield()."""
    found = profile(build("spin_yields"), tmp_path)
    main = advice.main_lock(found.report)
    assert main
    assert main["kind"] == "yield loop"
    assert main["site"]["function"] == "polite_take"
    assert advice.main_cause(main)[0] == "yields"
    assert main["wait_ns"] == pytest.approx(found.truth["wait_ns"], rel=2 * WITHIN)


@pytest.mark.parametrize("name", ["healthy_many", "healthy_pool", "healthy_crunchers"])
def test_no_alarm_for_healthy_ones(build: Build, tmp_path: Path, name: str) -> None:
    """A thread that a lock made sleep may be last in line for a CPU, which the others use."""
    found = profile(build(name), tmp_path)
    assert found.said.startswith(("No lock trouble", "No throughput is lost to locks")), found.said
    assert not any(map(advice.is_worth, found.report["advice"]))


@pytest.mark.parametrize(("how", "is_lost"), [("waits", 0), ("works", 1), ("timed", 1)])
def test_a_lock_before_a_wait_for_work(
    build: Build, tmp_path: Path, how: str, is_lost: int
) -> None:
    """Is no loss to a thread that would else have waited for the work meanwhile."""
    found = profile(build("onward"), tmp_path, how)
    rows = [one for one in found.report["locks"] if one["address"] == found.truth["address"]]
    waited = sum(one["wait_ns"] for one in rows)
    assert waited == pytest.approx(found.truth["wait_ns"], rel=WITHIN)
    lost = sum(one["wait_ns"] for one in rows if one["is_lock"])
    assert lost == pytest.approx(is_lost * waited, abs=WITHIN * waited)
    if not is_lost:
        assert "mutex on the way to a wait for work" in [one["kind"] for one in rows]


def test_without_bpf(build: Build, tmp_path: Path) -> None:
    """By looks at /proc: less, and it says so."""
    found = profile(build("holder_sleeps"), tmp_path, options=("--by", "looks"))
    main = advice.main_lock(found.report)
    assert main
    assert main["address"] == found.truth["address"]
    assert advice.main_cause(main)[0] == "holder_asleep"
    assert "--by looks was given" in found.said


def test_the_timeline_tells_the_same(build: Build, tmp_path: Path) -> None:
    """Waits, and what they were due to, span by span, are those of the report."""
    file = tmp_path / "timeline.json"
    found = profile(build("holder_fifo"), tmp_path, options=("--timeline", str(file)))
    entries = json.loads(file.read_text())["traceEvents"]
    assert fault(entries) == ""
    waits = [e for e in entries if e["name"] == "waits for fifo_lock"]
    waited = 1000 * sum(e["dur"] for e in waits)
    assert waited == pytest.approx(found.lock["wait_ns"], rel=0.01)
    for name, words in (
        ("holder_preempted", "holder preempted"),
        ("holder_running", "holder running"),
    ):
        spans = [e for e in entries if e.get("cat") == "cause" and e["name"] == words]
        share = 1000 * sum(e["dur"] for e in spans) / waited
        split = found.lock["split"]
        assert share == pytest.approx(split[name] / sum(split.values()), abs=0.03), name
    names = {e["args"]["name"] for e in entries if e["name"] == "thread_name"}
    assert "intruder" in names
    # A woken thread that is passed by waits again, and nobody handed it anything in between.
    assert sum(e["ph"] == "s" for e in entries) >= found.lock["waits"] * 0.75
    assert not found.report["lost"]["changes"]
