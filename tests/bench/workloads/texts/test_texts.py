# SPDX-License-Identifier: MIT
"""Workloads use the platform layer alone: they compile on every platform that they are for."""

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import TOP

NAMES = [
    name
    for name in re.findall(
        r"^WORKLOAD\((\w+),", (TOP / "bench/workload/workloads.def").read_text(), re.MULTILINE
    )
    if (TOP / f"bench/workload/{name}.h").exists()  # the others are for overlock-bench alone
]
CLIENT = """
#include <workload.h>
#define UNUSED static inline __attribute__((unused))
struct workload_lock { uint32_t word; };
struct workload_me { uint32_t index; struct workload_random random; };
UNUSED void workload_acquire(struct workload_me *me, struct workload_lock *l)
{
	(void)me;
	(void)ol_xchg_acquire(&l->word, 1u);
}
UNUSED void workload_release(struct workload_me *me, struct workload_lock *l)
{
	(void)me;
	ol_store_release(&l->word, 0u);
}
UNUSED void workload_burn(uint64_t units) { (void)units; }
UNUSED bool workload_is_asked(const struct workload_me *me) { return me->index; }
UNUSED void workload_leave(struct workload_me *me) { (void)me; }
"""


def use(name: str) -> str:
    parameters = f"""(const struct workload_run *run, struct {name} *w, struct {name}_own *own,
		struct workload_me *me)"""
    return f"""
#include "{name}.h"
const char *use_{name}{parameters};
const char *use_{name}{parameters}
{{
	{name}_begin(run, w, own, me);
	return {name}_check(run, w, {name}_turn(run, w, own, me), 0);
}}
"""


FLAGS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-O2",
    f"-I{TOP}/include",
    f"-I{TOP}/bench/workload",
    f"-I{TOP}",
]
WORLDS = {
    "user, C": ["gcc", "-x", "c", "-std=c11", "-pedantic-errors"],
    "user, C++": ["g++", "-x", "c++", "-std=c++20", "-pedantic-errors"],
    "user, clang": ["clang", "-x", "c", "-std=c11", "-pedantic-errors"],
    "sim": ["g++", "-x", "c++", "-std=c++20", "-pedantic-errors", "-DOL_PORT_SIM"],
}


def compiled(compiler: list[str], name: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*compiler, *FLAGS, "-"],
        input=CLIENT + use(name),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", NAMES)
def test_compiles(name: str, world: str) -> None:
    done = compiled([*WORLDS[world], "-fsyntax-only"], name)
    assert (done.returncode, done.stderr) == (0, "")


def headers() -> str:
    """As guest/build-module finds them."""
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    debian = sorted(Path("/usr/src").glob(f"linux-headers-*-{architecture}"))
    return os.environ.get("KERNEL_HEADERS") or str(debian[-1])


def fit_for_a_kernel(folder: Path, planted: str = "") -> bool:
    """Compiles without a warning, and needs only the platform layer and what that needs."""
    (folder / "Kbuild").write_text(f"ccflags-y := -I{TOP}/include -I{TOP}/bench/workload\n")
    (folder / "texts.c").write_text(CLIENT + "".join(map(use, NAMES)) + planted)
    make = ["make", "-s", "-C", headers(), f"M={folder}", "W=1", "KCFLAGS=-Werror", "texts.o"]
    done = subprocess.run(make, capture_output=True, text=True, check=False)
    print(done.stderr)
    if done.returncode:
        return False
    nm = ["nm", "-u", str(folder / "texts.o")]
    symbols = subprocess.run(nm, capture_output=True, text=True, check=True).stdout
    kernel = re.compile(r"ol_\w+|sched_clock|__\w+")
    return all(kernel.fullmatch(line.split()[-1]) for line in symbols.splitlines())


def test_they_are_fit_for_a_kernel(tmp_path: Path) -> None:
    assert fit_for_a_kernel(tmp_path)


@pytest.mark.parametrize(
    "planted",
    [
        "double half(double x); double half(double x) { return x / 2; }",
        'int puts(const char *s); int say(void); int say(void) { return puts(""); }',
    ],
)
def test_what_a_kernel_forbids_is_seen(planted: str, tmp_path: Path) -> None:
    assert not fit_for_a_kernel(tmp_path, planted)
