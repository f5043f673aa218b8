# SPDX-License-Identifier: MIT
"""Every command explains itself, with examples; shells can complete it."""

import json
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from overlock_tools import __version__
from overlock_tools.cli import commands
from overlock_tools.cli.commands import run as run_command
from overlock_tools.cli.main import cli
from overlock_tools.core.model import defs
from overlock_tools.core.system import native
from tests.command import Overlock
from tests.conftest import TOP

BELOW = [["bench", "sections"], ["bench", "random"], ["sim", "random"]]
NAMES = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))


def test_lists_every_command(overlock: Overlock) -> None:
    done = overlock("--help")
    assert done.returncode == 0
    listed = re.findall(r"^  ([a-z]+)  ", done.stdout.split("\nFind the problem:")[1], re.MULTILINE)
    assert sorted(listed) == NAMES
    assert "Exit codes: 0 success" in done.stdout


def test_help_of_run_begins_with_what_most_people_need(overlock: Overlock) -> None:
    helped = overlock("run", "--help").stdout
    assert re.findall(r"^  --([a-z]+)", helped, re.MULTILINE)[:3] == ["spins", "fit", "lock"]
    options = [option.opts[0] for option in run_command.options() if not option.hidden]
    assert not [option for option in options if f"\n  {option}" not in helped]


