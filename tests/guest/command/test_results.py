# SPDX-License-Identifier: MIT
"""What guests answer, as a result: parsed, judged, valid, shown."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from overlock_tools.bench.executor import Impossible
from overlock_tools.core.model.combine import Answer, together
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.results import Result
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.trace import format as traces
from overlock_tools.core.trace.format import ACQUIRE, RELEASE
from overlock_tools.guest import campaign, executor, instruction_counts, loads, locks, results
from overlock_tools.guest.executor import Died, Rig, Used
from overlock_tools.guest.loads import Wrong
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.vm import Booted, Spec
from tests.command import Overlock, schema
from tests.core.trace.made_up import Step, made_up
from tests.guest.command.conftest import Fake

TORTURE = [
    "[    5.100000] spin_lock-torture:--- Start of test [debug]: nwriters_stress=2",
    "[    6.100000] Writes:  Total: 1000  Max/Min: 510/490   Fail: 0 ",
    "[    7.100000] Writes:  Total: 3000  Max/Min: 1510/1490   Fail: 0 ",
    "[    8.100000] Writes:  Total: 5000  Max/Min: 2510/2490   Fail: 0 ",
    "[    9.400000] Writes:  Total: 5100  Max/Min: 2560/2540   Fail: 0 ",
    "[    9.500000] Writes:  Total: 5100  Max/Min: 2560/2540   Fail: 0 ",
]


def test_locktorture_counts_between_two_of_its_totals() -> None:
    load = loads.known("locktorture")
    answer = load.answer(TORTURE)
    assert (answer.work, round(answer.seconds, 3)) == (4000, 2.0)
    assert not answer.wrong
    failing = [*TORTURE[:-1], TORTURE[-1].replace("Fail: 0", "Fail: 7")]
    assert "7 violations of exclusion" in load.answer(failing).wrong
    # Of these, one was printed while writers ran, and two after they had stopped.
    with pytest.raises(Wrong, match="printed 3 totals"):
        load.answer([*TORTURE[:2], *TORTURE[-2:]])


def test_hackbench_is_cut_with_a_bound_on_its_rate() -> None:
    load = loads.known("hackbench")
    line = load.line(2, 1, load.parameters({}))
    assert line == "hackbench-for 2 -s100 -g1 -f5 -l200"
    done = load.answer(["Running in process mode", "Time: 0.500", "Time: 0.250"])
    assert done.work / done.seconds == pytest.approx(10_000 / 0.75)
    late = load.late(["Time: 0.5"], 60)
    assert late
    assert late.cut
    assert late.work == 10_000  # one was done; another was begun
    with pytest.raises(Wrong):
        load.answer(["hackbench: no memory"])


def test_parameters_are_known_or_refused() -> None:
    loop = loads.known("loop")
    assert loop.parameters({"sections_cs": "9"})["sections_cs"] == "9"
    for name in ("colour", "milliseconds"):
        with pytest.raises(Fail, match=f"no parameter {name}"):
            loop.parameters({name: "1"})
    with pytest.raises(Fail, match="expected NAME=VALUE"):
        loads.given(["sections_cs=1; reboot"])
    with pytest.raises(Fail, match="unknown load"):
        loads.known("loup")


def test_guests_are_summed_each_over_its_own_time() -> None:
    answers = [Answer(100, 1.0, [40, 60]), Answer(220, 1.1, [110, 110], gap_ns=7, wrong="torn")]
    told = together(answers, Used(0, 2.0, 3, 4), 2)
    assert told["acquisitions"] == pytest.approx(300 * 1.05)
    assert told["per_thread"] == [40, 60, 110, 110]
    assert told["copies"] == [105, 210]
    assert told["wrong"] == "torn"
    assert told["gap_ns"] == 7
    assert together(answers[:1], Used(0), 2)["copies"] == []


def test_what_is_used_is_scaled_to_the_counted_time() -> None:
    used = Used(10.0, 8.0, 100, 50).over(Used(6.0, 0.0, 0, 10), 1.0)
    assert (used.cpu_seconds, used.voluntary, used.involuntary) == (2.0, 25, 10)


def result(rates: dict[str, list[float]]) -> Result:
    cells = [
        Cell(round=i, variant=v, threads=4, work=rate, seconds=1, cpu_seconds=1)
        for v, listed in rates.items()
        for i, rate in enumerate(listed, 1)
    ]
    return Result(
        kind="guest-loop",
        title="",
        unit="acquisitions",
        baseline="native",
        command="",
        settings={"cpus": 2, "rounds": 3},
        machine={},
        native={},
        variants=list(rates),
        threads=[4],
        cells=cells,
    )


CELL = {"workload": "loop", "vms": 1, "variant": "native", "threads": 2, "seconds": 1, "seed": 1}


def rig_whose_guests_die(times: int, monkeypatch: pytest.MonkeyPatch, seen: Result) -> Rig:
    died = iter([True] * times)

    def loaded(*_: object) -> dict[str, object]:
        if next(died, False):
            raise Died("a guest ended under its load")
        return {"work": 7, "slices": None}

    @contextlib.contextmanager
    def booted(*_: object, **__: object) -> Iterator[Booted]:
        yield Booted([], [])

    monkeypatch.setattr(executor, "_loaded", loaded)
    load = loads.known("loop")
    return Rig(
        lambda lock, smp, _: Spec(Path("kernel"), Path("initramfs"), smp, lock=lock),
        Placement("free", ((0,),)),
        lambda _: None,
        booted,
        tries=2,
        loads={"loop": load},
        parameters={"loop": load.parameters({})},
        results={("loop", 1): seen},
    )


def test_a_load_whose_guest_died_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = result({"native": [1]})
    seen.native.update(boots_failed=0, accelerator="KVM")
    seen.parameters["placement"] = "free"
    assert rig_whose_guests_die(1, monkeypatch, seen).measure(CELL)["work"] == 7
    assert seen.native["loads_failed"] == 1
    assert "1 load failed and was repeated." in results.said(seen)


def test_a_guest_that_dies_each_time_costs_its_cell_only(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = result({"native": [1]})
    seen.native.update(boots_failed=0)
    with pytest.raises(Impossible, match="ended under its load"):
        rig_whose_guests_die(2, monkeypatch, seen).measure(CELL)


def test_only_disjoint_ranges_are_claimed() -> None:
    far: dict[str, list[float]] = {
        "native": [10, 20, 30],
        "tas": [900, 600, 1000],
        "byte": [25, 2000, 3000],
    }
    (line,) = results.beyond(result(far))
    assert "tas 20.0×" in line
    assert "byte" not in line  # its least is below native's most
    assert not results.beyond(result({"native": [10, 20, 30], "byte": [29, 2000, 3000]}))


def test_native_and_busted_are_locks_here_and_large_ones_are_not() -> None:
    assert {"ticket", "tas", "native", "native_tas", "native_pv", "busted"} <= set(locks.known())
    assert "mcs" not in locks.known()
    with pytest.raises(Fail, match="unknown 4-byte lock 'mcs'"):
        locks.checked("mcs")


RUN = ("guest", "run", "--accel", "tcg", "--seconds", "0.1")


def test_a_run_is_a_result_that_the_report_shows(
    overlock: Overlock, fake: Fake, home: Path, tmp_path: Path
) -> None:
    fake("good")
    asked = ("--dir", home, "--lock", "tas,ticket", "--vms", "2", "--smp", "4", "--rounds", "2")
    done = overlock(*RUN, *asked, "--json", "r.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "least against native's most: tas" in done.stdout
    assert "native is: native qspinlock (spin)" in done.stdout
    body = json.loads((tmp_path / "r.json").read_text())
    jsonschema.validate(body, schema("result"))
    assert body["parameters"]["pause"] == "nop"
    assert body["native"]["in_force"]["tas"] == "tas (spin)"
    assert [len(cell["copies"]) for cell in body["cells"]] == [2] * 6
    assert all(len(cell["per_thread"]) == 8 for cell in body["cells"])
    shown = overlock("report", "r.json", "-o", "r.html")
    assert shown.returncode == 0, shown.stderr
    assert "PAUSE replaced by NOP" in (tmp_path / "r.html").read_text()


SECTION: list[Step] = [(ACQUIRE, 1, 1000), (RELEASE, 1, 2000)]


def test_a_guest_replays_a_trace(
    overlock: Overlock, fake: Fake, home: Path, tmp_path: Path
) -> None:
    fake("good")
    traces.write(tmp_path / "t.trace", made_up([SECTION * 10, SECTION * 10]))
    asked = ("--dir", home, "--lock", "tas", "--smp", "4", "--rounds", "1", "--replay", "t.trace")
    done = overlock(*RUN, *asked, "--json", "r.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "made up, 2 threads, 1 locks" in done.stdout
    assert "Beside the recording, which waited 0.0% of the time" in done.stdout
    body = json.loads((tmp_path / "r.json").read_text())
    jsonschema.validate(body, schema("result"))
    assert body["kind"] == "guest-replay"
    assert body["parameters"]["trace"] == "t.trace"
    for cell in body["cells"]:
        (replay,) = cell["replays"]
        assert (replay["in_order"], replay["replayed"]["waited"]) == (1, 20)
        assert replay["replayed"]["waiting"] == pytest.approx(0.01)
        assert replay["pass_seconds"] == 0.001
    assert not list((tmp_path / "tmp").iterdir())
    shown = overlock("report", "r.json", "-o", "r.html")
    assert shown.returncode == 0, shown.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--replay", "t.trace", "--load", "loop"), "--replay is a load; remove --load"),
        (("--replay", "t.trace"), "t.trace is not a whole trace of overlock run --record"),
        (("--replay", "none.trace"), "none.trace cannot be read: No such file"),
    ],
)
def test_a_replay_that_cannot_be_is_one_line(
    overlock: Overlock, home: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "t.trace").write_bytes(b"\x1f\x8bnothing")
    done = overlock(*RUN, "--dir", home, *words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_a_lock_that_does_not_exclude_fails_the_run(
    overlock: Overlock, fake: Fake, home: Path
) -> None:
    fake("good")
    done = overlock(*RUN, "--dir", home, "--lock", "busted", "--rounds", "1")
    assert done.returncode == 1
    assert "two contexts were in the critical section at once" in done.stdout


BARRIERS = ["barrier", "tree_barrier", "spin_barrier", "yield_barrier", "sleep_barrier"]


def test_barriers_are_what_rounds_measures(
    overlock: Overlock, fake: Fake, home: Path, tmp_path: Path
) -> None:
    fake("good")
    asked = ("--dir", home, "--load", "rounds", "--rounds", "2", "--json", "r.json")
    done = overlock(*RUN, *asked, "--lock", "barrier@overlock.lease_ns=50000,all")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "least against spin_barrier's most: " in done.stdout
    assert "Parking of waiters: halt+nmi." in done.stdout
    body = json.loads((tmp_path / "r.json").read_text())
    jsonschema.validate(body, schema("result"))
    assert (body["kind"], body["unit"], body["baseline"]) == (
        "guest-rounds",
        "arrivals",
        "spin_barrier",
    )
    assert set(body["variants"]) == {*BARRIERS, "barrier@overlock.lease_ns=50000"}
    assert body["native"]["in_force"]["barrier"] == "native qspinlock (halt+nmi)"
    (slow,) = {cell["work"] for cell in body["cells"] if cell["variant"] == "spin_barrier"}
    (fast,) = {cell["work"] for cell in body["cells"] if cell["variant"] == "barrier"}
    assert (slow, fast) == (160, 20_000)  # each was asked for its own barrier
    shown = overlock("report", "r.json", "-o", "r.html")
    assert shown.returncode == 0, shown.stderr


def test_a_barrier_that_opens_too_early_fails_the_run(
    overlock: Overlock, fake: Fake, home: Path
) -> None:
    fake("good")
    asked = ("--dir", home, "--load", "rounds", "--lock", "busted_barrier", "--rounds", "1")
    done = overlock(*RUN, *asked)
    assert done.returncode == 1
    assert "a context passed the barrier before another had arrived" in done.stdout


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("run", "--load", "rounds", "--lock", "ticket"), "unknown barrier of a kernel 'ticket'"),
        (("run", "--load", "rounds", "--baseline", "native"), "expected one of barrier, tree"),
        (("run", "--load", "rounds", "--lock", "std_barrier"), "unknown barrier of a kernel"),
        (("run", "--lock", "barrier"), "barrier"),
        (("matrix", "-o", "m", "--loads", "loop,rounds"), "rounds measures barriers, not locks"),
    ],
)
def test_locks_and_barriers_are_told_apart(
    overlock: Overlock, home: Path, asked: tuple[str, ...], said: str
) -> None:
    done = overlock("guest", *asked, "--dir", home)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr.splitlines()[-1]


def test_a_barrier_s_words_are_the_kernels() -> None:
    load = loads.known("rounds")
    assert load.lock("barrier") == "native@overlock.park=auto"
    words = locks.words_of(load.lock("barrier@overlock.park=spin@kernel=counted"))
    assert words == ("overlock.park=auto", "overlock.park=spin")  # the last one counts
    assert load.asked("barrier@overlock.park=spin", {"sample": "8"})["barrier"] == "barrier"


def test_the_kernel_s_own_lock_of_one_kind(
    overlock: Overlock, fake: Fake, home: Path, tmp_path: Path
) -> None:
    fake("good")
    asked = ("--dir", home, "--lock", "native_tas,ticket", "--rounds", "1", "--json", "r.json")
    done = overlock(*RUN, *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "native is: native qspinlock (spin)" in done.stdout
    assert "native_tas is: native test-and-set (spin)" in done.stdout
    body = json.loads((tmp_path / "r.json").read_text())
    assert body["peers"] == ["native", "native_tas"]
    shown = overlock("report", "r.json", "-o", "r.html")
    assert shown.returncode == 0, shown.stderr


@pytest.mark.parametrize(
    ("lock", "words"), [("tas", "tas"), ("native_tas", "native_tas (native test-and-set)")]
)
def test_another_lock_than_was_asked_for_is_no_result(
    overlock: Overlock, fake: Fake, home: Path, lock: str, words: str
) -> None:
    fake("other-lock")
    asked = ("--lock", lock, "--baseline", lock, "--rounds", "1")
    done = overlock(*RUN, "--dir", home, *asked)
    assert done.returncode == 1
    assert f"expected {words}, but the guest runs ticket" in done.stdout


def test_a_kind_that_the_hypervisor_cannot_have_is_refused(overlock: Overlock, home: Path) -> None:
    done = overlock(*RUN, "--dir", home, "--lock", "native_pv")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert "native_pv: guests under tcg have no PV spinlocks; give --accel" in last


def test_all_is_every_lock_of_ours_and_native() -> None:
    found = campaign.variants(["all"], "native", loads.known("loop"))
    assert "native" in found
    assert not {"native_tas", "native_pv", "busted", "impatient"} & set(found)


def test_without_a_built_kernel_it_says_how_to_have_one(overlock: Overlock, tmp_path: Path) -> None:
    done = overlock("guest", "boot", "--dir", tmp_path / "none")
    assert done.returncode == 3
    assert "run `overlock guest build`" in done.stderr
    assert done.stderr.count("\n") == 1


def test_instructions_are_without_the_look_at_the_counter(
    overlock: Overlock, fake: Fake, home: Path, tmp_path: Path
) -> None:
    fake("good")
    asked = ("guest", "instructions", "--dir", home, "--lock", "ticket", "--json", "p.json")
    done = overlock(*asked)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1.20×" in done.stdout  # 24 by 20
    found = json.loads((tmp_path / "p.json").read_text())["instructions"]
    assert found["ticket"] == {"lock": 15, "unlock": 9, "both": 24}
    assert instruction_counts.of('{"lock": 5, "unlock": 4, "nothing": 2}').both == 5


def test_a_guests_table_speaks_of_vcpus_and_fairness(
    overlock: Overlock, fake: Fake, home: Path
) -> None:
    fake("good")
    done = overlock(*RUN, "--dir", home, "--rounds", "2", "--smp", "4", "--lock", "tas")
    assert done.returncode == 0, done.stderr
    assert "4 vCPUs on" in done.stdout
    assert "thread" not in done.stdout.split("Accel")[0].replace("one pinned thread per vCPU", "")
    assert "min/max" in done.stdout
