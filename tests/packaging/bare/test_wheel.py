# SPDX-License-Identifier: MIT
"""The wheel on a bare Debian 12 with Python: no compiler, no LLVM, no libraries of BPF."""

import subprocess
import sys

import pytest

from tests.conftest import TOP
from tests.packaging.bare.debian import Debian, copy_to
from tests.processes import HANG_S

PYTHON = "apt-get update -qq; apt-get install -y -qq --no-install-recommends python3 python3-venv"
ABSENT = ("cc", "clang", "bpftool", "objdump", "llvm-symbolizer")
MOST_BYTES = 40_000_000  # to download, with what a plain install brings
OVERLOCK = "~/overlock/bin/overlock"


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Debian:
    bare = copy_to(tmp_path_factory.mktemp("bare"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "wheel"]
    wheel = [*pip, "--no-deps", "-w", str(bare.root / "tmp"), str(TOP)]
    subprocess.run(wheel, check=True, timeout=HANG_S)
    bare.says(PYTHON)
    bare.says("python3 -m venv ~/overlock; ~/overlock/bin/pip download -q -d /tmp/all /tmp/*.whl")
    bare.says("~/overlock/bin/pip install -q --no-index --find-links /tmp/all /tmp/*.whl")
    return bare


def test_it_is_small(debian: Debian) -> None:
    files = (debian.root / "tmp/all").iterdir()
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES


def test_nothing_else_is_needed(debian: Debian) -> None:
    for folder in ("usr/bin", "usr/sbin"):
        assert {file.name for file in (debian.root / folder).iterdir()}.isdisjoint(ABSENT)
    debian.profiles(OVERLOCK)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("--version", "/overlock/lib/python3"),
        ("run -- echo fine", "fine\n"),
        ("run --counters -- true 2>&1", "acquisitions"),
        ("doctor --verbose --seconds 1", "knowledge of preemption"),
        ("bench sections --threads 1 --seconds 0.02 --rounds 1 --locks tas", "tas"),
        ("sim collapse --time 1 --locks tas --jobs 1", "tas"),
        ("check mcs --size 2x1 --no-cache || [ $? = 4 ]", "exhausted: holds"),
    ],
)
def test_a_command(debian: Debian, command: str, said: str) -> None:
    assert said in debian.says(f"{OVERLOCK} {command}")
