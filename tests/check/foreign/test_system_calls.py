# SPDX-License-Identifier: MIT
"""System calls and library calls of locks from outside: answered as the kernel and the C library
answer, seen where they touch memory, refused in words where the checker has no model of them."""

import subprocess
import sys
from pathlib import Path

import pytest

from overlock_tools.check import foreign, unseen
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail
from tests.check import checking
from tests.check.foreign.test_foreign import HERE, HOLDS, check, verdict

MODELS = ("sc", "tso", "c11")
MISUSE, ABORTS = "misuse of the platform layer", "abort"
LOST = "lost wake-up"
AFTER = "use after release"
CALM = ("--budget=expiry=0",)
SPURIOUS = ("--budget=spurious=1",)


def gcc_version() -> int:
    command = ["g++", "-dumpversion"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split(".")[0])


@pytest.mark.parametrize("model", MODELS)
def test_answers_are_the_kernels(tmp_path: Path, model: str) -> None:
    assert verdict(check(tmp_path, "system_calls.c", "", f"lock 1x1 {model}", *CALM)) == HOLDS


def test_wrong_expectation_is_noticed(tmp_path: Path) -> None:
    assert verdict(check(tmp_path, "system_calls.c", "-DMUTANT", "lock 1x1", *CALM)) == MISUSE


