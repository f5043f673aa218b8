# SPDX-License-Identifier: MIT
"""Locks of libraries and languages: which, taken where, and how long, as the program measured.

All programs do the same, with two locks that have no names; so each must be told from the other by
where it is taken. Those that wait for work by means of the same libraries must raise no alarm.
"""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.profile.conftest import PLANTED, Profiled, needs_bpf, profile

pytestmark = needs_bpf

WITHIN = 0.10
CXX = "g++ -std=c++20 -O1 -pthread"
RUST = "rustc -O"
# A name, the source, how it is built; what it links to, which need not be installed.
TWO = [
    ("glibc", "two_mutexes.c", "gcc -O1 -pthread", ""),
    ("glibc-static", "two_mutexes.c", "gcc -O1 -pthread -static", ""),
    ("musl", "two_mutexes.c", "musl-gcc -O1 -pthread", ""),
    ("musl-static", "two_mutexes.c", "musl-gcc -O1 -pthread -static", ""),
    ("semaphore", "two_mutexes.c", "gcc -O1 -pthread -DSEMAPHORE", ""),
    (
        "abseil",
        "two_mutexes.cpp",
        f"{CXX} -DABSEIL -DHEADER=<absl/synchronization/mutex.h>",
        "absl_synchronization",
    ),
    ("rust", "two_mutexes.rs", RUST, ""),
]

Build = Callable[[str, str, str], Path]


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("runtimes")

    def one(source: str, command: str, links: str) -> Path:
        words = command.split()
        if not shutil.which(words[0]):
            pytest.skip(f"{words[0]} is not installed")
        libraries = _libraries(links) if links else []
        program = folder / f"{Path(source).stem}-{abs(hash((command, source)))}"
        if not program.exists():
            done = subprocess.run(
                [*words, PLANTED / source, "-o", program, *libraries],
                capture_output=True,
                text=True,
                check=False,
            )
            assert not done.returncode, done.stderr
        return program

    return one


def _libraries(name: str) -> list[str]:
    asked = ["pkg-config", "--cflags", "--libs", name]
    if not shutil.which(asked[0]):
        pytest.skip("pkg-config is not installed")
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{name} is not installed")
    return done.stdout.split()


def stripped(program: Path, folder: Path) -> Path:
    target = folder / "stripped"
    subprocess.run(["strip", "-o", target, program], check=True)
    return target


def rows(found: Profiled, function: str) -> list[dict[str, Any]]:
    return [
        one
        for one in found.report["locks"]
        if function in (one["site"]["function"] or "") and one["is_lock"]
    ]


def check_two(found: Profiled) -> None:
    for function, ns in found.truth.items():
        waited = sum(one["wait_ns"] for one in rows(found, function))
        assert waited == pytest.approx(ns, rel=WITHIN), function
    lost = found.report["lost_ns"]
    assert lost == pytest.approx(sum(found.truth.values()), rel=WITHIN)
    assert "second_section" in found.said.partition("\n")[0]


@pytest.mark.parametrize(
    ("source", "command", "links"), [one[1:] for one in TWO], ids=[one[0] for one in TWO]
)
def test_two_locks(make: Build, tmp_path: Path, source: str, command: str, links: str) -> None:
    check_two(profile(make(source, command, links), tmp_path))


def test_two_locks_without_symbols(make: Build, tmp_path: Path) -> None:
    """What threads do tells that they are locks; no names, but two places."""
    found = profile(stripped(make("two_mutexes.rs", RUST, ""), tmp_path), tmp_path)
    locks = [one for one in found.report["locks"] if one["is_lock"]]
    assert [one["kind"] for one in locks] == ["lock", "lock"]
    assert sum(one["wait_ns"] for one in locks) == pytest.approx(
        sum(found.truth.values()), rel=WITHIN
    )
    assert "No lock trouble" not in found.said


HEALTHY = [
    ("healthy_waits.cpp", CXX, "semaphore"),
    ("healthy_waits.cpp", CXX, "atomic"),
    ("healthy_waits.cpp", CXX, "latch"),
    ("healthy_waits.cpp", f"{CXX} -g", "latch"),
    ("healthy_waits.rs", RUST, "channel"),
    ("healthy_waits.rs", RUST, "condition"),
]


