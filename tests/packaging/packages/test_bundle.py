# SPDX-License-Identifier: MIT
"""The bundle, unpacked elsewhere and run without the Python, the PATH and the network of here."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from overlock_tools.apps import catalogue
from overlock_tools.core.model import collected
from tests.conftest import TOP
from tests.packaging.packages.conftest import run
from tests.processes import HANG_S

PROGRAMS = ("pbzip2", "omp-histogram")
ALONE = ("unshare", "--net", "env", "-i", "PATH=/nowhere")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    asked = [word for name in PROGRAMS for word in ("--with", name)]
    assert " MB" in run(sys.executable, TOP / "tools/bundle.py", folder / "b.tar.xz", *asked)
    run("tar", "xf", folder / "b.tar.xz", "-C", folder)
    return folder / "overlock-bundle"


def alone(bundle: Path, *words: str) -> str:
    """It finds nothing of this machine, not even `readlink` of the launcher, but its own."""
    tools = bundle.parent / "bin"
    tools.mkdir(exist_ok=True)
    for name in ("dirname", "readlink", "sh", "env", "setpriv"):
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


def test_it_compares_locks(bundle: Path) -> None:
    asked = ("--locks", "tas,mcs", "--threads", "1", "--rounds", "3", "--seconds", "0.02")
    alone(bundle, str(bundle / "bin/overlock"), "bench", "sections", *asked, "--json", "s.json")
    assert json.loads((bundle.parent / "s.json").read_text())["cells"]


def test_it_runs_the_programs_that_it_carries(bundle: Path) -> None:
    asked = ("--locks", "tas_yield", "--rounds", "1", "--seconds", "0.2", "--warm-up", "0")
    alone(bundle, str(bundle / "bin/overlock"), "apps", "run", *PROGRAMS, *asked, "-o", "apps")
    for name in PROGRAMS:
        result = json.loads((bundle.parent / f"apps/{name}.json").read_text())
        assert result["cells"]
        assert result["native"]["packages"].keys() == set(catalogue.known(name).packages)


def test_what_it_profiles_and_runs_finds_nothing_of_it(bundle: Path) -> None:
    """A program of the machine keeps its own Python and libraries."""
    printed = alone(bundle, str(bundle / "bin/overlock"), "run", "--", shutil.which("env") or "")
    names = {line.partition("=")[0] for line in printed.splitlines()}
    assert "LD_PRELOAD" in names
    assert not names & {"LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH"}


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("nginx", r"--with nginx: expected programs, pbzip2, .*, guest"),
        ("guest", r".* has no guest kernel 6.1; run `overlock guest build`, .*"),
        ("omp-ordered", r"omp-ordered needs gcc; install it with `overlock apps install .*`"),
    ],
)
def test_what_cannot_be_taken_along_is_one_line(tmp_path: Path, what: str, why: str) -> None:
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PATH": str(tmp_path)}
    (tmp_path / "patchelf").symlink_to(shutil.which("patchelf") or "")
    command = [
        sys.executable,
        str(TOP / "tools/bundle.py"),
        "--with",
        what,
        str(tmp_path / "b.tar.xz"),
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(rf"bundle\.py: {why}\n", done.stderr), done.stderr


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    out = tmp_path / "no/b.tar.xz"
    command = [sys.executable, str(TOP / "tools/bundle.py"), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    wanted = "cannot be written; give a file in a folder that is there"
    assert done.stderr == f"bundle.py: {out} {wanted}\n"
