# SPDX-License-Identifier: MIT
"""Every 4-byte lock compiles in a Linux kernel module, and asks only for what a kernel has."""

import os
import subprocess
from pathlib import Path

import pytest

from overlock_tools.core.model import defs
from tests.conftest import TOP
from tests.guest.kernel.conftest import Build, mutant

# What a lock's object may leave undefined: the platform layer, and what the kernel's flags call.
# The number of the CPU is a variable of each CPU's: cpu_number, or in pcpu_hot (Linux 6.2 to 6.14).
ALLOWED = {"sched_clock", "__fentry__", "__stack_chk_fail", "ol_world", "cpu_number", "pcpu_hot"}
ALLOWED_PREFIXES = ("ol_", "__x86_")

TRYLOCK = "return !ol_load_relaxed(&l->word) && !ol_xchg_acquire(&l->word, 1u); /* [A] */"


def four_byte_locks() -> set[str]:
    return {lock.id for lock in defs.load().locks.values() if "fits4" in lock.traits}


def test_every_4_byte_lock_is_in_the_module(module: Path) -> None:
    objects = {path.stem.removeprefix("lock_") for path in module.glob("lock_*.o")}
    assert objects == four_byte_locks()


def test_locks_ask_only_for_the_seam(module: Path) -> None:
    for path in module.glob("lock_*.o"):
        listed = subprocess.run(["nm", "-u", path], capture_output=True, text=True, check=True)
        missing = {line.split()[-1] for line in listed.stdout.splitlines()}
        strange = {s for s in missing - ALLOWED if not s.startswith(ALLOWED_PREFIXES)}
        assert not strange, f"{path.name} needs {strange}"


def in_trylock(text: str) -> tuple[str, str]:
    return ("\t" + TRYLOCK, f"\t{text}\n\t{TRYLOCK}")


# What is wrong with it, what stands before it, and what the refusal must say.
BROKEN = {
    "floats": (
        in_trylock("static double n;\n\n\tn = n * 1.5 + (double)ol_now();"),
        "",
        "SSE register return",
    ),
    "includes_libc": (in_trylock("usleep(1);"), "#include <unistd.h>\n", "unistd.h: No such file"),
    "calls_libc": (in_trylock("usleep(1);"), "", "implicit declaration"),
    "asks_for_more": (in_trylock("ol_none();"), "void ol_none(void);\n", '"ol_none"'),
    "keeps_a_tls_word": (
        in_trylock("mine++;"),
        "static __thread int mine;\n",
        "uses thread-local storage",
    ),
    "uses_vectors": (
        in_trylock('__asm__ volatile("pxor %xmm0, %xmm0");'),
        "",
        "uses floating point or vectors",
    ),
    "is_too_big": (("uint32_t word;", "uint32_t word, more;"), "", "is said to fit 4 bytes"),
    "warns": (in_trylock("int unused;\n"), "", "unused variable"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_mutant_is_refused(build: Build, tmp_path: Path, name: str) -> None:
    change, before, reason = BROKEN[name]
    done = build(tmp_path / "module", mutant(tmp_path, name, change, before=before))
    assert done.returncode != 0
    assert reason in done.stderr


def test_the_mutant_unbroken_is_accepted(build: Build, tmp_path: Path) -> None:
    done = build(tmp_path / "module", mutant(tmp_path, "sound"))
    assert done.returncode == 0, done.stderr


def test_missing_headers_are_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [TOP / "guest/build-module", tmp_path / "module"],
        env={**os.environ, "KERNEL_HEADERS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "linux-headers-amd64" in done.stderr