def _waits_in_the_library(program: Path) -> bool:
    """As since libstdc++ 16. Before, a function of the program was named after what waits."""
    listed = ["nm", "--dynamic", "--demangle", str(program)]
    names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    return "std::__detail::__wait_impl(" in names


REAL_TIME = ("chrt", "--fifo", "1")


def _before_others() -> tuple[str, ...]:
    """Other programs are no part of what is tested. Where that is refused, nothing."""
    tried = subprocess.run([*REAL_TIME, "true"], capture_output=True, check=False)
    return REAL_TIME if not tried.returncode else ()


BY_USE = ("semaphore", "atomic")  # some are locks: what threads do there tells, or cannot


@pytest.mark.parametrize(
    ("source", "command", "kind"),
    HEALTHY,
    ids=[f"{one[1][:5]}{one[1][-3:]}-{one[2]}" for one in HEALTHY],
)
def test_no_alarm_for_waits_on_purpose(
    make: Build, tmp_path: Path, source: str, command: str, kind: str
) -> None:
    program = make(source, command, "")
    if (kind, command) == ("latch", CXX) and _waits_in_the_library(program):
        pytest.skip("libstdc++ 16 inlines a latch, and only debug information tells of it")
    words = [*_before_others(), str(program), kind]
    found = profile(Path(words[0]), tmp_path, *words[1:])
    waited = sum(one["wait_ns"] for one in found.report["locks"])
    assert found.report["lost_ns"] <= 0.1 * waited, found.said
    if kind not in BY_USE:
        assert found.report["unsure_ns"] <= 0.1 * waited, found.said


@pytest.mark.parametrize("strip", [False, True], ids=["symbols", "stripped"])
def test_yields_before_a_sleep_are_no_lock(make: Build, tmp_path: Path, strip: bool) -> None:
    """libstdc++ yields before it sleeps; all of it is compiled into the thread's one function."""
    program = make("healthy_waits.cpp", "g++ -std=c++20 -O2 -pthread", "")
    found = profile(stripped(program, tmp_path) if strip else program, tmp_path, "atomic")
    assert not [one for one in found.report["locks"] if one["is_lock"]], found.said


def test_no_all_clear_without_symbols(make: Build, tmp_path: Path) -> None:
    """Whether its workers wait for work cannot be told then."""
    found = profile(stripped(make("healthy_waits.rs", RUST, ""), tmp_path), tmp_path, "condition")
    assert "wait at futexes of unknown kind" in found.said
    assert "No lock trouble" not in found.said


def test_the_gil_is_one_lock(tmp_path: Path) -> None:
    """By Debian's interpreter, which has no symbols; its condition has two words."""
    python = Path("/usr/bin/python3")
    if not python.exists():
        pytest.skip("there is no /usr/bin/python3")
    found = profile(python, tmp_path, str(PLANTED / "gil.py"))
    locks = [one for one in found.report["locks"] if one["is_lock"]]
    assert locks[0]["name"] == "Python's GIL"
    assert locks[0]["wait_ns"] >= 0.9 * sum(one["wait_ns"] for one in locks)
    split = locks[0]["split"]
    assert split.get("unknown", 0) <= 0.3 * sum(split.values())


def test_locks_of_go_are_not_watched(tmp_path: Path) -> None:
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    body = "func main() { time.Sleep(time.Second / 2) }"
    (tmp_path / "main.go").write_text(f'package main\nimport "time"\n{body}\n')
    program = tmp_path / "gopher"
    subprocess.run(["go", "build", "-o", program, tmp_path / "main.go"], check=True, cwd=tmp_path)
    report = tmp_path / "report.json"
    done = subprocess.run(
        ["overlock", "profile", "--json", report, "--", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Not watched: Go's mutexes and channels." in done.stderr
    assert json.loads(report.read_text())["unwatched"] == ["Go's mutexes and channels"]
