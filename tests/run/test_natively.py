# SPDX-License-Identifier: MIT
"""Where a program goes on as natively: wrong clocks, odd forks, other C libraries, tools."""

import os
import platform
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.processes import HANG_S
from tests.run.conftest import (
    LOCKS,
    X86_64,
    Compile,
    environment,
    installed,
    on_terminal,
    output,
    overlock,
    run,
)

FAKETIME = Path(f"/usr/lib/{platform.machine()}-linux-gnu/faketime/libfaketimeMT.so.1")


@pytest.fixture(scope="session")
def counter(program: Compile) -> Path:
    if not X86_64:
        pytest.skip("only x86 lets reading the counter trap")
    return program("counter.c")


@pytest.mark.parametrize("change", ["back", "ahead", "still"])
def test_no_lock_believes_a_time_stamp_counter_that_is_wrong(counter: Path, change: str) -> None:
    def under(lock: str | None) -> subprocess.CompletedProcess[str]:
        return run([counter, change], environment(lock), timeout=HANG_S)

    assert under(None).returncode == 0
    with ThreadPoolExecutor(8) as pool:  # they sleep most of the time
        done = dict(zip(LOCKS, pool.map(under, LOCKS), strict=True))
    wrong = {lock: (d.returncode, d.stdout, d.stderr) for lock, d in done.items() if d.returncode}
    assert wrong == {}


@pytest.mark.parametrize("lock", [None, "rota", "ticket", "paced"])
def test_no_lock_reads_a_counter_that_traps(counter: Path, lock: str | None) -> None:
    output([counter, "traps"], environment(lock))


@pytest.mark.parametrize("lock", LOCKS)
def test_a_child_of_a_raw_system_call_has_no_ghosts(program: Compile, lock: str) -> None:
    assert output([program("raw_fork.c")], environment(lock)) == "12 of 12\n"


@pytest.mark.parametrize("order", ["first", "last", "alone"])
@pytest.mark.parametrize("year", ["2020", "2040"])
@pytest.mark.parametrize("call", ["condition", "mutex"])
def test_deadlines_are_by_the_clock_of_the_program(
    program: Compile, call: str, year: str, order: str
) -> None:
    if call == "mutex" and order == "alone":
        pytest.skip("libfaketime does not replace pthread_mutex_timedlock()")
    ours = str(native.file("liboverlock-run.so"))
    libraries = {"first": f"{FAKETIME}:{ours}", "last": f"{ours}:{FAKETIME}", "alone": FAKETIME}
    env = environment("rota", LD_PRELOAD=str(libraries[order]), FAKETIME=f"@{year}-12-24 20:30:00")
    assert output([program("short_wait.c"), call], env) == "in time\n"


def test_a_child_may_make_anew_what_its_parent_held(program: Compile) -> None:
    """On a terminal, for without one nothing is said of findings."""
    library = native.file("liboverlock-run-checked.so")
    env = environment("rota", library, OVERLOCK_CHECK="1", OVERLOCK_QUIET="1")
    assert on_terminal([str(program("made_anew.c"))], env) == ""


@pytest.fixture(scope="session")
def seven_by_musl(folder: Path) -> Path:
    source, made = folder / "locks.c", folder / "locks_by_musl"
    source.write_text(
        "#include <pthread.h>\n"
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
        "static void *run(void *p) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m);\n"
        "return p; }\n"
        "int main(void) { pthread_t t; pthread_mutex_lock(&m); pthread_create(&t, 0, run, 0);\n"
        "pthread_mutex_unlock(&m); pthread_join(t, 0); return 7; }\n"
    )
    subprocess.run(["musl-gcc", source, "-o", made], check=True)
    return made


@pytest.mark.parametrize("lock", ["rota", "mcs"])
def test_a_program_of_musl_is_left_alone(seven_by_musl: Path, lock: str) -> None:
    done = overlock("--lock", lock, "--", "sh", "-c", f"'{seven_by_musl}'; echo $?")
    assert (done.stdout, done.stderr) == ("7\n", "")


WATCHED = {
    "counters": ("run", "--counters", "--output", "@/out"),
    "check": ("run", "--check"),
    "record": ("run", "--record", "@/out"),
    "chaos": ("chaos", "--runs", "1"),
}


@pytest.mark.parametrize("how", WATCHED)
def test_a_program_of_musl_is_left_alone_by_what_watches(
    seven_by_musl: Path, tmp_path: Path, how: str
) -> None:
    answer = tmp_path / "answer"
    shell = ["sh", "-c", f"'{seven_by_musl}' 2>'{answer}'; echo $? >>'{answer}'"]
    options = [word.replace("@", str(tmp_path)) for word in WATCHED[how]]
    command: list[str | Path] = [installed(), *options, "--", *shell]
    done = run(command, environment(None, OVERLOCK_NATIVE=str(native.folder())))
    assert done.returncode == 0, done.stderr
    assert answer.read_text() == "7\n"


def test_a_second_namespace_is_refused_in_words(program: Compile) -> None:
    made = program("namespace.c")
    assert output([made, "new"], environment(None)) == "loaded\n"
    assert output([made, "same"], environment("mcs")) == "loaded\n"
    done = run([made, "new"], environment("mcs"))
    assert (done.returncode, done.stdout) == (0, "not loaded\n")
    assert "overlock: dlmopen: libc.so.6 is not loaded" in done.stderr
    disabled = environment("mcs", OVERLOCK_DISABLE="1")
    assert output([made, "new"], disabled) == "loaded\n"


@pytest.mark.parametrize("tool", ["helgrind", "drd"])
def test_race_detectors_see_the_locks(program: Compile, tool: str) -> None:
    valgrind = shutil.which("valgrind")
    assert valgrind, os.environ["PATH"]
    options = [f"--tool={tool}", "--error-exitcode=9"]
    done = run([valgrind, *options, program("locked_sum.c")], environment("mcs"), timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    assert "ERROR SUMMARY: 0 errors" in done.stderr
    assert "all locks are left to glibc" in done.stderr
