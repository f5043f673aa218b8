# SPDX-License-Identifier: MIT
"""`overlock run --fit`: a program is told as many CPUs as it may use, by all ways of asking."""

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from overlock_tools.bench.conditions import cgroup
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail
from overlock_tools.run import fit
from tests.conftest import TOP
from tests.mutant import changed
from tests.processes import HANG_S
from tests.run.conftest import overlock

HERE = Path(__file__).resolve().parent
FIT = TOP / "run/fit"
CPUS = sorted(os.sched_getaffinity(0))
MORE_S = 1.3  # the quota is looked at once a second
several = pytest.mark.skipif(len(CPUS) < 2, reason="with one CPU there is nothing to tell")


@pytest.fixture(scope="module")
def asks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("fit") / "asks"
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
    subprocess.run(["gcc", *flags, HERE / "asks.c", "-o", made], check=True)
    return made


def numbers(said: str) -> dict[str, int]:
    return {name: int(n) for name, n in re.findall(r"^([^=\n]+)=(-?\d+)$", said, re.MULTILINE)}


def told(said: str) -> set[int]:
    """By the ways whose answer is fitted."""
    return {n for name, n in numbers(said).items() if name[0] != "-"}


def kept(said: str) -> dict[str, int]:
    return {name: n for name, n in numbers(said).items() if name[0] == "-"}


@contextmanager
def with_quota(cpus: float) -> Iterator[cgroup.Group]:
    """We, and what we start."""
    try:
        group = cgroup.limited(cgroup.ours(), os.getpid(), round(cpus * 100_000), 100_000)
        entered = group.__enter__()
    except Fail as error:
        pytest.skip(error.message)
    try:
        yield entered
    finally:
        group.__exit__(None, None, None)


def test_without_it_the_program_counts_the_machine_s_cpus(asks: Path) -> None:
    """Else nothing here shows anything."""
    done = subprocess.run([asks], capture_output=True, text=True, timeout=HANG_S, check=True)
    assert numbers(done.stdout)["sysconf"] == os.cpu_count()


@several
def test_all_ways_of_asking_agree(asks: Path) -> None:
    native_said = subprocess.run([asks], capture_output=True, text=True, check=True).stdout
    done = overlock("--fit=1", "--", asks)
    assert told(done.stdout) == {1}
    assert kept(done.stdout) == kept(native_said)
    assert f"is told 1 CPU of {os.cpu_count()}" in done.stderr


@several
def test_a_mask(asks: Path) -> None:
    """And which CPU it is: the last, whose number is not 0."""
    last = str(CPUS[-1])
    said = overlock("--fit", "--", "taskset", "-c", last, asks).stdout
    assert told(said) == {1}
    online = overlock("--fit", "--", "taskset", "-c", last, "cat", "/sys/devices/system/cpu/online")
    assert online.stdout.strip() == last


@several
@pytest.mark.parametrize(("quota", "cpus"), [(0.5, 1), (1, 1), (1.5, 2), (2.5, 3)])
def test_a_quota_is_rounded_up(asks: Path, quota: float, cpus: int) -> None:
    with with_quota(quota):
        done = overlock("--fit", "--", asks)
    n = min(cpus, len(CPUS))
    assert told(done.stdout) == {n}
    assert f"quota of {quota:g}" in done.stderr
    assert ("rounded up" in done.stderr) == (quota != int(quota))


@several
def test_the_least_quota_of_those_above_counts(asks: Path) -> None:
    with with_quota(1) as group:
        below = group.path / "below"
        below.mkdir()
        try:
            if isinstance(group.tree, cgroup.V2):
                pytest.skip("a group of version 2 with processes has none below")
            words = [str(native.file("overlock")), "run", "--fit", "--", str(asks)]
            script = f'echo $$ > "{below}/cgroup.procs"; exec "$@"'
            done = subprocess.run(
                ["sh", "-c", script, "sh", *words], capture_output=True, text=True, check=True
            )
            assert told(done.stdout) == {1}
        finally:
            until = time.monotonic() + HANG_S
            while time.monotonic() < until:
                with contextlib.suppress(OSError):
                    below.rmdir()
                    break


