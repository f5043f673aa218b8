# SPDX-License-Identifier: MIT
"""The man pages: one for each command, read by man without a warning, with every option."""

import re
import subprocess
from pathlib import Path

import click
import pytest

import man_pages
from overlock_tools.cli.main import cli

PAGES = man_pages.every_page()


def read(path: Path) -> tuple[str, str]:
    """What `man` shows, and its warnings."""
    done = subprocess.run(
        ["man", "--warnings=w", "--encoding=UTF-8", "--local-file", path],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "MANWIDTH": "1000", "MAN_KEEP_FORMATTING": ""},
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize("name", PAGES)
def test_page_is_read_without_a_warning(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.1"
    path.write_text(PAGES[name])
    shown, warnings = read(path)
    assert not warnings
    assert f"{name} - " in shown


def test_a_faulty_page_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "faulty.1"
    path.write_text(PAGES["overlock"] + ".nosuchmacro\n\\fB\\*[nosuch]\n")
    assert "nosuchmacro" in read(path)[1]


def test_run_has_every_option_and_example(tmp_path: Path) -> None:
    path = tmp_path / "overlock-run.1"
    path.write_text(PAGES["overlock-run"])
    shown, _ = read(path)
    command = cli.get_command(click.Context(cli), "run")
    assert command
    spelt = [o for p in command.get_params(click.Context(command)) for o in p.opts if o[0] == "-"]
    assert {"--lock", "--tau-ns", "--help"} <= set(spelt)
    hidden = {"--counters-what", "--fit-what", "--spins-what"}
    assert not [option for option in spelt if option not in shown and option not in hidden]
    assert "  overlock run --counters=1s -- ./server --port 8080\n" in shown
    assert "--site 'leveldb*Mutex=pv_byte'" in shown


def test_each_option_is_explained() -> None:
    for text in PAGES.values():
        assert not re.search(r"^\.TP\n\\fB.*\\fR.*\n\n", text, re.MULTILINE)


def test_every_command_has_a_page() -> None:
    context = click.Context(cli)
    assert {f"overlock-{name}" for name in cli.list_commands(context)} <= PAGES.keys()
    assert "overlock-bench-sections" in PAGES
