# SPDX-License-Identifier: MIT
"""What a guest's kernel reads of its slices, and learns of its sections, in a tiny kernel."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.mutant import changed

HERE = Path(__file__).parent / "slices"
KERNEL = TOP / "guest/linux/kernel/locking/overlock"
FILES = {"kvm": "slice_kvm.c", "xen": "slice_xen.c", "csd": "csd.c"}
Told = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """Compiles the three files, one of them changed, and asks the test program about one."""

    def told(what: str, old: str = "", new: str = "") -> subprocess.CompletedProcess[str]:
        for name in [*FILES.values(), "overlock.h"]:
            text = (KERNEL / name).read_text()
            if name == FILES[what] and old:
                text = changed(text, (old, new))
            for header in re.findall(r"#include <(.*)>", text):
                (tmp_path / header).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / header).write_text('#include "kernel.h"\n')
            (tmp_path / name).write_text(text)
        (tmp_path / "told.c").write_text((HERE / "told.c").read_text())
        flags = ["-Wall", "-Werror", "-Wno-unused", "-fsanitize=undefined", f"-I{tmp_path}"]
        files = [tmp_path / name for name in ["told.c", *FILES.values()]]
        program = tmp_path / "told"
        command = ["gcc", "-std=gnu11", *flags, f"-I{HERE}", *map(str, files), "-o", str(program)]
        subprocess.run(command, check=True)
        return subprocess.run([program, what], capture_output=True, text=True, check=False)

    return told


@pytest.mark.parametrize("what", FILES)
def test_what_is_told_is_read_and_what_was_waited_is_learnt(told: Told, what: str) -> None:
    done = told(what)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


MUTANTS = {
    "names the slice by the version": ("kvm", "(u64)copy.slice + 1", "(u64)copy.version + 1"),
    "a slice without a number": ("kvm", "(u64)copy.slice + 1", "copy.slice"),
    "guarantees the whole slice": ("kvm", "ns_of(copy.sure - tsc)", "ns_of(copy.end - tsc)"),
    "guarantees what is not told": ("kvm", "else if (copy.sure)", "else"),
    "guarantees what is over": ("kvm", "else if (copy.sure)", "if (copy.sure)"),
    "believes an end that is over": ("kvm", "slice->end = OL_NEVER;", ";"),
    "asks every host to yield": ("kvm", "if (!told) return 0;", ""),
    "an end that has wrapped": ("xen", "s32 left;", "s64 left;"),
    "the end as what is sure": ("xen", "(word >> 16 & 0xffff) << 14", "0"),
    "another unit": ("xen", "left * 1024", "left * 1000"),
    "a name with all bits": ("xen", "word & 0xffff", "word"),
    "follows the mean": ("csd", "known / RISE + 1", "known / FALL + 1"),
    "never falls": ("csd", "known -= known / FALL", ";"),
    "learns from lost CPUs": ("csd", " || waited >= LOST_NS", ""),
    "a whole wait for a section": ("csd", "waited /= n ? n : 1;", ""),
    "no margin": ("csd", "MARGIN = 2", "MARGIN = 1"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(told: Told, name: str) -> None:
    assert "Assertion" in told(*MUTANTS[name]).stderr
