# SPDX-License-Identifier: MIT
"""Other people's locks are what they say, exclude, and are missed by name when they are missing."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from overlock_tools.bench import peers, server
from overlock_tools.core.model import defs
from overlock_tools.core.system import native
from overlock_tools.core.system.kernel_files import Tree
from tests.bench.peers.table import Entry, Made, elsewhere, entries, in_another_thread
from tests.conftest import TOP
from tests.processes import HANG_S, read, until

HERE = Path(__file__).resolve().parent

ALL = defs.load().peers
PLUGGED = {peer.family: None for peer in ALL.values() if peer.family not in peers.BUILT_IN}
LOCKS = [peer.id for peer in ALL.values() if peer.family in PLUGGED]
HLE_MISSING = (
    "hle is not available: this CPU has no hardware lock elision (HLE: CPUID leaf 7, EBX bit 4)"
)


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("broken") / "overlock-peers-broken.so"
    command = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-DPEERS_OF_broken=PEERS_YES"]
    folders = (
        "tests/bench/peers/broken",
        "tests/bench/measuring",
        "bench",
        "bench/peers",
        "include",
    )
    command += [f"-I{TOP / folder}" for folder in folders]
    library = native.file("liboverlock.so")
    command += [str(HERE / "broken/broken.c"), str(library), f"-Wl,-rpath,{library.parent}"]
    subprocess.run([*command, "-o", out], check=True)
    return out


# A lock by itself, through the table of its plug-in.


@pytest.mark.parametrize("family", PLUGGED)
def test_a_plug_in_has_all_its_lines(family: str) -> None:
    found = entries(peers.plugin(family))
    wanted = {peer.id: peer for peer in ALL.values() if peer.family == family}
    assert list(found) == list(wanted)
    for name, entry in found.items():
        ops = entry.ops.contents
        assert (ops.source.decode(), ops.what.decode()) == (wanted[name].source, wanted[name].what)
        assert ops.abi == defs.load().abi
        assert ops.size > 0
        assert ops.size % ops.align == 0
        assert not ops.timedlock


def tries(make: Callable[[], Made]) -> None:
    lock = make()
    for _ in range(2):
        assert lock.trylock(), "it was free"
        assert not in_another_thread(lock.trylock), "it was held by trylock"
        lock.unlock()
        lock.lock()
        assert not in_another_thread(lock.trylock), "it was held by lock"
        lock.unlock()
    assert lock.is_free()


def is_waiting(tid: int) -> bool:
    """It spins, or sleeps through our sleep, during which nothing of Python's is held."""
    _, before = on_cpu(tid)
    time.sleep(0.01)
    ns, runs = on_cpu(tid)
    state = read(f"/proc/self/task/{tid}/stat").rpartition(")")[2].split()[:1]
    return ns > 5_000_000 or (state, runs) == (["S"], before)


def on_cpu(tid: int) -> tuple[int, int]:
    """For how many ns, and how often, the thread has been on one."""
    ns, _, runs = map(int, (read(f"/proc/self/task/{tid}/schedstat") or "0 0 0").split())
    return ns, runs


def waits(make: Callable[[], Made]) -> None:
    lock, another = make(), make()
    released = False
    there: list[int] = []

    def acquire() -> bool:
        there.append(threading.get_native_id())
        lock.lock()
        seen = released
        lock.unlock()
        return seen

    lock.lock()
    with elsewhere(acquire) as seen:
        until(lambda: seen or (there and is_waiting(there[0])))
        another.lock()  # with the node that the other waits behind, it would wait for ever
        another.unlock()
        released = True
        lock.unlock()
    assert seen == [True], "two had it at once"


def are_held_together(make: Callable[[], Made]) -> None:
    locks = [make() for _ in range(20)]
    for order in (locks, locks[::-1]):  # no order is learnt from the first and then demanded
        for lock in order:
            lock.lock()
        for lock in order:  # not as a stack would release them
            assert not lock.is_free()
            lock.unlock()
            assert lock.is_free()


PROPERTIES = (tries, are_held_together, waits)


@pytest.mark.parametrize("check", PROPERTIES)
@pytest.mark.parametrize("name", LOCKS)
def test_by_itself(name: str, check: Callable[[Callable[[], Made]], None]) -> None:
    entry = entries(peers.plugin(ALL[name].family))[name]
    check(lambda: Made(entry))


def first_broken(entry: Entry) -> str:
    for check in PROPERTIES:
        try:
            check(lambda: Made(entry))
        except AssertionError:
            return check.__name__
    return ""


def test_broken_ones_are_seen(broken: Path) -> None:
    seen = {name: first_broken(entry) for name, entry in entries(broken).items()}
    assert seen == {
        "in_step": "tries",
        "liar": "tries",
        "deaf": "tries",
        "impatient": "waits",
        "one_node": "are_held_together",
    }


# All of them in overlock-bench, as a user measures them.


@pytest.fixture(scope="module")
def bench() -> Iterator[server.Server]:
    """Also with what would elide and cannot here: it must exclude all the same."""
    files = [file for family in PLUGGED if (file := peers.plugin(family)).exists()]
    with server.started([f"--peers={file}" for file in files]) as started:
        yield started


def cell(name: str, threads: int) -> dict[str, object]:
    sections = {"workload": "sections", "cs": 100, "ncs": 200}
    return {**sections, "variant": name, "threads": threads, "seconds": 0.03}


