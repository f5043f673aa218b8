# SPDX-License-Identifier: MIT
"""overlock run --check and --deadlock-timeout: what is told, and what is not."""

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.system import native
from tests.conftest import TOP
from tests.run.conformance.test_mutants import Mutant, build
from tests.run.conftest import LOCKS, Compile, environment, output, overlock, run

MISUSE = {
    # what is found, and the function that the call is in
    "foreign_unlock": "unlocks",
    "free_unlock": "free_unlock",
    "destroy_held": "destroy_held",
    "init_held": "init_held",
    "init_again": "init_again",
    "relock": "locks_twice",
}
# One that spins, one that yields, one that parks, one that queues, one that lies outside the mutex.
KINDS = ("ticket", "tas_yield", "pv_ticket", "mcs", "partitioned_ticket")

Finding = dict[str, Any]


def found(tmp_path: Path, *command: str | Path, options: tuple[str, ...]) -> list[Finding]:
    out = tmp_path / "found.json"
    done = overlock(*options, "--output", out, *command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
    assert list(tmp_path.iterdir()) == [out]
    report = json.loads(out.read_text())
    assert report["sites"] is not None  # it is the one written last
    findings: list[Finding] = report["findings"]
    return findings


def functions(stack: list[Finding]) -> list[str]:
    return [frame.get("function", "") for frame in stack]


@pytest.mark.parametrize("lock", KINDS)
@pytest.mark.parametrize("what", MISUSE)
def test_misuse_is_told(program: Compile, tmp_path: Path, what: str, lock: str) -> None:
    command = (program("misuse.c"), what)
    findings = found(tmp_path, *command, options=("--check", "--lock", lock))
    assert [finding["what"] for finding in findings] == [what]
    assert functions(findings[0]["stack"])[0] == MISUSE[what]
    assert findings[0]["mutex"]["variable"] == "subject"


def test_findings_while_the_program_ends(program: Compile, tmp_path: Path) -> None:
    """Both want to write the report: the last one is whole, and nothing is left beside it."""
    command, out = program("many_findings.c"), tmp_path / "found.json"
    for _ in range(6):
        done = overlock("--check", "--lock", "mcs", "--output", out, command)
        assert (done.returncode, done.stdout) == (0, "ended\n")
        assert list(tmp_path.iterdir()) == [out]
        report = json.loads(out.read_text())
        assert report["sites"] is not None
        assert len(report["findings"]) + done.stderr.count("overlock: free_unlock") >= 5


@pytest.mark.parametrize("lock", KINDS)
def test_nothing_is_told_of_what_is_right(program: Compile, tmp_path: Path, lock: str) -> None:
    options = ("--check", "--deadlock-timeout", "1s", "--lock", lock)
    assert found(tmp_path, program("misuse.c"), "as_it_should_be", options=options) == []


@pytest.mark.parametrize("lock", KINDS)
def test_a_deadlock_is_told_once(program: Compile, tmp_path: Path, lock: str) -> None:
    options = ("--deadlock-timeout", "200ms", "--lock", lock)
    findings = found(tmp_path, program("misuse.c"), "deadlock", options=options)
    assert [finding["what"] for finding in findings] == ["deadlock"]
    one, two = findings[0]["waits"]
    assert (one["owner"], two["owner"]) == (two["thread"], one["thread"])
    names = {wait["mutex"]["variable"]: functions(wait["stack"])[0] for wait in (one, two)}
    assert names == {"subject": "locks_other_way", "other": "locks_one_way"}
    held = {wait["mutex"]["variable"]: wait["acquired"]["function"] for wait in (one, two)}
    assert held == {"subject": "locks_one_way", "other": "locks_other_way"}


def test_two_waiters_report_at_once(program: Compile, tmp_path: Path) -> None:
    slowly = program("slow_rename.c", "-shared", "-fPIC")  # the second has to wait for the first
    library = native.file("liboverlock-run-checked.so")
    report = told_by(library, program("misuse.c"), "deadlock", tmp_path / "report", slowly)
    assert report == ["deadlock"]


@pytest.mark.parametrize("lock", KINDS)
def test_a_long_wait_is_told_and_goes_on(program: Compile, tmp_path: Path, lock: str) -> None:
    options = ("--deadlock-timeout", "200ms", "--lock", lock)
    (finding,) = found(tmp_path, program("misuse.c"), "long_wait", options=options)
    assert finding["what"] == "long_wait"
    (wait,) = finding["waits"]
    assert functions(wait["stack"])[0] == "waits"
    assert finding["last"] == {"thread": wait["owner"], "state": "asleep"}


def test_no_wait_is_told_before_its_time(program: Compile, tmp_path: Path) -> None:
    options = ("--deadlock-timeout", "60s")
    assert found(tmp_path, program("misuse.c"), "long_wait", options=options) == []


@pytest.mark.parametrize("lock", LOCKS)
def test_checked_answers_as_glibc(program: Compile, tmp_path: Path, lock: str) -> None:
    library = native.file("liboverlock-run-checked.so")
    more = {"OVERLOCK_CHECK": "1", "OVERLOCK_DEADLOCK_NS": "60000000000"}
    conformance = program("conformance.c")
    expected = output([conformance], environment(None))
    env = environment(lock, library, OVERLOCK_OUTPUT=str(tmp_path / "report"), **more)
    assert output([conformance], env) == expected


def test_fork_under_the_checked_library(program: Compile, tmp_path: Path) -> None:
    library = native.file("liboverlock-run-checked.so")
    more = {"OVERLOCK_CHECK": "1", "OVERLOCK_OUTPUT": str(tmp_path / "report")}
    said = output([program("fork.c"), "3", "destroy"], environment("ticket", library, **more))
    assert said.startswith("children that returned: 60 of 60\n")


def test_refuses_what_does_not_go_together(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for options, word in (
        (("--check", "--counters=1s"), "--counters=1s"),
        (("--deadlock-timeout", "soon"), "10ms to 3600s"),
        (("--check", "--lock", "./mine.h"), "mine.h"),
    ):
        done = overlock(*options, "--output", out, "true")
        assert (done.returncode, done.stderr.count("\n")) == (125, 1), done
        assert word in done.stderr


@pytest.mark.parametrize("text", ["5s", "", "-1", " 5", "9" * 30])
def test_refuses_a_time_that_is_none(text: str) -> None:
    library = native.file("liboverlock-run-checked.so")
    done = run(["true"], environment("ticket", library, OVERLOCK_DEADLOCK_NS=text))
    line = (
        "overlock: OVERLOCK_DEADLOCK_NS: expected a time in ns, such as 5000000000 for 5 s, or 0\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (125, "", line)


def test_refuses_to_check_by_half() -> None:
    library = native.file("liboverlock-run-checked.so")
    done = run(["true"], environment("ticket", library, OVERLOCK_CHECK="yes"))
    assert (done.returncode, done.stderr) == (125, "overlock: OVERLOCK_CHECK: expected 0 or 1\n")


MUTANTS = {
    # the program, what the library must find there, and with what wrong it does not
    "no owner is followed": (
        "deadlock",
        "misuse.c",
        "ol_store_release(&walker, 0u); return t;",
        "ol_store_release(&walker, 0u); return false;",
    ),
    "sleepers do not wake to look": (
        "long_wait",
        "misuse.c",
        "return began + timeout;",
        "return OL_NEVER;",
    ),
    "the owner is not noted": (
        "foreign_unlock",
        "mutex.c",
        "IS_CHECKED || is_owned_kind(m)",
        "is_owned_kind(m)",
    ),
    "any unlock is right": (
        "free_unlock",
        "misuse.c",
        "if (!looks_for_misuse || is_mine)",
        "if (!looks_for_misuse || 1)",
    ),
    "who holds it is not asked": (
        "init_held",
        "misuse.c",
        "if (holder_site(m))",
        "if (!m)",
    ),
    "a second place is as good": (
        "init_again",
        "misuse.c",
        "b->site && b->site != ol_run_caller",
        "false",
    ),
    "destroying is not looked at": (
        "destroy_held",
        "misuse.c",
        "if (looks_for_misuse && is_locked)",
        "if (0)",
    ),
    "nothing is a relock": (
        "relock",
        "mutex.c",
        "} else if (IS_CHECKED && is_mine(m)) {",
        "} else if (0) {",
    ),
    "a destroyed one is remembered": (
        "as_it_should_be",
        "misuse.c",
        "ol_store_relaxed(&b->site, (const void *)0);",
        "(void)0;",
    ),
}


def told_by(library: Path, program: Path, what: str, out: Path, *preloaded_too: Path) -> list[str]:
    more = {"OVERLOCK_CHECK": "1", "OVERLOCK_DEADLOCK_NS": "200000000", "OVERLOCK_QUIET": "1"}
    env = environment("tas_yield", library, OVERLOCK_OUTPUT=str(out), **more)
    env["LD_PRELOAD"] = " ".join(str(path) for path in (library, *preloaded_too))
    done = run([program, what], env)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done
    return [finding["what"] for finding in json.loads(out.read_text())["findings"]]


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(program: Compile, tmp_path: Path, name: str) -> None:
    what, file, right, wrong = MUTANTS[name]
    misuse, out = program("misuse.c"), tmp_path / "report"
    healthy = told_by(native.file("liboverlock-run-checked.so"), misuse, what, out)
    assert healthy == ([] if what == "as_it_should_be" else [what, *healthy[1:]])
    (tmp_path / "mutant").mkdir()
    mutant = build(
        tmp_path / "mutant", Mutant(name, file, right, wrong, "tas_yield", ()), "checked"
    )
    assert told_by(mutant, misuse, what, out) != healthy


GDB = TOP / "run/overlock-gdb.py"


@pytest.mark.skipif(not shutil.which("gdb"), reason="there is no gdb")
@pytest.mark.parametrize("lock", ["ticket", "pv_ticket", "partitioned_ticket"])
def test_gdb_tells_holder_and_waiters(program: Compile, lock: str) -> None:
    library = native.file("liboverlock-run-checked.so")
    env = environment(lock, library, OVERLOCK_CHECK="1", OVERLOCK_QUIET="1")
    child = subprocess.Popen(
        [program("misuse.c"), "deadlock", "90"], env=env, stdout=subprocess.DEVNULL
    )
    try:
        said = ""
        while said.count("waits for it") < 2 and child.poll() is None:
            command = ["gdb", "-nx", "--batch", "-p", str(child.pid), "-ex", f"source {GDB}"]
            done = run([*command, "-ex", "overlock-mutex"], environment(None))
            if "ptrace" in done.stderr:
                pytest.skip("this user may not trace")
            said = done.stdout
        lines = [line.strip() for line in said.splitlines()]
        for name in ("subject", "other"):
            (at,) = [i for i, line in enumerate(lines) if f"({name} in section" in line]
            assert lines[at].endswith(f": normal, {lock}")
            assert lines[at + 1].startswith("held by LWP ")
            assert lines[at + 2].endswith("waits for it")
            assert lines[at + 1].split()[3] != lines[at + 2].split()[1]
    finally:
        child.kill()
        child.wait()


WALK = "static bool walk("
MET = "m = ol_load_relaxed(&t->waits_for);"
STAYS = "while ((other = ol_load_acquire(&walker))"


def slow_walk(folder: Path, *also: tuple[str, str, str]) -> Path:
    """The checked library, which calls the program where it has yet to look at a waiter's mutex."""
    folder.mkdir()
    declared = f"extern void walked(const void *m) __attribute__((weak));\n{WALK}"
    more = (("misuse.c", WALK, declared), *also)
    called = MET + " if (walked) walked(m);"
    return build(folder, Mutant("slow walk", "misuse.c", MET, called, "", (), more), "checked")


def test_a_mutex_is_not_freed_while_it_is_looked_at(program: Compile, tmp_path: Path) -> None:
    freed, out = program("freed_meanwhile.c", "-rdynamic"), tmp_path / "report"
    found = told_by(slow_walk(tmp_path / "slow"), freed, "", out)
    assert found == ["long_wait", "long_wait"]
    nobody_stays = ("misuse.c", STAYS, STAYS.replace("while (", "while (false && "))
    mutant = slow_walk(tmp_path / "mutant", nobody_stays)
    more = {"OVERLOCK_DEADLOCK_NS": "200000000", "OVERLOCK_OUTPUT": str(out)}
    assert run([freed], environment("tas_yield", mutant, **more)).returncode == -signal.SIGSEGV
