# SPDX-License-Identifier: MIT
"""overlock run among what production has: other allocators, sanitizers, gdb, upgrades, systemd."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.conftest import TOP
from tests.processes import HANG_S
from tests.run.conftest import (
    LOCKS,
    X86_64,
    Compile,
    collapses,
    environment,
    on_terminal,
    overlock,
    run,
)

FLAVOURS = ("", "-counted", "-checked")
ALLOCATORS = ("libjemalloc.so.2", "libtcmalloc_minimal.so.4")
LIBRARIES = Path(f"/usr/lib/{'x86_64' if X86_64 else 'aarch64'}-linux-gnu")


def library(flavour: str = "") -> Path:
    return native.file(f"liboverlock-run{flavour}.so")


def rounds(lock: str | None) -> str:
    return "20" if lock and collapses(lock) else "2000"


def served(
    command: list[str | Path], env: dict[str, str], lines: int = 2
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        env=env,
        input="\n" * lines,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def counted(threads: int, each: str, lines: int = 2) -> str:
    return "".join(f"{threads * int(each) * (i + 1)}\n" for i in range(lines))


# Allocators, which use mutexes before any constructor has run, ours included.


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("lock", ["tas_yield", "ticket", "mcs", "partitioned_ticket"])
@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_other_allocators(program: Compile, allocator: str, lock: str, flavour: str) -> None:
    """Preloaded before us, preloaded behind us, and linked."""
    if not (LIBRARIES / allocator).exists():
        pytest.skip(f"{allocator} is not installed")
    plain = program("guarded.c")
    linked = program("guarded.c", f"-l:{allocator}", name=f"guarded-{allocator}")
    ours = str(library(flavour))
    for preload, file in (
        (f"{allocator}:{ours}", plain),
        (f"{ours}:{allocator}", plain),
        (ours, linked),
    ):
        env = environment(lock, LD_PRELOAD=preload, OVERLOCK_QUIET="1")
        done = served([file, "4", rounds(lock)], env)
        said = (done.returncode, done.stdout, done.stderr)
        assert said == (0, counted(4, rounds(lock)), ""), (preload, file)


@pytest.mark.skipif(not (LIBRARIES / ALLOCATORS[0]).exists(), reason="there is no jemalloc")
def test_an_allocators_own_mutexes_are_served(program: Compile, tmp_path: Path) -> None:
    out = tmp_path / "report"
    env = environment("tas_yield", library("-counted"), OVERLOCK_OUTPUT=str(out))
    linked = program("guarded.c", f"-l:{ALLOCATORS[0]}", name=f"guarded-{ALLOCATORS[0]}")
    assert served([linked, "2", "100"], env).returncode == 0
    modules = {Path(s["module"]).name for s in json.loads(out.read_text())["sites"]["sites"]}
    assert {ALLOCATORS[0], linked.name} <= modules


# Sanitizers.

RUNTIMES = [("gcc", "address"), ("gcc", "undefined"), ("clang", "address"), ("clang", "memory")]


def sanitized(folder: Path, compiler: str, sanitizer: str) -> Path:
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    out = folder / f"guarded-{compiler}-{sanitizer}"
    source = TOP / "tests/run/programs/guarded.c"
    flags = ["-O1", "-g", "-pthread", f"-fsanitize={sanitizer}"]
    command: list[str | Path] = [compiler, *flags, source, "-o", out]
    if not out.exists():
        subprocess.run(command, check=True)
    return out


@pytest.mark.parametrize(("compiler", "sanitizer"), RUNTIMES)
def test_sanitizers_find_what_they_should(folder: Path, compiler: str, sanitizer: str) -> None:
    file = sanitized(folder, compiler, sanitizer)
    for lock in ("tas_yield", "ticket", "partitioned_ticket"):
        done = run_with_lines("--lock", lock, "--", file, "3", "20")
        assert (done.returncode, done.stdout, done.stderr) == (0, counted(3, "20"), "")
    if sanitizer == "address":
        done = run_with_lines("--", file, "3", "20", "overflows")
        assert "heap-buffer-overflow" in done.stderr
        assert done.returncode == 1


def run_with_lines(*args: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "overlock_tools", "run", *args]
    return served(command, environment(None, OVERLOCK_NATIVE=str(native.folder())))


def test_behind_us_addresses_would_not_be_checked(folder: Path) -> None:
    """Why `run` puts GCC's runtime first: without, as when a program starts this one."""
    done = served([sanitized(folder, "gcc", "address"), "3", "20"], environment("tas_yield"))
    assert done.returncode
    assert "does not come first" in done.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_thread_sanitizer_is_left_alone(folder: Path, compiler: str) -> None:
    """`run` refuses it; where another program starts it, all is glibc's."""
    file = sanitized(folder, compiler, "thread")
    done = run_with_lines("--", file, "3", "20")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (125, "", 1)
    assert "ThreadSanitizer" in done.stderr
    out = folder / f"report-{compiler}"
    env = environment("ticket", library("-counted"), OVERLOCK_OUTPUT=str(out))
    assert served([file, "3", "200"], env).stdout == counted(3, "200")
    assert not out.exists()


