# SPDX-License-Identifier: MIT
"""What the packages install runs on a bare Debian 12, with nothing but what they depend on."""

import shutil
from pathlib import Path

import pytest

from tests.packaging.bare.debian import Debian, copy_to
from tests.packaging.packages.conftest import PACKAGES


@pytest.fixture(scope="module")
def debian(packages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Debian:
    bare = copy_to(tmp_path_factory.mktemp("bare"))
    for name in PACKAGES:
        shutil.copy(packages[name], bare.root / "tmp")
    bare.says("apt-get update -qq; apt-get install -y -qq --no-install-recommends /tmp/*.deb")
    return bare


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("overlock --version", "overlock, version "),
        ("overlock --help", "tune "),
        ("overlock locks", "tas_yield"),
        ("overlock run -- echo fine", "fine\n"),
        ("overlock run --counters -- true 2>&1", "acquisitions"),
        ("overlock doctor --verbose --seconds 1", "knowledge of preemption"),
        ("overlock tune -- true", "there is nothing to tune"),
        ("overlock check mcs --size 2x1 --no-cache || [ $? = 4 ]", "exhausted: holds"),
        ("man -w overlock-run 2>/dev/null || ls /usr/share/man/man1", "overlock-run.1.gz"),
    ],
)
def test_a_command(debian: Debian, command: str, said: str) -> None:
    assert said in debian.says(command)


def test_which_locks_a_program_waits_for(debian: Debian) -> None:
    debian.profiles("overlock")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("overlock new mine --dir /tmp; overlock check /tmp/mine.h", "install g++"),
        ("overlock bench sections --threads 1 --seconds 0.01 --rounds 1 --locks tas", "hdrhist"),
    ],
)
def test_what_is_missing_is_named(debian: Debian, command: str, said: str) -> None:
    done = debian.run(command)
    assert done.returncode == 3, done.stderr
    assert said in done.stderr.splitlines()[-1]


def test_a_lock_of_ones_own_is_checked_with_a_compiler(debian: Debian) -> None:
    debian.says("apt-get install -y -qq --no-install-recommends g++")
    debian.says("overlock new own --dir /tmp")
    assert "holds" in debian.says("overlock check /tmp/own.h --no-cache || [ $? = 3 ]")


def test_a_header_that_needs_the_library_finds_its_package(debian: Debian) -> None:
    debian.says("apt-get install -y -qq --no-install-recommends g++")
    header = "/usr/lib/overlock/include/overlock/lock/pv_ticket.h"
    assert debian.says(f"overlock run --lock {header} -- echo fine") == "fine\n"
