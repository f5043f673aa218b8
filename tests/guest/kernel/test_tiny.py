# SPDX-License-Identifier: MIT
"""Parts of a guest's kernel in a tiny kernel: what it reads of its slices, and learns of its
sections; how it gives its CPU away, and what it counts of waiters."""

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.mutant import changed

KERNEL = TOP / "guest/linux/kernel/locking/overlock"
HEADERS = ("overlock.h", "counting.h", "times.h")
# The folder of a test program, and of what it can be asked the file that does it.
SLICES, WAITS = "slices", "waits"
FILES: Mapping[str, Mapping[str, str]] = {
    SLICES: {"kvm": "slice_kvm.c", "xen": "slice_xen.c", "csd": "csd.c"},
    WAITS: {"halts": "yield.c", "kvm": "yield.c", "xen": "yield.c", "queues": "counting.c"},
}
Tiny = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """Compiles the files, one of them changed, and asks the test program about one thing."""

    def tiny(
        program: str, what: str, old: str = "", new: str = ""
    ) -> subprocess.CompletedProcess[str]:
        sources = sorted(set(FILES[program].values()))
        for name in (*sources, *HEADERS):
            text = (KERNEL / name).read_text()
            if old and name == FILES[program][what]:
                text = changed(text, (old, new))
            for header in re.findall(r"#include <(.*)>", text):
                (tmp_path / header).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / header).write_text('#include "stubs.h"\n')
            (tmp_path / name).write_text(text)
        here = Path(__file__).parent / program
        flags = ["-Wall", "-Werror", "-Wno-unused", "-fsanitize=undefined", "-I.", f"-I{here}"]
        command = ["gcc", "-std=gnu11", *flags, f"{here}/{program}.c", *sources, "-o", "tiny"]
        subprocess.run(command, cwd=tmp_path, check=True)
        return subprocess.run(
            [tmp_path / "tiny", what], capture_output=True, text=True, check=False
        )

    return tiny


@pytest.mark.parametrize(("program", "what"), [(p, what) for p in FILES for what in FILES[p]])
def test_it(tiny: Tiny, program: str, what: str) -> None:
    done = tiny(program, what)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


QUEUED = "\tw->lost = false;\n\tw->slice = slice_now();\n\tw->looked = ol_now();\n"
MUTANTS = {
    "names the slice by the version": (
        SLICES,
        "kvm",
        "(u64)copy.slice + 1",
        "(u64)copy.version + 1",
    ),
    "a slice without a number": (SLICES, "kvm", "(u64)copy.slice + 1", "copy.slice"),
    "guarantees the whole slice": (
        SLICES,
        "kvm",
        "ns_of(copy.sure - tsc)",
        "ns_of(copy.end - tsc)",
    ),
    "guarantees what is not told": (SLICES, "kvm", "else if (copy.sure)", "else"),
    "guarantees what is over": (SLICES, "kvm", "else if (copy.sure)", "if (copy.sure)"),
    "believes an end that is over": (SLICES, "kvm", "slice->end = OL_NEVER;", ";"),
    "reads any host's padding": (
        SLICES,
        "kvm",
        "|| !kvm_para_has_feature(FEATURE_STEAL_SLICE)",
        "",
    ),
    "reads any Xen's padding": (SLICES, "xen", "&& xen_feature(FEATURE_VCPU_SLICE)", ""),
    "an end that has wrapped": (SLICES, "xen", "s32 left;", "s64 left;"),
    "the end as what is sure": (SLICES, "xen", "(word >> 16 & 0xffff) << 14", "0"),
    "another unit": (SLICES, "xen", "left * 1024", "left * 1000"),
    "a name with all bits": (SLICES, "xen", "word & 0xffff", "word"),
    "follows the mean": (SLICES, "csd", "known / RISE + 1", "known / FALL + 1"),
    "never falls": (SLICES, "csd", "known -= known / FALL", ";"),
    "learns from lost CPUs": (SLICES, "csd", " || waited >= LOST_NS", ""),
    "a whole wait for a section": (SLICES, "csd", "waited /= n ? n : 1;", ""),
    "no margin": (SLICES, "csd", "MARGIN = 2", "MARGIN = 1"),
    "halts with interrupts disabled": (WAITS, "halts", "!irqs_disabled() && ", ""),
    "halts in an interrupt": (WAITS, "halts", "in_task() && ", ""),
    "halts the idle task": (WAITS, "halts", " && !is_idle_task(current)", ""),
    "halts without a tick": (WAITS, "halts", " && !tick_nohz_tick_stopped()", ""),
    "halts though it is late": (WAITS, "halts", " && !ol_passed(t)", ""),
    "never halts": (WAITS, "halts", "halt();", "cpu_relax();"),
    "takes every host for KVM": (WAITS, "halts", "host_yields = way == KVM", "host_yields = 1"),
    "takes every KVM for ours": (WAITS, "kvm", "if (!READ_ONCE(host_yields))", "if (0)"),
    "does not ask KVM": (WAITS, "kvm", "&& !kvm_yields()) {", ") {"),
    "does not ask Xen": (WAITS, "xen", "(!xen_yields() && !kvm_yields()) {", "(!kvm_yields()) {"),
    "gives KVM no way": (WAITS, "kvm", "&& !kvm_yields()) cpu_relax", ") cpu_relax"),
    "gives Xen no way": (
        WAITS,
        "xen",
        "!xen_yields() && !kvm_yields()) cpu_relax",
        "!kvm_yields()) cpu_relax",
    ),
    "counts what was lost before": (WAITS, "queues", QUEUED, QUEUED.split("\n", 1)[1]),
    "the slice of before": (WAITS, "queues", QUEUED, "w->lost = 0; w->looked = ol_now();"),
    "the time of before": (WAITS, "queues", QUEUED, "w->lost = 0; w->slice = slice_now();"),
    "forgets what is lost in line": (
        WAITS,
        "queues",
        "w->lost |= was_lost(w->slice, w->looked, now);",
        "",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(tiny: Tiny, name: str) -> None:
    assert "Assertion" in tiny(*MUTANTS[name]).stderr