def test_kernel_answers_so(tmp_path: Path) -> None:
    """The same file, as a program."""
    program = tmp_path / "natively"
    options = ["-DNATIVE", "-O1", "-w", "-I", str(native.include())]
    subprocess.run(["gcc", *options, HERE / "system_calls.c", "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("holds\n", 0)


@pytest.mark.parametrize(
    ("mutant", "options", "expected"),
    [
        ("none", SPURIOUS, HOLDS),
        ("again_is_fatal", (), ABORTS),
        ("interrupt_is_fatal", SPURIOUS, ABORTS),
        ("interrupt_is_fatal", (), HOLDS),
        ("zero_means_woken", SPURIOUS, ABORTS),
        ("zero_means_woken", (), HOLDS),
        ("takes_raw_errors", (), ABORTS),
        ("shares_errno", (), MISUSE),
    ],
)
def test_lock_decides_by_errno(
    tmp_path: Path, mutant: str, options: tuple[str, ...], expected: str
) -> None:
    """Which is its context's own; a sleep without cause returns 0, or -1 and EINTR."""
    result = check(tmp_path, "errors.c", f"-DMUTANT={mutant}", "lock 2x1", *options)
    assert verdict(result) == expected


@pytest.mark.parametrize(
    ("flags", "asked", "expected"),
    [
        *(("-DKIND=inherits", f"lock 2x2 {model}", HOLDS) for model in MODELS),
        ("-DKIND=inherits", "lock 3x1", HOLDS),
        ("-DKIND=inherits -DMUTANT=releases_alone", "lock 2x1", LOST),
        *(("-DKIND=tells_two", f"lock 2x1 {model}", HOLDS) for model in MODELS),
        ("-DKIND=tells_two -DMUTANT=forgets_second", "lock 2x1", LOST),
        ("-DKIND=newer", "lock 2x1", HOLDS),
        ("-DKIND=newer -DMUTANT=wakes_other_bits", "lock 2x1", LOST),
        ("-DKIND=waits_some_time", "lock 2x1", HOLDS),
        ("-DKIND=waits_some_time -DMUTANT=trusts_timeout", "lock 2x1", "exclusion"),
        ("-DKIND=waits_once", "lock 2x1", HOLDS),
    ],
)
def test_lock_on_other_futex_calls(tmp_path: Path, flags: str, asked: str, expected: str) -> None:
    assert verdict(check(tmp_path, "futexes.c", flags, asked)) == expected


@pytest.mark.parametrize(
    ("flags", "asked", "expected"),
    [
        *(("-DKIND=allocates", f"lock 2x1 {model}", HOLDS) for model in MODELS),
        ("-DKIND=allocates", "lock 3x1", HOLDS),
        ("-DKIND=allocates -DMUTANT=frees_early", "lock 2x1", AFTER),
        ("-DKIND=allocates -DMUTANT=frees_twice", "lock 1x1", AFTER),
        ("-DKIND=allocates -DMUTANT=uses_freed", "lock 1x1", AFTER),
        ("-DKIND=allocates -DMUTANT=frees_another", "lock 1x1", "wild access"),
        ("-DKIND=delays", "lock 2x2", HOLDS),
        ("-DKIND=delays", "lock 2x1 c11", HOLDS),
        ("-DKIND=clears", "lock 2x1", HOLDS),
        ("-DKIND=clears", "lock 2x1 c11", "not ordered by happens-before"),
        ("-DKIND=clears -DMUTANT=clears_nothing", "lock 2x1", "deadlock"),
        ("-DKIND=gives_up", "lock 2x1", HOLDS),
    ],
)
def test_lock_that_calls_the_library(tmp_path: Path, flags: str, asked: str, expected: str) -> None:
    assert verdict(check(tmp_path, "library.c", flags, asked)) == expected


@pytest.mark.parametrize(
    ("flags", "asked", "expected"),
    [
        *((f"-DKIND={kind}", "lock 2x1", HOLDS) for kind in ("atomic", "flag", "once")),
        *((f"-DKIND={kind}", "lock 2x1 c11", HOLDS) for kind in ("atomic", "flag")),
        ("-DKIND=one_latch", "lock 2x1", HOLDS),
        ("-DKIND=atomic -DMUTANT=wakes_nobody", "lock 2x1", LOST),
        ("-DKIND=flag -DMUTANT=wakes_nobody", "lock 2x1", LOST),
        ("-DKIND=flag -DMUTANT=throws", "lock 2x1", ABORTS),
        ("-DKIND=once -DMUTANT=leaves_once", "lock 2x1", MISUSE),
    ],
)
def test_waiting_in_cpp20(tmp_path: Path, flags: str, asked: str, expected: str) -> None:
    assert verdict(check(tmp_path, "waits.cc", flags, asked)) == expected


@pytest.mark.skipif(gcc_version() != 12, reason="of libstdc++ 12")
@pytest.mark.parametrize("kind", ["counting", "binary"])
def test_semaphores_of_libstdcpp_12_lose_a_wakeup(tmp_path: Path, kind: str) -> None:
    """Each waits for a value that it loaded before it last failed to take a unit."""
    result = check(tmp_path, "waits.cc", f"-DKIND={kind}", "lock 2x1")
    assert verdict(result) == LOST
    last = [event["file"] for event in result["failure"]["events"] if "parks" in event["what"]]
    assert last[-1] == "atomic_wait.h"


LOCK = """
#include <overlock/checked.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static void lock(void *o) { if (ol_checked_self()) { CALL; } }
static void unlock(void *o) { }
const struct ol_checked_lock overlock_checked = { "mine", 8, 0, lock, unlock };
"""


def overlock_check(folder: Path, call: str) -> subprocess.CompletedProcess[str]:
    file = folder / "mine.c"
    file.write_text(LOCK.replace("CALL", call))
    command = [sys.executable, "-m", "overlock_tools", "check", str(file), "--size", "1x1"]
    return subprocess.run([*command, "--model", "sc"], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("syscall(334, 0, 0, 0, 0)", "mine.c:8 makes system call 334, which the checker does not"),
        ("syscall(SYS_futex, o, 11, 0, 0, &other, 0)", "moves sleepers to a lock with priority"),
        ("pthread_mutex_lock(&other)", "mine.c calls pthread_mutex_lock, whose accesses"),
    ],
)
def test_what_has_no_model_is_refused(tmp_path: Path, call: str, said: str) -> None:
    """In one line, as an error of usage and no verdict."""
    done = overlock_check(tmp_path, call)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_call_that_is_not_seen_is_told(tmp_path: Path) -> None:
    done = overlock_check(tmp_path, 'printf("%p", o)')
    assert done.returncode == 4, done.stderr
    assert "exhausted: holds; not seen: printf" in done.stdout


def test_membarrier_is_a_fence_only_under_sc(tmp_path: Path) -> None:
    file = tmp_path / "mine.c"
    file.write_text(LOCK.replace("CALL", "if (syscall(SYS_membarrier, 1, 0, 0)) other.__align++"))
    compiled = foreign.compile_file(file, tmp_path, None)
    assert verdict(checking.check(compiled, "lock 1x1")) == HOLDS
    command = [str(checking.CHECKER), "--load", str(compiled), *checking.of("lock 1x1 tso")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "calls membarrier() under tso" in done.stderr


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("std::mutex m; m.lock();", "pthread_mutex_lock"),
        ("std::condition_variable c; c.notify_one();", "std::condition_variable::notify_one()"),
    ],
)
def test_blocking_calls_of_cpp_are_named(tmp_path: Path, code: str, name: str) -> None:
    file = tmp_path / "mine.cc"
    file.write_text(
        "#include <condition_variable>\n#include <mutex>\n#include <overlock/checked.h>\n"
        f"static void lock(void *) {{ {code} }}\nstatic void unlock(void *) {{}}\n"
        "extern const ol_checked_lock overlock_checked = {.size = 8, .lock = lock, "
        ".unlock = unlock};\n"
    )
    with pytest.raises(Fail, match="whose accesses and waiting") as refused:
        foreign.compile_file(file, tmp_path, None)
    assert name in str(refused.value)


def test_calls_are_listed_but_for_harmless_ones(tmp_path: Path) -> None:
    file = tmp_path / "mine.c"
    file.write_text(LOCK.replace("CALL", "puts(ttyname(labs((long)o)))"))
    compiled = foreign.compile_file(file, tmp_path, None, "-fno-builtin")
    assert unseen.calls(compiled) == ("puts", "ttyname")