@pytest.mark.parametrize("command", [*([name] for name in NAMES), *BELOW])
def test_help_has_examples(overlock: Overlock, command: list[str]) -> None:
    done = overlock(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"overlock {' '.join(command)}" in done.stdout.split("Example")[1]
    assert overlock(*command, "-h").stdout == done.stdout


def test_help_needs_nothing_built(overlock: Overlock, tmp_path: Path) -> None:
    assert overlock("--help", OVERLOCK_NATIVE=str(tmp_path)).returncode == 0
    assert overlock("bench", "sections", "--help", OVERLOCK_NATIVE=str(tmp_path)).returncode == 0


def test_version(overlock: Overlock) -> None:
    first, command, checkout, programs = overlock("--version").stdout.splitlines()
    assert first == f"overlock, version {__version__}"
    assert command.endswith(str(native.PACKAGE))
    git = ["git", "-C", str(TOP), "rev-parse", "HEAD"]
    head = subprocess.run(git, capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(rf"checkout: {TOP}, commit {head[:12]}(, changed since)?", checkout)
    assert programs.startswith(f"programs: {native.folder()}")
    lost = overlock("--version", OVERLOCK_NATIVE="/nowhere")
    assert lost.returncode == 0
    assert lost.stdout.splitlines()[3].startswith("programs: none; OVERLOCK_NATIVE=/nowhere has no")


def test_the_commit_is_told_without_a_lock(tmp_path: Path) -> None:
    """Who is killed with the index locked leaves the lock in the user's checkout."""

    def git(*words: str) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", "-C", tmp_path, *who, *words], check=True, capture_output=True)

    file = tmp_path / "file"
    file.write_text("text")
    git("init")
    git("add", "file")
    git("commit", "-m", "first")
    os.utime(file, (1, 1))  # the index does not know whether it is as it was
    before = (tmp_path / ".git/index").stat().st_ino
    assert re.fullmatch(r"commit [0-9a-f]{12}", native.commit(tmp_path))
    assert (tmp_path / ".git/index").stat().st_ino == before
    file.write_text("changed")
    assert native.commit(tmp_path).endswith(", changed since")


def test_locks_and_their_json_agree(overlock: Overlock) -> None:
    listed = json.loads(overlock("locks", "--json").stdout)
    text = overlock("locks").stdout
    assert {"ticket", "preemptable_ticket", "mcs", "tas_yield"} <= {lock["id"] for lock in listed}
    for lock in listed:
        assert lock["id"] in text
        assert lock["what"] in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(overlock: Overlock, shell: str) -> None:
    done = overlock("completion", shell)
    assert done.returncode == 0
    assert "_OVERLOCK_COMPLETE" in done.stdout
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=True)


def completed(*words: str) -> list[str]:
    line = " ".join(("overlock", *words))
    done = subprocess.run(
        [Path(sys.executable).with_name("overlock")],
        env={
            **os.environ,
            "_OVERLOCK_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return [line.removeprefix("plain,") for line in done.stdout.split()]


COMPLETED = [
    (("ben",), "bench"),
    (("bench", "sections", "--thr"), "--threads"),
    (("bench", "sections", "--locks", "tik,preemptable_t"), "tik,preemptable_ticket"),
    (("bench", "sections", "--locks", "pthread_m"), "pthread_mutex"),
    (("bench", "sections", "--baseline", "tick"), "ticket"),
    (("bench", "matrix", "--workloads", "sections,mutexb"), "sections,mutexbench"),
    (("bench", "rand"), "random"),
    (("bench", "random", "--half", "ju"), "judging"),
    (("bench", "random", "--baseline", "rot"), "rota"),
    (("bench", "random", "--locks", "tas,pthread_m"), "tas,pthread_mutex"),
    (("bench", "sweep", "ta"), "tau"),
    (("bench", "sweep", "tau", "--workload", "mutexb"), "mutexbench"),
    (("run", "--lock", "pthread_a"), "pthread_adaptive"),
    (("run", "--spinlock", "spin"), "spin_yield"),
    (("tune", "--lock", "pv_preempt"), "pv_preemptable_ticket"),
    (("apps", "run", "leveld"), "leveldb"),
    (("apps", "run", "leveldb", "--locks", "tas_y"), "tas_yield"),
    (("check", "tick"), "ticket"),
    (("check", "--weaken", "mc"), "mcs"),
    (("sim", "coll"), "collapse"),
    (("sim", "val"), "validate"),
    (("sim", "validate", "--scheduler", "ee"), "eevdf"),
    (("sim", "rand"), "random"),
    (("sim", "random", "--machine", "xeon-1"), "xeon-16"),
    (("sim", "random", "--locks", "tas,tick"), "tas,ticket"),
    (("guest", "boot", "--lock", "native_t"), "native_tas"),
    (("guest", "matrix", "--loads", "loop,hack"), "loop,hackbench"),
]


@pytest.mark.parametrize(("words", "word"), COMPLETED, ids=" ".join)
def test_completes_commands_options_and_names(words: tuple[str, ...], word: str) -> None:
    assert word in completed(*words)


def test_completes_only_what_fits() -> None:
    """Spinlocks have to fit 4 bytes."""
    assert "mcs" not in completed("run", "--spinlock", "m")


@pytest.mark.parametrize("words", [(), ("bench",), ("guest",), ("apps",)], ids=" ".join)
def test_a_group_alone_prints_its_help(overlock: Overlock, words: tuple[str, ...]) -> None:
    done = overlock(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == overlock(*words, "--help").stdout


def every_command(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below
            yield from every_command(below, (*words, name))


@pytest.mark.parametrize("words", [*every_command(cli, ())], ids=" ".join)
def test_help_fits_a_terminal_of_80_columns(overlock: Overlock, words: tuple[str, ...]) -> None:
    said = overlock(*words, "--help", COLUMNS="80").stdout
    assert [line for line in said.splitlines() if len(line) > 80] == []


def test_lists_are_not_wrapped_in_a_pipe(overlock: Overlock) -> None:
    done = overlock("locks")
    for lock in defs.load().locks.values():
        (line,) = (line for line in done.stdout.splitlines() if line.startswith(f"{lock.id} "))
        assert line == f"{lock.id} {lock.what}"


def test_nothing_loads_the_plotting_library_before_it_draws() -> None:
    """It takes a second, and writes below HOME."""
    load = """
import importlib, pkgutil, sys, overlock_tools.cli.commands as c
for module in pkgutil.iter_modules(c.__path__):
    importlib.import_module(f"{c.__name__}.{module.name}")
sys.exit("matplotlib" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", load], check=False).returncode == 0
