# SPDX-License-Identifier: MIT
"""The workloads are written on the seam: their text compiles in every world that it is for."""

import re
import subprocess
from pathlib import Path

import pytest
from conftest import TOP

NAMES = [
    name
    for name in re.findall(
        r"^WORKLOAD\((\w+),", (TOP / "workload/workloads.def").read_text(), re.MULTILINE
    )
    if (TOP / f"workload/{name}.h").exists()  # the others are for overlock-bench alone
]
CLIENT = """
#include <workload.h>
struct workload_lock {{ uint32_t word; }};
struct workload_me {{ uint32_t index; struct workload_random random; }};
OL_INLINE void workload_acquire(struct workload_me *me, struct workload_lock *l)
{{
	(void)me;
	(void)ol_xchg_acquire(&l->word, 1u);
}}
OL_INLINE void workload_release(struct workload_me *me, struct workload_lock *l)
{{
	(void)me;
	ol_store_release(&l->word, 0u);
}}
OL_INLINE void workload_burn(uint64_t units) {{ (void)units; }}
#include "{name}.h"
const char *use(const struct workload_run *run, struct {name} *w, struct {name}_own *own,
		struct workload_me *me);
const char *use(const struct workload_run *run, struct {name} *w, struct {name}_own *own,
		struct workload_me *me)
{{
	{name}_begin(run, w, own, me);
	return {name}_check(run, w, {name}_turn(run, w, own, me), 0);
}}
{planted}
"""
FLAGS = ["-Wall", "-Wextra", "-Werror", "-O2", f"-I{TOP}/include", f"-I{TOP}/workload", f"-I{TOP}"]
WORLDS = {
    "user, C": ["gcc", "-x", "c", "-std=c11", "-pedantic-errors"],
    "user, C++": ["g++", "-x", "c++", "-std=c++20", "-pedantic-errors"],
    "user, clang": ["clang", "-x", "c", "-std=c11", "-pedantic-errors"],
    "sim": ["g++", "-x", "c++", "-std=c++20", "-pedantic-errors", "-DOL_PORT_SIM"],
}
# What a kernel forbids: floating point, and calls of a C library.
KERNEL = ["gcc", "-x", "c", "-std=gnu11", "-ffreestanding", "-mgeneral-regs-only"]


def compiled(
    compiler: list[str], name: str, planted: str = ""
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*compiler, *FLAGS, "-"],
        input=CLIENT.format(name=name, planted=planted),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", NAMES)
def test_compiles(name: str, world: str) -> None:
    done = compiled([*WORLDS[world], "-fsyntax-only"], name)
    assert (done.returncode, done.stderr) == (0, "")


def undefined(compiled_file: Path) -> set[str]:
    done = subprocess.run(["nm", "-u", compiled_file], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines()}


def fit_for_a_kernel(name: str, out: Path, planted: str = "") -> bool:
    done = compiled([*KERNEL, "-c", "-o", str(out)], name, planted)
    seam = re.compile(r"ol_\w+")
    return done.returncode == 0 and all(seam.fullmatch(symbol) for symbol in undefined(out))


@pytest.mark.parametrize("name", NAMES)
def test_is_fit_for_a_kernel(name: str, tmp_path: Path) -> None:
    assert fit_for_a_kernel(name, tmp_path / "o")


@pytest.mark.parametrize(
    "planted",
    [
        "double half(double x); double half(double x) { return x / 2; }",
        'int puts(const char *s); int say(void); int say(void) { return puts(""); }',
    ],
)
def test_what_a_kernel_forbids_is_seen(planted: str, tmp_path: Path) -> None:
    assert not fit_for_a_kernel("lockloop", tmp_path / "o", planted)
