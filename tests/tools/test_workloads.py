# SPDX-License-Identifier: MIT
"""The workloads are written on the seam: their text compiles in every world that it is for."""

import re
import subprocess

import pytest
from conftest import TOP

NAMES = re.findall(r"^WORKLOAD\((\w+),", (TOP / "workload/workloads.def").read_text(), re.MULTILINE)
CLIENT = """
#include <overlock/port.h>
struct workload_lock {{ uint32_t word; }};
struct workload_times {{ uint64_t critical, outside; }};
static inline void workload_acquire(struct workload_lock *l) {{ ol_xchg_acquire(&l->word, 1u); }}
static inline void workload_release(struct workload_lock *l) {{ ol_store_release(&l->word, 0u); }}
static inline void workload_burn(uint64_t units) {{ (void)units; }}
#include "{name}.h"
const char *use(struct {name} *w, struct workload_lock *l, const struct workload_times *t)
{{
	{name}_turn(w, l, t);
	return {name}_check(w, 1, 0);
}}
"""
WORLDS = {
    "user, C": ["gcc", "-x", "c", "-std=c11"],
    "user, C++": ["g++", "-x", "c++", "-std=c++20"],
    "sim": ["g++", "-x", "c++", "-std=c++20", "-DOL_PORT_SIM"],
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", NAMES)
def test_compiles(name: str, world: str) -> None:
    flags = ["-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-fsyntax-only"]
    folders = [f"-I{TOP}/include", f"-I{TOP}/workload", f"-I{TOP}"]
    done = subprocess.run(
        [*WORLDS[world], *flags, *folders, "-"],
        input=CLIENT.format(name=name),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_workload_has_a_command() -> None:
    from overlock_tools.measure import WORKLOADS

    assert [workload.name for workload in WORKLOADS] == NAMES