@pytest.mark.parametrize("threads", [1, 2, 8, 64])
@pytest.mark.parametrize("name", ALL)
def test_excludes(bench: server.Server, name: str, threads: int) -> None:
    answer = bench.measure(cell(name, threads))
    assert answer["wrong"] == ""
    assert answer["lock"] == name
    assert len(answer["per_thread"]) == threads


def test_one_that_does_not_exclude_is_seen(broken: Path) -> None:
    with server.started([f"--peers={broken}"]) as started:
        assert started.measure(cell("in_step", 2) | {"turns": 100, "seconds": 600})["wrong"] != ""


def test_a_plug_in_that_is_none_is_refused() -> None:
    program = native.file("overlock-bench")
    done = subprocess.run(
        [program, "--peers=/nowhere/overlock-peers-ck.so"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "/nowhere/overlock-peers-ck.so" in done.stderr
    assert done.stderr.count("\n") == 1


# One family is missing.


@pytest.fixture
def without(tmp_path: Path) -> Path:
    """The native folder of a machine on which Abseil is not installed."""
    folder = tmp_path / "native"
    shutil.copytree(native.folder(), folder, symlinks=True)
    (folder / "overlock-peers-abseil.so").unlink()
    return folder


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "overlock_tools", *args],
        env={**os.environ, "OVERLOCK_NATIVE": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


MISSING = (
    "absl_mutex is not available: libabsl-dev was not installed at build time; "
    "`make peers` installs it"
)


def test_none_is_missing_where_the_suite_runs() -> None:
    """`make test` installs all, so that nothing above was left out."""
    assert peers.missing() == {}
    assert len(peers.plugins()) == len(PLUGGED) - (not peers.is_possible(peers.HLE))


def test_the_missing_are_known(without: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERLOCK_NATIVE", str(without))
    assert peers.missing() == {"absl_mutex": MISSING}
    there = {file.name for file in peers.plugins()}
    assert {f"overlock-peers-{family}.so" for family in PLUGGED} - there <= {
        "overlock-peers-abseil.so",
        "overlock-peers-hle.so",
    }


def test_a_wheel_says_that_it_has_none(without: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERLOCK_NATIVE", str(without))
    monkeypatch.setattr(native, "checkout", lambda: None)
    assert peers.missing()["absl_mutex"].endswith("`make peers` in a checkout builds all peers")


def test_locks_says_what_is_missing(without: Path) -> None:
    done = run(without, "locks")
    assert done.returncode == 0
    assert MISSING in done.stdout
    assert "\nnsync_mu " in done.stdout


# Elision: by the library's transactions, and by the processor.


def test_built_in_ones_say_what_their_lines_say(bench: server.Server) -> None:
    """elided.h has a line of its own, for the engine."""
    told = {subject["id"]: subject["what"] for subject in bench.facts["subjects"]}
    assert {name: told[name] for name in ALL} == {name: peer.what for name, peer in ALL.items()}


@pytest.mark.parametrize("flags", ["fpu rtm", "fpu hle", ""])
def test_hle_is_offered_where_the_processor_has_it(
    flags: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tree, "read_or", lambda *_: f"model name : any\nflags : {flags}\n")
    offered = "hle" in flags
    assert peers.absent() == ({} if offered else {"hle": HLE_MISSING})
    assert (peers.plugin("hle") in peers.plugins()) == offered
    assert peers.missing() == {}


@pytest.mark.skipif(peers.is_possible(peers.HLE), reason="this CPU has HLE")
def test_bench_of_hle_says_why_not() -> None:
    done = run(native.folder(), "bench", "tx", "--locks", "tx,hle", *SHORT)
    assert done.returncode == 3
    assert done.stderr == f"overlock: {HLE_MISSING}\n"
    assert HLE_MISSING in " ".join(run(native.folder(), "locks").stdout.split())


def test_tx_beside_plain_elision(tmp_path: Path) -> None:
    """Where nothing commits it says so, and each section of either falls back."""
    out = tmp_path / "result.json"
    locks = ("--locks", "tx,elided,elided@tx_retries=0", "--baseline", "tx", "--counters")
    done = run(native.folder(), "bench", "tx", *locks, *SHORT, "--json", str(out))
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    assert result["peers"] == ["elided", "elided@tx_retries=0"]
    works = result["native"]["htm"]
    assert ("No transaction commits on this CPU" in " ".join(done.stdout.split())) == (not works)
    for cell in result["cells"]:
        events = cell["events"]
        assert events["ACQUIRE"] >= cell["work"] > 0
        assert events["TX_COMMIT"] + events["TX_FALLBACK"] == events["ACQUIRE"]
        assert works or events["TX_START"] == 0


SHORT = ("--threads", "2", "--rounds", "1", "--seconds", "0.02")


def test_bench_of_a_missing_one(without: Path) -> None:
    done = run(without, "bench", "sections", "--locks", "ticket,absl_mutex", *SHORT)
    assert done.returncode == 3
    assert done.stderr == f"overlock: {MISSING}\n"


def test_bench_of_all_names_the_missing(without: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    done = run(without, "bench", "sections", "--locks", "peers", *SHORT, "--json", str(out))
    assert done.returncode == 0, done.stderr
    assert "Not available: absl_mutex" in done.stdout
    result = json.loads(out.read_text())
    assert result["missing"] == ["absl_mutex"]
    assert set(result["variants"]) >= set(ALL) - {"absl_mutex", *peers.absent()}