# gdb.

GDB = TOP / "run/overlock-gdb.py"


@pytest.mark.skipif(not shutil.which("gdb"), reason="there is no gdb")
def test_gdb_reads_a_core(program: Compile, tmp_path: Path) -> None:
    """Of a program that was deadlocked: the same as of the process while it lived."""
    misuse = program("misuse.c")
    env = environment("ticket", library("-checked"), OVERLOCK_CHECK="1", OVERLOCK_QUIET="1")
    core = tmp_path / "core"
    child = subprocess.Popen([misuse, "deadlock", "90"], env=env, stdout=subprocess.DEVNULL)
    look = ["-ex", f"source {GDB}", "-ex", "overlock-mutex"]
    try:
        said = ""
        while said.count("waits for it") < 2 and child.poll() is None:
            attach = ["gdb", "-nx", "--batch", "-p", str(child.pid), *look]
            done = run([*attach, "-ex", f"generate-core-file {core}"], environment(None))
            if "ptrace" in done.stderr:
                pytest.skip("this user may not trace")
            said = done.stdout
    finally:
        child.kill()
        child.wait()
    done = run(["gdb", "-nx", "--batch", misuse, core, *look], environment(None))
    assert told(done.stdout) == told(said), done.stderr
    assert len(told(said)) == 6


def told(said: str) -> list[str]:
    mine = ("mutex 0x", "held by LWP", "LWP ")
    lines = [line.strip() for line in said.splitlines()]
    return [line.split(", gdb's")[0] for line in lines if line.startswith(mine)]


@pytest.mark.skipif(not shutil.which("gdb"), reason="there is no gdb")
def test_breakpoints_under_gdb(program: Compile) -> None:
    """On a call that is ours, and on the program's own function, in a program that gdb started."""
    command = ["gdb", "-nx", "--batch", "-ex", "set breakpoint pending on"]
    for name in ("LD_PRELOAD", "OVERLOCK_LOCK"):
        command += ["-ex", f"set environment {name}={environment('mcs')[name]}"]
    command += ["-ex", "set startup-with-shell off", "-ex", "break serve", "-ex", "run <<< ''"]
    file = program("guarded.c")
    script = ["-ex", "tbreak count", "-ex", "run 2 5 < /dev/zero", "-ex", "bt 1"]
    command = [*command[:-6], *script, "-ex", "tbreak pthread_mutex_lock", "-ex", "continue"]
    done = run([*command, "-ex", "bt 2", "-ex", "kill", file], environment(None))
    if "ptrace" in done.stderr:
        pytest.skip("this user may not trace")
    assert "count (" in done.stdout
    assert "pthread_mutex_lock" in done.stdout


