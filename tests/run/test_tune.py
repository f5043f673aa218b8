# SPDX-License-Identifier: MIT
"""overlock tune: what is read from a report, what is proposed, and the file that is written."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.model import advice as recommended
from overlock_tools.run import config, trying, tuning
from tests.command import COMMAND, Overlock
from tests.processes import HANG_S


def site(name: str = "work", **more: Any) -> dict[str, Any]:
    """A record as the library writes it: 1000 sections of 64 to 96 ns, half of them waited for."""
    return {
        "function": name,
        "site": "0x1",
        "events": {"ACQUIRE": 1000, "SLOW_PATH": 500},
        "places": {},
        "preemptions": {"LHP": 100, "LWP": 0, "PSP": 100},
        "hold": [[64, 1000]],
    } | more


def proposed(*sites: dict[str, Any]) -> dict[str, str]:
    report = {"sites": {"sites": [*sites]}}
    return {p.what: p.value for p in tuning.advice(report).proposals}


def test_buckets_end_where_the_next_begins() -> None:
    starts = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 1024, 1536, 2048]
    ends = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 1536, 2048, 3072]
    assert [tuning.bucket_end(least) for least in starts] == ends


def test_quantiles_and_shares() -> None:
    hold = {64: 90, 1024: 9, 4096: 1}
    assert tuning.quantile(hold, 0.5) == 96
    assert tuning.quantile(hold, 0.9) == 96
    assert tuning.quantile(hold, 0.91) == 1536
    assert tuning.quantile(hold, 1) == 6144
    assert tuning.share_under(hold, 1536) == pytest.approx(0.99)
    assert tuning.share_under(hold, 6144) == pytest.approx(1)
    assert tuning.share_under(hold, 95) == 0


def test_the_bounds_are_those_of_buckets() -> None:
    """So that the shares are exact."""
    for ns in tuning.SHORT_NS.values():
        assert tuning.bucket_end(ns - 1 - (ns - 1) % (ns // 3)) == ns


def test_sections_without_their_cpu_are_left_out() -> None:
    long_ones = site(hold=[[64, 900], [4194304, 100]])
    assert proposed(long_ones)["csd"] == "96"
    assert proposed(long_ones | {"preemptions": None})["csd"] == str(6 << 20)


@pytest.fixture
def something_to_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a lock had been measured to be faster than glibc's mutex."""
    table = recommended.load()
    faster = replace(table[tuning.CONTENDED], take="tas")
    monkeypatch.setattr(recommended, "load", lambda: {**table, tuning.CONTENDED: faster})


RARE: dict[str, Any] = {"events": {"ACQUIRE": 1000, "SLOW_PATH": 9}}
LONG: dict[str, Any] = {"hold": [[49152, 1000]], "preemptions": None}


@pytest.mark.parametrize("more", [{}, {"preemptions": None}, RARE, LONG], ids=lambda m: str([*m]))
def test_the_mutex_is_kept_while_no_lock_is_faster(more: dict[str, Any]) -> None:
    assert proposed(site(**more))["lock"] == "glibc"


@pytest.mark.usefixtures("something_to_gain")
def test_a_faster_lock_is_proposed_where_it_matters() -> None:
    assert proposed(site())["lock"] == "tas"
    assert proposed(site(preemptions=None))["lock"] == "tas"
    assert proposed(site(**RARE))["lock"] == "glibc"
    assert proposed(site(**LONG))["lock"] == "glibc"


def test_tunables() -> None:
    found = proposed(site())
    assert found["tau"] == str(96 + 330)
    assert found["spin"] == str(96 + 330)
    assert proposed(site(places={"QUEUE": [0, 500, 0, 0, 0, 0, 0, 0]}))["spin"] == str(2 * 426)
    assert proposed(site(hold=[[6144, 1000]], preemptions=few_lost()))["spin"] == "2000"


def few_lost() -> dict[str, int]:
    return {"LHP": 0, "LWP": 0, "PSP": 0}


@pytest.mark.usefixtures("something_to_gain")
def test_who_never_waits_decides_nothing() -> None:
    idle = site("idle", events={"ACQUIRE": 10**9}, hold=[[49152, 10**9]])
    assert proposed(site(), idle) == proposed(site())
    report = {"sites": {"sites": [site(), site("slow", hold=[[49152, 1000]], preemptions=None)]}}
    assert list(tuning.advice(report).apart) == ["slow"]


def test_calls_from_one_function_are_one() -> None:
    (one,) = tuning.sites_of({"sites": {"sites": [site(), site(preemptions=None)]}})
    assert (one.acquisitions, one.preempted, one.hold) == (2000, 100, {64: 2000})


PROGRAM = """
import threading
def work():
    for _ in range(20):
        sum(range(20000))
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print("the program")
"""


