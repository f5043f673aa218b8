# SPDX-License-Identifier: MIT
"""How a guest's kernel gives its CPU away, and what it counts of waiters, in a tiny kernel."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.mutant import changed

HERE = Path(__file__).parent / "waits"
KERNEL = TOP / "guest/linux/kernel/locking/overlock"
SOURCES = ("yield.c", "counting.c")
HEADERS = ("overlock.h", "counting.h", "times.h")
Waits = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def waits(tmp_path: Path) -> Waits:
    """Compiles the two files, one of them changed, and asks the test program about one thing."""

    def waits(
        what: str, file: str = "", old: str = "", new: str = ""
    ) -> subprocess.CompletedProcess[str]:
        for name in [*SOURCES, *HEADERS]:
            text = (KERNEL / name).read_text()
            if name == file:
                text = changed(text, (old, new))
            for header in re.findall(r"#include <(.*)>", text):
                (tmp_path / header).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / header).write_text('#include "stubs.h"\n')
            (tmp_path / name).write_text(text)
        (tmp_path / "waits.c").write_text((HERE / "waits.c").read_text())
        flags = ["-Wall", "-Werror", "-Wno-unused", "-fsanitize=undefined", f"-I{tmp_path}"]
        files = [str(tmp_path / name) for name in ["waits.c", *SOURCES]]
        program = tmp_path / "waits"
        command = ["gcc", "-std=gnu11", *flags, f"-I{HERE}", *files, "-o", str(program)]
        subprocess.run(command, check=True)
        return subprocess.run([program, what], capture_output=True, text=True, check=False)

    return waits


@pytest.mark.parametrize("what", ["halts", "kvm", "xen", "queues"])
def test_who_waits_gives_its_cpu_away_and_is_counted(waits: Waits, what: str) -> None:
    done = waits(what)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


QUEUED = "\tw->lost = false;\n\tw->slice = slice_now();\n\tw->looked = ol_now();\n"
MUTANTS = {
    "halts with interrupts disabled": ("halts", "yield.c", "!irqs_disabled() && ", ""),
    "halts in an interrupt": ("halts", "yield.c", "in_task() && ", ""),
    "halts the idle task": ("halts", "yield.c", " && !is_idle_task(current)", ""),
    "halts without a tick": ("halts", "yield.c", " && !tick_nohz_tick_stopped()", ""),
    "halts though it is late": ("halts", "yield.c", " && !ol_passed(t)", ""),
    "never halts": ("halts", "yield.c", "halt();", "cpu_relax();"),
    "takes every host for KVM": ("halts", "yield.c", "host_yields = way == KVM", "host_yields = 1"),
    "takes every KVM for ours": ("kvm", "yield.c", "if (!READ_ONCE(host_yields))", "if (0)"),
    "does not ask KVM": ("kvm", "yield.c", "&& !kvm_yields()) {", ") {"),
    "does not ask Xen": (
        "xen",
        "yield.c",
        "(!xen_yields() && !kvm_yields()) {",
        "(!kvm_yields()) {",
    ),
    "gives KVM no way": ("kvm", "yield.c", "&& !kvm_yields()) cpu_relax", ") cpu_relax"),
    "gives Xen no way": (
        "xen",
        "yield.c",
        "!xen_yields() && !kvm_yields()) cpu_relax",
        "!kvm_yields()) cpu_relax",
    ),
    "counts what was lost before": ("queues", "counting.c", QUEUED, QUEUED.split("\n", 1)[1]),
    "the slice of before": (
        "queues",
        "counting.c",
        QUEUED,
        "w->lost = 0; w->looked = ol_now();",
    ),
    "the time of before": (
        "queues",
        "counting.c",
        QUEUED,
        "w->lost = 0; w->slice = slice_now();",
    ),
    "forgets what is lost in line": (
        "queues",
        "counting.c",
        "w->lost |= was_lost(w->slice, w->looked, now);",
        "",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(waits: Waits, name: str) -> None:
    assert "Assertion" in waits(*MUTANTS[name]).stderr
