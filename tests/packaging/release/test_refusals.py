# SPDX-License-Identifier: MIT
"""What `make release` refuses, in one line, before it makes anything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.lib.install.conftest import run


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Of a few files, with a commit that could be released."""
    names = ("CMakeLists.txt", "pyproject.toml", "CITATION.cff", "CHANGELOG.md", ".gitignore")
    tools = ("tools/release.py", "tools/image.py", "tools/bundle.py", "tools/bundle_extras.py")
    for name in (*names, *tools, "python/overlock_tools/__init__.py"):
        there = tmp_path / name
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text((TOP / name).read_text().replace("## [Unreleased]", "## [0.1.0]"))
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    git(tmp_path, "tag", "v0.1.0")
    return tmp_path


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    run("git", "-C", folder, *who, *words)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")


def released(clone: Path, *words: str) -> str:
    """With nothing to be made; what it says in the end."""
    makers = ("source", "wheel", "debs", "bundle", "image", "crates", "sbom", "tests")
    without = [word for name in makers for word in ("--without", name)]
    command = [sys.executable, str(clone / "tools/release.py"), *without, *words]
    env = {**os.environ, "PYTHONPATH": f"{TOP}/python", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if done.stderr else 0)
    assert done.stderr.count("\n") <= 1
    return done.stderr or done.stdout


def test_a_tagged_commit(clone: Path) -> None:
    assert "0.1.0 at " in released(clone)


def test_a_changed_tree(clone: Path) -> None:
    (clone / "CMakeLists.txt").open("a").write("# more\n")
    assert "the tree is changed (M CMakeLists.txt); commit or remove" in released(clone)
    assert "0.1.0 at " in released(clone, "--changed")


def test_a_file_that_git_does_not_know(clone: Path) -> None:
    (clone / "new.c").touch()
    assert "the tree is changed (?? new.c)" in released(clone)


def test_a_commit_without_the_tag(clone: Path) -> None:
    (clone / "new.c").touch()
    commit(clone)
    assert "the commit is not v0.1.0: it has no tag; run `git tag v0.1.0`" in released(clone)
    git(clone, "tag", "v0.0.9")
    assert "its tags are v0.0.9" in released(clone)
    assert "0.1.0 at " in released(clone, "--untagged")


def test_versions_that_differ(clone: Path) -> None:
    file = clone / "CITATION.cff"
    file.write_text(file.read_text().replace("version: 0.1.0", "version: 0.2.0"))
    assert "versions differ: CMakeLists.txt says 0.1.0, " in released(clone)


def test_a_changelog_without_its_heading(clone: Path) -> None:
    file = clone / "CHANGELOG.md"
    file.write_text(file.read_text().replace("## [0.1.0]", "## [Unreleased]"))
    commit(clone)
    git(clone, "tag", "-f", "v0.1.0")
    assert "CHANGELOG.md has no heading [0.1.0]" in released(clone)
