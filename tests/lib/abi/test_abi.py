# SPDX-License-Identifier: MIT
"""The library and the headers have the ABI of lib/abi; what breaks it is caught, additions pass."""

import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lib.abi.abi import BASELINE, BUILD, LIBRARY, RENEW, TOP, Difference, compare, dump, types
from tests.mutant import changed

pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="lib/abi has x86-64's ABI only"),
    pytest.mark.skipif(not shutil.which("abidiff"), reason="abigail-tools is not installed"),
]


def of_library(library: Path, folder: Path) -> Difference:
    return compare(BASELINE / "overlock.abi", dump(library, folder / "library.abi"))


def of_types(folder: Path, include: Path, *options: str) -> Difference:
    made = dump(types(folder / "types.so", include, *options), folder / "types.abi", include)
    return compare(BASELINE / "types.abi", made)


def test_the_library_keeps_its_abi(tmp_path: Path) -> None:
    found = of_library(LIBRARY, tmp_path)
    assert not found.breaks, found.breaks + RENEW
    print(found.adds)


@pytest.mark.parametrize("options", [(), ("-DOL_COUNTED",)], ids=["plain", "counted"])
def test_the_headers_keep_their_abi(tmp_path: Path, options: tuple[str, ...]) -> None:
    found = of_types(tmp_path, TOP / "include", *options)
    assert not found.breaks, found.breaks + RENEW
    print(found.adds)


def linked(folder: Path, local: str, source: str) -> Path:
    """The library again, without the symbols `local` and with what `source` adds."""
    script, more, out = folder / "mutant.map", folder / "more.c", folder / "mutant.so"
    script.write_text(f"OVERLOCK_0 {{ global: ol_*; local: {local} *; }};\n")
    more.write_text(source)
    whole = ("-Wl,--whole-archive", BUILD / "lib/liboverlock.a", "-Wl,--no-whole-archive")
    names = (f"-Wl,--version-script={script}", "-Wl,-soname,liboverlock.so.0")
    command = ["gcc", "-g", "-shared", "-fPIC", more, *whole, *names, "-o", out]
    subprocess.run([str(word) for word in command], check=True)
    return out


def test_the_library_linked_again_is_the_same(tmp_path: Path) -> None:
    assert of_library(linked(tmp_path, "", ""), tmp_path) == Difference("", "")


def test_a_removed_function_is_caught(tmp_path: Path) -> None:
    found = of_library(linked(tmp_path, "ol_find_lock;", ""), tmp_path)
    assert "1 Removed function" in found.breaks.replace("functions", "function")
    assert "ol_find_lock" in found.breaks


def test_an_added_function_passes_and_is_reported(tmp_path: Path) -> None:
    found = of_library(linked(tmp_path, "", "int ol_new(void) { return 0; }"), tmp_path)
    assert not found.breaks
    assert "ol_new" in found.adds


@dataclass(frozen=True)
class Mutant:
    """A header with one text replaced; the report must have that word, or there must be none."""

    name: str
    file: str
    right: str
    wrong: str
    reported: str = ""


OPS = "int (*take)(void *l);\n\tint (*release)(void *l);\n"
OPS_GROW = f"{OPS}\tint (*more)(void *l);\n"
TRY_FAIL = "OL_EVENT(TRY_FAIL"
TRYLOCK = "bool (*trylock)(void *l);\n"
WORLD = "\tuint64_t from, span; /* ticks in that span need no comparison with the clock */\n"
TUNABLES = (TOP / "include/overlock/tunables.def").read_text()
LAST_EVENT = "#undef OL_EVENT_AT"
LAST_TRAIT = "OL_TRAIT(BY_CLOCK,\t  21,"
LAST_TUNABLE = "OL_TUNABLE" + TUNABLES.rpartition("OL_TUNABLE")[2]
EVENT = 'OL_EVENT(NEW, "")\n'
TUNABLE = 'OL_TUNABLE(new, ns, 0, 0, 1, any, "", "")\n'
STALE = "OL_TUNABLE(stale,"
TICKET = "OL_LOCK(ticket, waits"
MUTANTS = [
    Mutant(
        "lock grows", "lock/ticket.h", "uint32_t word;\n}", "uint32_t word, more;\n}", "ol_ticket"
    ),
    Mutant(
        "words change places",
        "lock/mcs.h",
        "struct ol_node *tail;\n\tstruct ol_node *next;",
        "struct ol_node *next;\n\tstruct ol_node *tail;",
        "ol_mcs",
    ),
    Mutant("lock removed", "locks.def", TICKET, "#define OL_NO(...)\nOL_NO(ticket", "abi_ticket"),
    Mutant("node grows", "port/node.h", "uint64_t time;", "uint64_t time, more[32];", "ol_node"),
    Mutant("trait's value", "ops.h", "(FIFO,\t\t   1,", "(FIFO,\t  21,", "OL_FIFO"),
    Mutant("event inserted", "events.def", TRY_FAIL, f"{EVENT}{TRY_FAIL}", "ol_event"),
    Mutant("tunable inserted", "tunables.def", STALE, f"{TUNABLE}{STALE}", "ol_tuning"),
    Mutant("call inserted", "ops.h", TRYLOCK, f"int (*more)(void *l);\n{TRYLOCK}", "ol_lock_ops"),
    Mutant("call removed", "ops.h", TRYLOCK, "", "ol_lock_ops"),
    Mutant("call's result", "ops.h", TRYLOCK, "int (*trylock)(void *l);\n", "ol_lock_ops"),
    Mutant(
        "call appended, another's result",
        "ops.h",
        OPS,
        OPS_GROW.replace("int (*take)", "bool (*take)"),
        "ol_lock_ops",
    ),
    Mutant(
        "world's tuning moves",
        "port/user.h",
        "uint64_t *wait_array;",
        *("uint64_t *wait_array, more;", "ol_world"),
    ),
    Mutant("call appended", "ops.h", OPS, OPS_GROW),
    Mutant("world grows at its end", "port/user.h", WORLD, f"{WORLD}\tuint64_t more;\n"),
    Mutant("event appended", "events.def", LAST_EVENT, f"{EVENT}{LAST_EVENT}"),
    Mutant("tunable appended", "tunables.def", LAST_TUNABLE, f"{LAST_TUNABLE}{TUNABLE}"),
    Mutant("trait appended", "ops.h", LAST_TRAIT, f'OL_TRAIT(NEW, 22, "") {LAST_TRAIT}'),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_changed_headers(tmp_path: Path, mutant: Mutant) -> None:
    include = shutil.copytree(TOP / "include", tmp_path / "include")
    file = include / "overlock" / mutant.file
    file.write_text(changed(file.read_text(), (mutant.right, mutant.wrong)))
    found = of_types(tmp_path, include)
    assert bool(found.breaks) == bool(mutant.reported), found
    assert mutant.reported in found.breaks
