# SPDX-License-Identifier: MIT
"""The set-up, as far as it can be tried without installing: what it says is missing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.processes import HANG_S

FILES = ("tools/setup", "tools/packages.txt", "tools/constraints.txt", "pyproject.toml", "Makefile")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A checkout in which nothing was ever set up."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(TOP / name, tmp_path / name)
    return tmp_path


def run(clone: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OVERLOCK_", "MAKE"))}
    return subprocess.run(
        command,
        cwd=clone,
        env={**clean, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


@pytest.mark.parametrize("what", ["deb", "demo", "third-party", "guest", "peers", "test"])
def test_no_install_only_says_what_is_missing(clone: Path, what: str) -> None:
    done = run(clone, "tools/setup", what, OVERLOCK_NO_INSTALL="1")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"setup: missing for make {what}:")
    assert "a .venv" in done.stderr
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("groups", [("release", "test"), ("test", "release"), ("release",)])
def test_a_release_brings_its_python_packages_in_any_order(
    clone: Path, groups: tuple[str, ...]
) -> None:
    done = run(clone, "tools/setup", *groups, OVERLOCK_NO_INSTALL="1")
    assert "pip install -e '.[test,release]'" in done.stderr


@pytest.mark.parametrize(
    ("what", "groups"), [("test", ("demo", "test")), ("guest", ("demo", "guest"))]
)
def test_no_install_names_every_package_where_none_is_known(
    clone: Path, what: str, groups: tuple[str, ...]
) -> None:
    """Without dpkg nothing is known to be installed: PATH has no dpkg-query."""
    tools = clone / "bin"
    tools.mkdir()
    for name in ("bash", "env", "dirname", "sha256sum", "cat", "grep", "cut"):
        found = shutil.which(name)
        assert found
        (tools / name).symlink_to(found)
    done = run(clone, "tools/setup", what, OVERLOCK_NO_INSTALL="1", PATH=str(tools))
    assert done.returncode == 3
    lines = (TOP / "tools/packages.txt").read_text().splitlines()
    packages = [line.split("\t")[1] for line in lines if line.startswith(groups)]
    assert " Debian packages " + " ".join(packages) + ";" in done.stderr


def test_make_demo_stops_there(clone: Path) -> None:
    done = run(clone, "make", "demo", OVERLOCK_NO_INSTALL="1")
    assert done.returncode == 2  # make's own, for a failed command
    assert "setup: missing for make demo:" in done.stderr
    assert not (clone / "build").exists()


def test_unknown_set(clone: Path) -> None:
    done = run(clone, "tools/setup", "everything")
    assert done.returncode == 2
    assert done.stderr.startswith("tools/setup: unknown 'everything'; expected one of ")


def test_make_alone_lists_the_targets(clone: Path) -> None:
    done = run(clone, "make")
    assert done.returncode == 0
    for target in ("demo", "test", "build", "peers", "install", "clean", "lint", "format", "bench"):
        assert f"  make {target} " in done.stdout


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_another_interpreter_is_another_set_up(clone: Path) -> None:
    """Of a .venv whose interpreter only tells its version; no package is missing."""
    (clone / "tools/packages.txt").write_text("demo\tnone\n")
    script(clone / "bin/dpkg-query", "echo installed none")
    script(clone / ".venv/bin/overlock", "")
    path = f"{clone / 'bin'}:{os.environ['PATH']}"
    for version, says in (("3.11.2", True), ("3.11.2", False), ("3.12.0", True), ("3.12.0", False)):
        script(clone / ".venv/bin/python", f"echo {version}")
        done = run(clone, "tools/setup", "demo", PATH=path)
        assert (done.returncode, done.stderr) == (0, "")
        assert ("installing the overlock command" in done.stdout) == says


@pytest.mark.parametrize("has", ["old", "new"])
def test_a_package_that_a_release_calls_differently(clone: Path, has: str) -> None:
    """Installed under either name it is not missing; else the name that the release knows is."""
    (clone / "tools/packages.txt").write_text("demo\told|new\n")
    path = f"{clone / 'bin'}:{os.environ['PATH']}"
    script(clone / "bin/dpkg-query", f"echo installed {has}")
    script(clone / "bin/id", "echo 0")
    script(clone / "bin/apt-cache", f'[ "$2" = {has} ]')
    script(clone / "bin/apt-get", f'echo "$*" >>{clone}/asked; case $* in *install*) exit 1; esac')
    done = run(clone, "tools/setup", "demo", OVERLOCK_NO_INSTALL="1", PATH=path)
    assert done.stderr.startswith("setup: missing for make demo: a .venv")
    script(clone / "bin/dpkg-query", "echo installed other")
    done = run(clone, "tools/setup", "demo", PATH=path)
    assert done.stderr == f"setup: apt failed to install {has}; see above\n"
    last = (clone / "asked").read_text().splitlines()[-1]
    assert last.endswith(f"install --no-install-recommends {has}")


def test_nothing_to_do_is_quick_and_silent() -> None:
    """In the checkout that runs this test, set-up is done: the stamp says so."""
    done = run(TOP, "tools/setup", "test", OVERLOCK_NO_INSTALL="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
