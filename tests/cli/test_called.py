# SPDX-License-Identifier: MIT
"""Messages name the command as it is typed there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import NATIVE

SCRIPT = f"#!{sys.executable}\nfrom overlock_tools.cli.main import main\nmain()\n"
UNKNOWN = ("bench", "sections", "--locks", "none_such")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The launcher and the script, beside each other as in a checkout's .venv."""
    folder = tmp_path / "clone/.venv/bin"
    folder.mkdir(parents=True)
    shutil.copy(NATIVE / "overlock", folder)
    script = folder / "overlock-tools"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    return folder


def said(installed: Path, cwd: Path, path: str = "", *words: str) -> str:
    done = subprocess.run(
        [installed / "overlock", *(words or UNKNOWN)],
        cwd=cwd,
        env={**os.environ, "OVERLOCK_NATIVE": str(NATIVE), "PATH": f"{path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_below_the_current_folder(installed: Path) -> None:
    assert "`.venv/bin/overlock locks` lists them" in said(installed, installed.parents[1])


def test_elsewhere(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    assert f"`{installed}/overlock locks`" in said(installed, tmp_path / "elsewhere")


def test_on_the_path(installed: Path) -> None:
    assert "`overlock locks` lists them" in said(installed, installed.parents[1], str(installed))


def test_another_comes_first_on_the_path(installed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(NATIVE / "overlock", other)
    path = f"{other}:{installed}"
    assert "`.venv/bin/overlock locks`" in said(installed, installed.parents[1], path)


def test_reports_do_so_too(installed: Path) -> None:
    profile = ("profile", "--by", "looks", "--", "true")
    assert ".venv/bin/overlock run --counters" in said(
        installed, installed.parents[1], "", *profile
    )
