# SPDX-License-Identifier: MIT
"""Programs compiled once, and how to run them under a lock or natively."""

import atexit
import os
import platform
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parent / "programs"
CONFORMANCE = PROGRAMS.parent / "conformance"

from overlock_tools.core.model import defs  # noqa: E402
from overlock_tools.core.system import native  # noqa: E402 - after it knows where

LOCKS = [lock.id for lock in defs.load().locks.values() if "elides" not in lock.traits]
REFUSED = [lock for lock in defs.load().locks if lock not in LOCKS]
SPINLOCKS = [lock for lock in LOCKS if not defs.load().lock(lock).no_spinlock]
X86_64 = platform.machine() == "x86_64"
Compile = Callable[..., Path]


def collapses(lock: str) -> bool:
    """Threads that outnumber the CPUs spin for whole time slices: little work is enough.

    Those that sleep or yield only when they know something of preemption do so rarely here.
    """
    traits = defs.load().lock(lock).traits
    return "yields" not in traits or bool({"needs_slice", "needs_preempted"} & set(traits))


def environment(lock: str | None, library: Path | None = None, **more: str) -> dict[str, str]:
    """Under that lock without going through the command; natively for None."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OVERLOCK_")}
    if lock is None:
        return clean | more
    preload = library or native.file("liboverlock-run.so")
    return clean | {"LD_PRELOAD": str(preload), "OVERLOCK_LOCK": lock} | more


def on_terminal(command: list[str], env: dict[str, str], streams: Path | None = None) -> str:
    """What the command, and the library within it, say on their controlling terminal.

    Standard output and error go there too, or to `streams`. The command has to succeed. The shell
    leads the session and ends when all is read: at its end the kernel discards the rest.
    """
    then = f" >'{streams}' 2>&1" if streams else ""
    script = f'"$@"{then}; echo "exit code: $?."; read -r end'
    pid, terminal = pty.fork()
    if not pid:
        os.execve("/bin/sh", ["sh", "-c", script, "sh", *command], env)  # noqa: S606 - ours
    said = b""
    while not (end := re.search(r"exit code: (\d+)\.", said.decode())):
        said += os.read(terminal, 4096)
    os.write(terminal, b"\n")
    os.waitpid(pid, 0)
    os.close(terminal)
    assert end[1] == "0", said
    return said.decode()[: end.start()]


def run(
    command: list[str | Path], env: dict[str, str], timeout: float = 100
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def output(command: list[str | Path], env: dict[str, str]) -> str:
    """What it printed; it must end well and say nothing on standard error."""
    done = run(command, env)
    assert done.returncode == 0, (done.returncode, done.stdout[-300:], done.stderr[-300:])
    assert done.stderr == ""
    return done.stdout


@cache
def installed() -> Path:
    """`overlock` as it is installed: the launcher, and beside it what it leaves the rest to."""
    folder = tempfile.mkdtemp(prefix="overlock-bin-")
    atexit.register(shutil.rmtree, folder)
    tools = Path(folder) / "overlock-tools"
    tools.write_text(f"#!{sys.executable}\nfrom overlock_tools.cli.main import main\n\nmain()\n")
    tools.chmod(0o755)
    return Path(shutil.copy(native.file("overlock"), folder))


def overlock(*args: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = [installed(), "run", *args]
    return run(command, environment(None) | {"OVERLOCK_NATIVE": str(native.folder())} | more)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="session")
def program(folder: Path) -> Compile:
    made: dict[str, Path] = {}

    def compile_it(source: str, *options: str, name: str = "") -> Path:
        name = name or source.split(".", maxsplit=1)[0]
        if name not in made:
            compiler = ["g++", "-std=c++20"] if source.endswith(".cpp") else ["gcc", "-std=gnu17"]
            command = [*compiler, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
            out = folder / name
            subprocess.run([*command, PROGRAMS / source, *options, "-o", out], check=True)
            made[name] = out
        return made[name]

    return compile_it


COND_VERSION = "GLIBC_2.3.2" if X86_64 else "GLIBC_2.17"


@pytest.fixture(scope="session")
def attributes_in(program: Compile, folder: Path) -> Callable[[int, Path], str]:
    """What cond_layout.c says under that interposer, with the attributes in that word."""
    script = folder / "cond_layout.map"
    script.write_text(COND_VERSION + " { global: pthread_cond_init; pthread_cond_signal; };\n")
    made = program("cond_layout.c")

    def said(word: int, library: Path) -> str:
        options = ("-shared", "-fPIC", f"-DWORD={word}", f"-Wl,--version-script={script}")
        front = program("cond_layout.c", *options, name=f"cond_layout_{word}.so")
        done = run([made], environment("tas_yield", None, LD_PRELOAD=f"{library}:{front}"))
        return done.stdout + done.stderr

    return said


@pytest.fixture(scope="session")
def cases(folder: Path) -> Path:
    out = folder / "cases"
    flags = ["-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
    subprocess.run(["gcc", *flags, *sorted(CONFORMANCE.glob("*.c")), "-o", out], check=True)
    return out