# Upgrades.


@contextlib.contextmanager
def server(command: list[str | Path], env: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    child = subprocess.Popen(
        [str(word) for word in command],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def ask(child: "subprocess.Popen[str]") -> str:
    assert child.stdin
    assert child.stdout
    child.stdin.write("\n")
    child.stdin.flush()
    return child.stdout.readline()


@pytest.fixture
def copies(tmp_path: Path) -> dict[str, Path]:
    """The libraries in a folder where they can come to harm."""
    return {
        flavour: Path(shutil.copy(library(flavour), tmp_path / library(flavour).name))
        for flavour in FLAVOURS
    }


def replace(path: Path) -> None:
    fresh = path.with_suffix(".new")
    shutil.copy(path, fresh)
    fresh.rename(path)


def delete(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("change", [replace, delete])
def test_a_running_program_keeps_its_library(
    program: Compile, copies: dict[str, Path], tmp_path: Path, flavour: str, change: object
) -> None:
    assert callable(change)
    out = tmp_path / "report"
    report = {"OVERLOCK_OUTPUT": str(out)} if flavour else {}
    env = environment("tas_yield", copies[flavour], **report)
    with server([program("guarded.c"), "4", "100"], env) as child:
        assert ask(child) == "400\n"
        change(copies[flavour])
        assert f"{copies[flavour]} (deleted)" in Path(f"/proc/{child.pid}/maps").read_text()
        assert ask(child) == "800\n"
        _, said = child.communicate(timeout=HANG_S)
        assert (child.returncode, said) == (0, "")
    if flavour:
        sites = json.loads(out.read_text())["sites"]["sites"]
        assert sum(site["events"].get("ACQUIRE", 0) for site in sites) >= 800


def test_a_library_overwritten_in_place_takes_programs_with_it(
    program: Compile, copies: dict[str, Path]
) -> None:
    """As `cp` does it: what is mapped changes. Why the page says to replace it by renaming."""
    with server([program("guarded.c"), "4", "100"], environment("tas_yield", copies[""])) as child:
        assert ask(child) == "400\n"
        os.truncate(copies[""], 0)
        assert ask(child) == ""
        assert child.wait(HANG_S) in (-signal.SIGBUS, -signal.SIGSEGV)


def test_installing_again_replaces_by_a_new_file(tmp_path: Path) -> None:
    """`make install` over a library that programs have in memory."""
    build = native.folder().parent
    where = {**environment(None), "DESTDIR": str(tmp_path)}
    command: list[str | Path] = ["cmake", "--install", build, "--prefix", "/usr"]
    files = []
    for _ in range(2):
        done = run(command, where)
        assert done.returncode == 0, done.stderr
        (installed,) = tmp_path.rglob("liboverlock-run.so")
        files.append(installed.open("rb"))
        # CMake leaves alone what has not changed.
        os.utime(installed, (0, 0))
    first, second = (os.fstat(file.fileno()) for file in files)
    assert first.st_ino != second.st_ino
    assert first.st_size == second.st_size
    for file in files:
        file.close()


def test_programs_started_after_the_library_is_gone_run_natively(
    program: Compile, copies: dict[str, Path]
) -> None:
    """The loader says so, on the program's standard error, and goes on."""
    env = environment("tas_yield", copies[""])
    copies[""].unlink()
    done = served([program("guarded.c"), "4", "100"], env)
    assert (done.returncode, done.stdout) == (0, counted(4, "100"))
    assert str(copies[""]) in done.stderr
    assert "cannot be preloaded" in done.stderr


def test_run_says_that_the_library_is_gone(tmp_path: Path) -> None:
    (tmp_path / "defs.json").symlink_to(native.file("defs.json"))
    done = overlock("true", OVERLOCK_NATIVE=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (125, "", 1)
    assert "liboverlock-run.so is not in" in done.stderr


@pytest.mark.parametrize("lock", LOCKS[:1])
def test_whether_a_process_has_it(program: Compile, lock: str) -> None:
    """As the page says to look."""
    with server([program("guarded.c"), "1", "1"], environment(lock)) as child:
        assert ask(child) == "1\n"
        looked = run(["grep", "-l", "liboverlock-run", f"/proc/{child.pid}/maps"], {**os.environ})
        assert looked.stdout == f"/proc/{child.pid}/maps\n"
        variables = Path(f"/proc/{child.pid}/environ").read_bytes().split(b"\0")
        assert f"OVERLOCK_LOCK={lock}".encode() in variables


# What others start programs with.

AWKWARD = ("--lock", "ticket", "--site", "a b*=mcs", "--site", 'c%Q"\\=glibc')
SITES = 'mcs a b*\nglibc c%Q"\\'


def printed(form: str, *options: str) -> str:
    done = overlock(*options, "--print", form, "--", "true")
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_printed_for_a_shell() -> None:
    shell = f'{printed("sh", *AWKWARD)}\nprintf %s "$OVERLOCK_SITES"'
    done = run(["bash", "-c", shell], environment(None))
    assert (done.stdout, done.stderr) == (SITES, "")


def test_printed_for_a_container() -> None:
    lines = printed("env", "--lock", "ticket", "--output", "/tmp/%p.json").splitlines()  # noqa: S108
    told = dict(line.split("=", 1) for line in lines)
    assert told["OVERLOCK_LOCK"] == "ticket"
    assert told["LD_PRELOAD"] == str(library("-counted"))
    assert "OVERLOCK_PID" not in told  # each process of the container reports
    done = overlock(*AWKWARD, "--print", "env", "--", "true")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (125, "", 1)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
def test_printed_for_systemd(tmp_path: Path) -> None:
    text = printed("systemd", *AWKWARD)
    assert verified(tmp_path, text) == ""
    for wrong in (text.replace("%%", "%"), text.replace('Q\\"', 'Q"')):
        assert wrong != text
        assert verified(tmp_path, wrong) != ""
    quoted = next(line for line in text.splitlines() if "OVERLOCK_SITES" in line)
    value = quoted.removeprefix('Environment="').removesuffix('"')
    assert value.encode().decode("unicode_escape").replace("%%", "%") == f"OVERLOCK_SITES={SITES}"


def verified(folder: Path, drop_in: str) -> str:
    """What systemd has against it."""
    unit = folder / "served.service"
    unit.write_text(f"[Service]\nExecStart=/bin/true\n{drop_in}")
    done = run(["systemd-analyze", "verify", "--man=no", unit], {**os.environ})
    return done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
def test_the_example_for_systemd(tmp_path: Path) -> None:
    assert verified(tmp_path, (TOP / "packaging/overlock.service.conf").read_text()) == ""


def test_the_page_on_containers_has_the_variables_that_are_printed() -> None:
    page = (TOP / "docs/throttled.md").read_text()
    found = re.findall(r"\{name: (\w+), value: (.*)\}", page.split("## Preload it")[1])
    said = overlock("--print", "env", "--", "true").stdout
    printed = dict(line.split("=", 1) for line in said.splitlines())
    for default in ("OVERLOCK_LOCK", "OVERLOCK_OPENMP_LOCK"):
        del printed[default]
    in_page = {name: value.strip('"') for name, value in found}
    assert Path(in_page.pop("LD_PRELOAD")).name == Path(printed.pop("LD_PRELOAD")).name
    assert in_page == printed


STAYS = [("--counters=1s",), ("--stacks", "--output", "x"), ("--folded", "x")]


@pytest.mark.parametrize("options", [("--counters",), ("--output", "x"), *STAYS])
def test_what_cannot_be_printed(options: tuple[str, ...]) -> None:
    done = overlock(*options, "--print", "sh", "--", "true")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (125, "", 1)
    assert "%p" in done.stderr
    assert ("needs overlock to keep running" in done.stderr) is (options in STAYS)


# Variables that `overlock run` would have refused.

WRONG = {
    "stacks": ("OVERLOCK_STACKS", "waits", "ignored: expected wait or hold"),
    **{
        f"signal {text}": ("OVERLOCK_SIGNAL", text, "ignored: expected the number of a signal")
        for text in ("USR1", "0", "9", "10x", "99")
    },
    "live": ("OVERLOCK_LIVE", "@/none", "ignored: No such file or directory"),
    "output": ("OVERLOCK_OUTPUT", "@/none/out", "cannot be written yet: No such file or directory"),
    "output to a folder": ("OVERLOCK_OUTPUT", "@", "cannot be written yet: Is a directory"),
}
RIGHT = {
    "stacks": ("OVERLOCK_STACKS", "hold"),
    "signal": ("OVERLOCK_SIGNAL", "10"),
    "live": ("OVERLOCK_LIVE", "@"),
    "output": ("OVERLOCK_OUTPUT", "@/out"),
    "output to a device": ("OVERLOCK_OUTPUT", "/dev/null"),
    "nothing": ("OVERLOCK_SIGNAL", ""),
}


def told_at_the_start(program: Compile, folder: Path, name: str, value: str) -> str:
    more = {"OVERLOCK_OUTPUT": "/dev/null"} | {name: value.replace("@", str(folder))}
    env = environment("tas_yield", library("-counted"), **more)
    done = served([program("guarded.c"), "2", "10"], env)
    assert (done.returncode, done.stdout) == (0, counted(2, "10"))
    return done.stderr


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_variable_is_told_in_one_line(program: Compile, tmp_path: Path, what: str) -> None:
    name, value, why = WRONG[what]
    said = told_at_the_start(program, tmp_path, name, value).splitlines()
    assert said[0].startswith(f"overlock: {name}={value.replace('@', str(tmp_path))} {why}")
    assert ["the report cannot be written" in line for line in said[1:]] == (
        [True] if name == "OVERLOCK_OUTPUT" else []
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", RIGHT)
def test_nothing_is_told_of_right_ones(program: Compile, tmp_path: Path, what: str) -> None:
    assert told_at_the_start(program, tmp_path, *RIGHT[what]) == ""


def fails_at_the_end(tmp_path: Path) -> tuple[list[str], dict[str, str], str]:
    """A program without a folder for its report at its end, its environment, what is to be said."""
    out = tmp_path / "folder/report"
    out.parent.mkdir()
    env = environment("tas_yield", library("-counted"), OVERLOCK_OUTPUT=str(out))
    why = "No such file or directory; name another file in OVERLOCK_OUTPUT or by --output"
    remove = f"import os; os.rmdir({str(out.parent)!r})"
    return [remove], env, f"overlock: the report cannot be written to {out}: {why}\n"


def test_a_report_that_fails_at_the_end_is_told_to_the_terminal(tmp_path: Path) -> None:
    """Not to the program's streams: by then it may have another file there."""
    lines, env, expected = fails_at_the_end(tmp_path)
    streams = tmp_path / "streams"
    said = on_terminal([sys.executable, "-c", *lines], env, streams)
    assert expected in said.replace("\r\n", "\n")
    assert streams.read_text() == ""


@pytest.mark.parametrize("is_other", [False, True])
def test_without_a_terminal_it_is_told_to_standard_error(tmp_path: Path, is_other: bool) -> None:
    """Unless the program has opened another file there since it began."""
    lines, env, expected = fails_at_the_end(tmp_path)
    if is_other:
        lines += [f"os.dup2(os.open({str(tmp_path / 'its own')!r}, os.O_CREAT | os.O_WRONLY), 2)"]
    command: list[str | Path] = ["setsid", "--wait", sys.executable, "-c", "; ".join(lines)]
    done = run(command, env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "" if is_other else expected)
    assert not is_other or (tmp_path / "its own").read_text() == ""
