# SPDX-License-Identifier: MIT
"""The bundle, unpacked elsewhere and run without the Python, the PATH and the network of here."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from overlock_tools.core.model import collected
from tests.conftest import TOP
from tests.packaging.packages.conftest import run
from tests.processes import HANG_S

ALONE = ("unshare", "--net", "env", "-i", "PATH=/nowhere")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    assert " MB" in run(sys.executable, TOP / "tools/bundle.py", folder / "b.tar.xz")
    run("tar", "xf", folder / "b.tar.xz", "-C", folder)
    return folder / "overlock-bundle"


def alone(bundle: Path, *words: str) -> str:
    """It finds nothing of this machine, not even `readlink` of the launcher, but its own."""
    tools = bundle.parent / "bin"
    tools.mkdir(exist_ok=True)
    for name in ("dirname", "readlink", "sh"):
        if not (tools / name).exists():
            (tools / name).symlink_to(shutil.which(name) or "")
    done = subprocess.run(
        [*ALONE[:-1], f"PATH={tools}", *words],
        cwd=bundle.parent,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done
    return done.stdout


def test_it_says_where_it_is(bundle: Path) -> None:
    said = alone(bundle, str(bundle / "bin/overlock"), "--version")
    assert f"programs: {bundle}/native" in said
    assert sys.prefix not in said


def test_it_measures_the_machine(bundle: Path) -> None:
    asked = ("--only", "doctor,profile", "--name", "here", "--minutes", "0.2", "-o", "here.tar.xz")
    assert "2 of 2 parts" in alone(bundle, str(bundle / "collect"), *asked)
    assert set(collected.read(bundle.parent / "here.tar.xz").files) >= {
        "doctor.json",
        "profile.json",
    }


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    out = tmp_path / "no/b.tar.xz"
    command = [sys.executable, str(TOP / "tools/bundle.py"), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    wanted = "cannot be written; give a file in a folder that is there"
    assert done.stderr == f"bundle.py: {out} {wanted}\n"