def test_end_to_end(overlock: Overlock, tmp_path: Path) -> None:
    out, written = tmp_path / "tune.json", tmp_path / "locks.toml"
    folded = tmp_path / "waits"
    options = ("--json", str(out), "--write", str(written), "--folded", str(folded))
    done = overlock("tune", *options, "--", sys.executable, "-c", PROGRAM)
    assert done.returncode == 0
    assert done.stderr == "" or not shutil.which("llvm-symbolizer")
    assert done.stdout.startswith("the program\n")
    assert "lock = " in done.stdout
    told = json.loads(out.read_text())
    assert sum(s["acquisitions"] for s in told["sites"]) > 0
    for one in told["sites"]:
        assert sum(n for _, n in one["hold"]) <= one["acquisitions"]
    kept = config.from_file(written)
    assert kept.lock or kept.sites
    assert sorted(tmp_path.iterdir()) == [written, out, folded]
    waits = [line.rpartition(" ") for line in folded.read_text().splitlines()]
    assert all(stack and int(ns) > 0 for stack, _, ns in waits)
    again = overlock("run", "--config", str(written), "--", sys.executable, "-c", PROGRAM)
    assert (again.returncode, again.stdout, again.stderr) == (0, "the program\n", "")


def test_what_cannot_be_started_or_written(overlock: Overlock, tmp_path: Path) -> None:
    done = overlock("tune", "--write", str(tmp_path / "no" / "x"), "--", "true")
    assert done.returncode == 2
    assert overlock("tune", "--", "no-such-program").returncode == 127


FASTER, SLOWER = trying.Candidate("tas"), trying.Candidate("ticket")
# Seconds of each round: of glibc, and of the two candidates.
ROUNDS = trying.ROUNDS
GLIBC = [1.0, 1.1, 0.9, 1.3, 1.0, 1.2, 1.0]
TRIALS = {
    "one is faster": ([0.8 * s for s in GLIBC], [1.5 * s for s in GLIBC], FASTER),
    "both are slower": ([1.1 * s for s in GLIBC], [5.0 * s for s in GLIBC], trying.GLIBC),
    "nothing differs": (GLIBC, GLIBC[::-1], trying.GLIBC),
    "faster but once": ([0.5] * 6 + [1.01], [2.0] * 7, trying.GLIBC),
    "both are faster": ([0.8 * s for s in GLIBC], [0.7 * s for s in GLIBC], SLOWER),
}


@pytest.mark.parametrize("name", TRIALS)
def test_only_a_proven_gain_changes_the_lock(name: str) -> None:
    first, second, best = TRIALS[name]
    times = {trying.GLIBC: iter(GLIBC), FASTER: iter(first), SLOWER: iter(second)}
    verdict = trying.compare(lambda c: next(times[c]), [FASTER, SLOWER], ROUNDS)
    assert verdict.best == best
    assert ("no lock is proven" in verdict.why) == (best == trying.GLIBC)


def test_too_few_rounds_prove_nothing() -> None:
    times = {trying.GLIBC: 1.0, FASTER: 0.1, SLOWER: 0.1}
    verdict = trying.compare(times.__getitem__, [FASTER, SLOWER], ROUNDS - 1)
    assert verdict.best == trying.GLIBC
    assert "too few rounds" in verdict.why


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("planted") / "planted"
    source = Path(__file__).with_name("planted.c")
    subprocess.run(["cc", "-O1", "-pthread", "-D_GNU_SOURCE", source, "-o", program], check=True)
    return program


@pytest.mark.parametrize(("slow", "lock"), [("glibc", config.PRESET), ("ours", None)])
def test_the_lock_that_is_faster_on_the_program(
    overlock: Overlock, planted: Path, tmp_path: Path, slow: str, lock: str | None
) -> None:
    done = overlock("tune", "--write", "locks.toml", "--", str(planted), slow)
    assert done.returncode == 0, done.stderr
    assert "measuring 3 variants in 7 rounds" in done.stderr
    kept = config.from_file(tmp_path / "locks.toml")
    assert kept.lock == lock, done.stdout
    assert kept.sites == ([] if lock else [config.Site("*", "glibc")])
    assert f"lock = {lock or 'glibc'}: " in done.stdout
    assert ("ms later" in done.stdout) == bool(lock)
    commands = [line for line in done.stdout.splitlines() if line.startswith("As it was measured")]
    assert len(commands) == bool(lock)
    for command in commands:
        words = shlex.split(command.partition(": ")[2])
        assert words[:4] == ["overlock", "run", "--lock", lock]
        assert words[-3:] == ["--", str(planted), slow]
        again = overlock(*words[1:])
        assert (again.returncode, again.stderr) == (0, "")