@several
def test_what_changes_while_it_runs_is_told(asks: Path) -> None:
    words = [native.file("overlock"), "run", "--fit", "--", asks, "again"]
    with subprocess.Popen(
        [*map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin
        assert program.stdout

        def answer(asked: bool) -> set[int]:
            assert program.stdin
            assert program.stdout
            if asked:
                program.stdin.write("\n")
                program.stdin.flush()
            lines: list[str] = []
            while not lines or lines[-1] != "all told\n":
                lines.append(program.stdout.readline())
            return told("".join(lines))

        malloc = {len(CPUS)}  # which asked once, at the beginning
        assert answer(False) == {len(CPUS)}
        os.sched_setaffinity(program.pid, CPUS[:1])
        assert answer(True) == {1} | malloc
        os.sched_setaffinity(program.pid, CPUS)
        assert answer(True) == {len(CPUS)}
        tree = cgroup.ours()
        try:
            with cgroup.limited(tree, program.pid, 100_000, 100_000):
                time.sleep(MORE_S)
                assert answer(True) == {1} | malloc
        except Fail as error:
            pytest.skip(error.message)
        program.stdin.close()


@several
def test_a_thread_s_own_mask_does_not_count(asks: Path) -> None:
    """A runtime that binds its first thread leaves as many CPUs for others to count."""
    last = str(CPUS[-1])
    said = numbers(overlock("--fit", "--", asks, "pins", last).stdout)
    assert said == {"sysconf": len(CPUS), "affinity": 1, "on": CPUS[-1]}
    said = numbers(overlock("--fit=1", "--", asks, "pins", last).stdout)
    assert said == {"sysconf": 1, "affinity": 1, "on": CPUS[-1]}


def allowed() -> str:
    text = Path("/proc/self/status").read_text()
    return next(line for line in text.splitlines() if line.startswith("Cpus_allowed_list"))


@several
@pytest.mark.parametrize("how", [(), ("pthread",), ("call",)])
def test_a_mask_that_is_given_back_is_the_whole_one(asks: Path, how: tuple[str, ...]) -> None:
    """LLVM's OpenMP gives what it was told to each of its threads: that binds them to nothing."""
    assert overlock("--fit=1", "--", asks, "restores", *how).stdout.strip() == allowed()


@several
@pytest.mark.parametrize("how", ["alarmed", "threads"])
def test_who_asks_is_interrupted_or_not_alone(asks: Path, how: str) -> None:
    done = overlock("--fit=1", "--", asks, how)
    assert done.returncode == 0
    assert told(done.stdout) == {1}


@several
def test_children_and_scripts_are_told(asks: Path) -> None:
    done = overlock("--fit=1", "--", "sh", "-c", f'nproc; "{asks}"; echo $GOMAXPROCS')
    assert done.stdout.startswith("1\n")
    assert done.stdout.endswith("\n1\n")
    assert told(done.stdout) == {1}


@several
def test_it_can_be_disabled(asks: Path) -> None:
    done = overlock("--fit=1", "--", asks, OVERLOCK_DISABLE="1")
    assert done.stderr == ""
    plain = subprocess.run([asks], capture_output=True, text=True, check=True).stdout
    assert told(done.stdout) == told(plain)
    assert kept(done.stdout) == kept(plain)


@several
def test_it_composes(asks: Path) -> None:
    """With waiting loops and with a lock; without one the program keeps its own."""
    script = f'"{asks}"; echo "$LD_PRELOAD" >&2'
    for options, libraries in (
        (["--fit=1"], ["fit"]),
        (["--fit=1", "--spins"], ["spins", "fit"]),
        (["--fit=1", "--lock", "tas_yield"], ["fit", ""]),
    ):
        if "spins" in libraries and not (native.folder() / "liboverlock-run-spins.so").exists():
            continue
        done = overlock(*options, "--", "sh", "-c", script)
        assert told(done.stdout) == {1}
        found = re.findall(r"liboverlock-run-?(\w*)\.so", done.stderr)
        assert found == libraries


def test_a_variable_that_is_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMAXPROCS", "7")
    assert "GOMAXPROCS" not in fit.variables("1")
    monkeypatch.delenv("GOMAXPROCS")
    assert fit.variables("1").get("GOMAXPROCS") == ("1" if len(CPUS) > 1 else None)


def test_nothing_is_said_to_change_where_nothing_does() -> None:
    done = overlock("--fit", "--", "true")
    assert "nothing to tell" in done.stderr or len(CPUS) < (os.cpu_count() or 1)


@several
def test_one_within_another_tells_the_least() -> None:
    command = [native.file("overlock"), "run"]
    for outer, inner in (("--fit=1", "--fit=2"), ("--fit=2", "--fit=1"), ("--fit=1", "--fit")):
        done = overlock(outer, "--", *map(str, command), inner, "--", "nproc")
        assert done.stdout == "1\n"


def test_a_number_that_is_no_option_s_is_told() -> None:
    done = overlock("--fit", "1", "true")
    assert done.returncode == 127
    assert "did you mean --fit=1?" in done.stderr


@pytest.mark.parametrize("n", ["0", "-1", "many", "1.5", "", "\u0663"])
def test_what_is_no_number_is_refused(n: str) -> None:
    done = overlock(f"--fit={n}", "--", "true")
    assert done.returncode == 125
    assert f"--fit={n}: expected a number of CPUs" in done.stderr


STATIC = "int main(void) { return 7; }\n"


def test_a_static_program_is_refused_in_words(tmp_path: Path) -> None:
    """But one of Go's, which heeds a variable: whoever says that it is, as the linker does."""
    made = tmp_path / "static"
    words = ["gcc", "-static", "-x", "c", "-", "-o", str(made)]
    subprocess.run(words, input=STATIC, text=True, check=True)
    done = overlock("--fit=1", "--", made)
    assert done.returncode == 125
    assert "is statically linked" in done.stderr
    assert "give it a CPU mask (taskset -c)" in done.stderr
    with made.open("ab") as file:
        file.write(fit.GO)
    done = overlock("--fit=1", "--", made)
    assert done.returncode == 7
    assert "only its runtime's variable is set" in done.stderr


MUTANTS = {
    "the quota is no matter": ("cpus.c", "quota()), asked())", "0u), asked())"),
    "the mask is no matter": ("cpus.c", "pinned ? pinned : in_mask()", "UINT_MAX"),
    "rounds down": ("cpus.c", "(quota + period - 1) / period", "quota / period"),
    "the number is no matter": ("cpus.c", "quota()), asked())", "quota()), 0u)"),
    "is never pinned": (
        "cpus.c",
        "!bytes || !ol_cas_relaxed(&seen.pinned, 0u, count(mask, bytes))",
        "true",
    ),
    "binds who restores": (
        "cpus.c",
        "if (!n || cpus <",
        "if (true || cpus <",
    ),
    "never looks again": (
        "cpus.c",
        "&seen.next_look, now + LOOK_NS",
        "&seen.next_look, UINT64_MAX",
    ),
    "other processes are its own": (
        "answers.c",
        "!id || !syscall(SYS_tgkill",
        "true || !syscall(SYS_tgkill",
    ),
    "configured is online": (
        "answers.c",
        "name != _SC_NPROCESSORS_ONLN",
        "name != _SC_NPROCESSORS_ONLN && name != _SC_NPROCESSORS_CONF",
    ),
    "all rows are a CPU's": ("files.c", "line[3] != ' '", "true"),
    "all stanzas stay": ("files.c", "is_told(c->told, cpu) : c->keeps", "true : c->keeps"),
    "the CPU's number stays": ("cpus.c", "cpu : cpu % least", "cpu : cpu"),
    "who binds is told a place": (
        "cpus.c",
        "!least || ol_load_relaxed(&seen.pinned) ? cpu",
        "!least ? cpu",
    ),
}


def built(folder: Path, source: str = "", old: str = "", new: str = "") -> Path:
    """The library, by itself; with a mutant."""
    for path in FIT.iterdir():
        text = path.read_text()
        (folder / path.name).write_text(changed(text, (old, new)) if path.name == source else text)
    includes = [f"-I{folder}", f"-I{TOP / 'lib'}", f"-I{TOP / 'include'}"]
    sources = [*folder.glob("*.c"), TOP / "lib/cgroup.c"]
    flags = ["-std=gnu11", "-O1", "-w", "-D_GNU_SOURCE", "-shared", "-fPIC"]
    made = folder / "fit.so"
    subprocess.run(["gcc", *flags, *includes, *sources, "-o", made], check=True)
    return made


def is_right(library: Path, asks: Path) -> bool:
    env = os.environ | {"LD_PRELOAD": str(library), "OVERLOCK_FIT": fit.AUTO}

    def said(*words: str, under: tuple[str, ...] = (), **more: str) -> str:
        done = subprocess.run(
            [*under, str(asks), *words],
            env=env | more,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
        return done.stdout

    last = str(CPUS[-1])
    on_last = ("taskset", "-c", last)
    plain = subprocess.run([asks], capture_output=True, text=True, check=True).stdout
    one = said(OVERLOCK_FIT="1")
    return (
        told(one) == {1}
        and kept(one) == kept(plain)
        and numbers(said("where", under=on_last, OVERLOCK_FIT="1")) == {"on": 0}
        and numbers(said("pins", last)) == {"sysconf": len(CPUS), "affinity": 1, "on": CPUS[-1]}
        and numbers(said("pins", last, OVERLOCK_FIT="1"))["on"] == CPUS[-1]
        and said("restores", OVERLOCK_FIT="1").strip() == allowed()
        and told(said(under=on_last)) == {1}
        and is_right_about_quotas(env, asks)
    )


def is_right_about_quotas(env: dict[str, str], asks: Path) -> bool:
    """And looks again."""
    with with_quota(0.5) as group:
        first = subprocess.run([asks], env=env, capture_output=True, text=True, check=True).stdout
        words = [sys.executable, "-c", LATER]
        with subprocess.Popen(words, env=env, stdin=-1, stdout=-1, text=True) as program:
            assert program.stdin
            assert program.stdout
            before = program.stdout.readline()
            group.tree.limit(group.path, 200_000, 100_000)
            time.sleep(MORE_S)
            after, _ = program.communicate("\n", timeout=HANG_S)
    return told(first) == {1} and (before, after) == ("1\n", "2\n")


LATER = "import os; print(os.cpu_count(), flush=True); input(); print(os.cpu_count())"


@several
def test_the_library_is_right(tmp_path: Path, asks: Path) -> None:
    assert is_right(built(tmp_path), asks)


@several
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(tmp_path: Path, asks: Path, name: str) -> None:
    assert not is_right(built(tmp_path, *MUTANTS[name]), asks)
