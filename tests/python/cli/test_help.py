# SPDX-License-Identifier: MIT
"""Every command explains itself, with examples; shells can complete it."""

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from overlock_tools import __version__
from overlock_tools.cli import commands
from tests.python.conftest import Overlock

NAMES = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))


def test_lists_every_command(overlock: Overlock) -> None:
    done = overlock("--help")
    assert done.returncode == 0
    listed = done.stdout.split("Commands:")[1]
    for name in NAMES:
        assert f"\n  {name} " in listed
    assert "Exit codes: 0 success" in done.stdout


@pytest.mark.parametrize("command", [*([name] for name in NAMES), ["bench", "sections"]])
def test_help_has_examples(overlock: Overlock, command: list[str]) -> None:
    done = overlock(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"overlock {' '.join(command)}" in done.stdout.split("Example")[1]
    assert overlock(*command, "-h").stdout == done.stdout


def test_help_needs_nothing_built(overlock: Overlock, tmp_path: Path) -> None:
    assert overlock("--help", OVERLOCK_NATIVE=str(tmp_path)).returncode == 0
    assert overlock("bench", "sections", "--help", OVERLOCK_NATIVE=str(tmp_path)).returncode == 0


def test_version(overlock: Overlock) -> None:
    assert overlock("--version").stdout == f"overlock, version {__version__}\n"


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


def test_completes_commands_and_options(overlock: Overlock) -> None:
    def complete(*words: str) -> list[str]:
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
        return done.stdout.split()

    assert "plain,bench" in complete("ben")
    assert "plain,--threads" in complete("bench", "sections", "--thr")


def test_nothing_loads_the_plotting_library_before_it_draws() -> None:
    """It takes a second, and writes below HOME."""
    load = """
import importlib, pkgutil, sys, overlock_tools.cli.commands as c
for module in pkgutil.iter_modules(c.__path__):
    importlib.import_module(f"{c.__name__}.{module.name}")
sys.exit("matplotlib" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", load], check=False).returncode == 0