def test_what_starts_before_the_program_is_measured(planted: Path, tmp_path: Path) -> None:
    """Here a shell that leaves a file, in place of the launcher."""
    program = trying.Program(planted, (str(planted), "ours"), 0, None)
    tuned = trying.Candidate(config.PRESET, (("tau", "700"),))
    assert tuned.options == ["run", "--lock", config.PRESET, "--tau-ns", "700", "--"]
    started = tmp_path / "started"
    shell = ["/bin/sh", "-c", 'echo "$@" >"$0"; shift 6; exec "$@"', str(started)]
    assert program.seconds(os.environ, [*shell, *tuned.options]) > 0
    assert started.read_text().split() == [*tuned.options, str(planted), "ours"]


def test_without_rounds_nothing_is_proposed(overlock: Overlock, planted: Path) -> None:
    done = overlock("tune", "--rounds", "0", "--", "sh", "-c", f"exec {planted} glibc")
    assert done.returncode == 0
    assert done.stderr == "" or not shutil.which("llvm-symbolizer")
    assert "lock = glibc: nothing was measured (--rounds 0)" in done.stdout


def test_every_run_reads_the_same(planted: Path, tmp_path: Path) -> None:
    read = tmp_path / "read"
    program = ["sh", "-c", f'cat >>{read}; exec "$0" glibc', str(planted)]
    with subprocess.Popen(["echo", "words"], stdout=subprocess.PIPE) as piped:
        subprocess.run(
            [*COMMAND, "tune", "--rounds", "2", "--", *program],
            cwd=tmp_path,
            stdin=piped.stdout,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=HANG_S,
        )
    lines = read.read_text().splitlines()
    assert set(lines) == {"words"}
    assert len(lines) > 2  # the first, by itself, and two rounds


def test_a_server_by_its_load(overlock: Overlock, planted: Path, tmp_path: Path) -> None:
    served = tmp_path / "served"
    load = f"until rm {served} 2>/dev/null; do sleep 0.01; done"
    options = ("--write", "locks.toml", "--load", load)
    done = overlock("tune", *options, "--", str(planted), "glibc", str(served))
    assert done.returncode == 0, done.stderr
    assert config.from_file(tmp_path / "locks.toml").lock == config.PRESET, done.stdout
    done = overlock("tune", "--load", "exit 7", "--", str(planted), "glibc", str(served))
    assert (done.returncode, done.stderr) == (1, "overlock: the load ended with 7: exit 7\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_stopped(planted: Path, tmp_path: Path, number: int) -> None:
    """SIGINT as a terminal sends it, to both; SIGTERM to us alone. What was counted is there."""
    child = subprocess.Popen(
        [*COMMAND, "tune", "--write", "locks.toml", "--", planted, "glibc", "served"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "done\n"
    (os.killpg if number == signal.SIGINT else os.kill)(child.pid, number)
    said, errors = child.communicate(timeout=HANG_S)
    assert child.returncode == 0, errors
    assert int(said.split("call\n")[1].split()[0]) == 4 * 500
    assert "lock = glibc: it did not end by itself" in said
    assert config.from_file(tmp_path / "locks.toml").sites == [config.Site("*", "glibc")]


def within_a_while(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + HANG_S
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)
    return is_so()


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


# The first time it ends; after that it makes a file, and would stay.
STAYS = """
if mkdir "$1/once" 2>/dev/null; then exec "$0" glibc; fi
touch "$1/again"
exec sleep 100000
"""


def test_a_measurement_that_is_terminated_leaves_nothing(
    planted: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    marks = tmp_path_factory.mktemp("marks")
    options = ("--rounds", "1000", "--write", "locks.toml")
    child = subprocess.Popen(
        [*COMMAND, "tune", *options, "--", "sh", "-c", STAYS, planted, marks],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert within_a_while((marks / "again").exists)
    child.terminate()
    assert child.wait(HANG_S) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
    assert within_a_while(lambda: is_gone(child.pid)), "what it measured still runs"


def test_a_program_that_cannot_be_repeated(overlock: Overlock, planted: Path) -> None:
    done = overlock("tune", "--", str(planted), "once", "file")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ended with 1, and with 0 before; give a command to repeat" in done.stderr


def test_a_program_without_its_last_words(overlock: Overlock) -> None:
    for code in ("os._exit(3)", "os.kill(os.getpid(), 9)"):
        done = overlock("tune", "--", sys.executable, "-c", f"import os; {code}")
        assert done.returncode == 0, done.stderr


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "locks.toml"
    sites = [config.Site('a "quoted" \\ one', "mcs"), config.Site("&x", "glibc")]
    kept = config.Choices("ticket", {"tau": "inf", "spin": "7"}, sites)
    path.write_text(config.to_text(kept, "a comment\n\nof lines"))
    assert config.from_file(path) == kept
