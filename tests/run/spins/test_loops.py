# SPDX-License-Identifier: MIT
"""Which loops wait, of what kind, and which can be retargeted: overlock-loops; mutants."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.system import native
from tests.conftest import TOP
from tests.mutant import changed
from tests.run.conftest import X86_64

pytestmark = pytest.mark.skipif(not X86_64, reason="it decodes x86-64")

HERE = Path(__file__).resolve().parent
FINDER = TOP / "lib/loops"
NO_ROOM = "no dead bytes are in its jump's reach"
# Of each function of loops.S: its loops' kinds, and why one cannot be retargeted.
KINDS = {
    "waits": [("wait", "")],
    "waits_from_the_middle": [("wait", "")],
    "waits_and_jumps": [("wait", "")],
    "waits_for_a_global": [("wait", "")],
    "waits_behind_a_pointer": [("wait", "")],
    "waits_for_two_words": [("wait", "")],
    "waits_with_setcc": [("wait", "")],
    "waits_for_a_sum": [("wait", "")],
    "waits_beside_a_lock_prefix": [("wait", "")],
    "counts": [("counted wait", "")],
    "counts_to_a_variable": [("counted wait", "")],
    "counts_again_and_again": [("counted wait", "")],
    "waits_until_a_time": [("timed wait", "")],
    "exchanges": [("wait with updates", "")],
    "waits_beside_other_code": [("counted wait", "")],
    "waits_where_the_last_round_loaded": [("counted wait", "")],
    "calls": [("wait with calls", "")],
    "asks_the_kernel": [("wait with calls", "")],
    "backs_off": [("wait around a loop", ""), ("delay", "")],
    "works": [("wait with work", "")],
    "works_and_counts": [("wait with work", "")],
    "counts_until_told": [("wait with work", "")],
    "works_with_vectors": [("wait with work", "")],
    "is_part_of_work": [("wait", "")],
    "is_part_of_work_and_falls": [("wait", "a round of it ends without a jump")],
    "looks_at_word_after_word": [("wait with work", "")],
    "looks_at_its_own_frame": [("wait with work", "")],
    "keeps_variables_in_its_frame": [("unoptimized", "its code is not optimized")],
    "has_too_few_registers": [],
    "counts_in_its_frame": [],
    "stores_elsewhere": [],
    "length": [],
    "walks": [],
    "walks_two_by_two": [],
    "tries_again": [],
    "stores": [],
    "idles": [("delay", "")],
    "delays": [("delay", "")],
    "hangs": [],
    "steps_what_it_loaded": [("wait with work", "")],
    "jumps_far": [("wait", "")],
    "has_no_room": [("wait", NO_ROOM)],
    "hops": [("wait", "")],
    "falls_into_filling": [("wait", NO_ROOM)],
}


def said(finder: Path, *words: str | Path) -> list[dict[str, Any]]:
    done = subprocess.run([finder, *words], capture_output=True, text=True, timeout=60, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def functions(library: Path) -> dict[str, int]:
    done = subprocess.run(["nm", library], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {words[2]: int(words[0], 16) for words in lines if len(words) == 3 and words[1] == "T"}


def found(finder: Path, library: Path) -> dict[str, list[tuple[str, str]]]:
    places = functions(library)
    kinds: dict[str, list[tuple[str, str]]] = {name: [] for name in KINDS}
    (file,) = said(finder, library)
    for loop in file.get("loops", []):
        name = next((name for name, at in places.items() if at == loop["function"]), "none")
        kinds.setdefault(name, []).append((loop["kind"], loop["refused"]))
    return kinds


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("loops") / "loops.so"
    subprocess.run(["gcc", "-shared", "-nostdlib", HERE / "loops.S", "-o", made], check=True)
    return made


@pytest.mark.parametrize("function", KINDS)
def test_a_loop_is_of_its_kind(library: Path, function: str) -> None:
    assert found(native.file("overlock-loops"), library)[function] == KINDS[function]


def test_every_function_has_its_row(library: Path) -> None:
    assert functions(library).keys() == KINDS.keys()


def test_a_jump_is_what_another_disassembler_sees(library: Path) -> None:
    """Its displacement is what it ends with; its pad and its hop are filling."""
    listing = disassembled(library)
    (file,) = said(native.file("overlock-loops"), library)
    for loop in file["loops"]:
        for jump in loop["jumps"] if not loop["refused"] else []:
            at = max(place for place in listing if place < jump["after"])
            assert at < jump["displacement"] == jump["after"] - jump["size"]
            assert int(listing[at].split()[1], 16) == jump["target"]
            if jump["size"] == 4:
                assert not jump["pad"]
                continue
            room = ((jump["pad"], 5), *([(jump["hop"], 2)] if jump["hop"] else []))
            assert all(is_filling(listing, *place) for place in room)


def test_a_jump_is_the_loop_s_own(library: Path) -> None:
    """Not one by which a loop around it works, too."""
    assert own_jump(native.file("overlock-loops"), library).startswith("je ")


def own_jump(finder: Path, library: Path) -> str:
    at = functions(library)["is_part_of_work"]
    (file,) = said(finder, library)
    (loop,) = [loop for loop in file["loops"] if loop["function"] == at]
    (jump,) = loop["jumps"]
    listing = disassembled(library)
    return listing[max(place for place in listing if place < jump["after"])]


def disassembled(library: Path) -> dict[int, str]:
    command = ["objdump", "-d", "--no-show-raw-insn", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split(":\t") for line in done.stdout.splitlines() if ":\t" in line]
    return {int(at, 16): text.strip() for at, text in lines}


def is_filling(listing: dict[int, str], begin: int, size: int) -> bool:
    """The instructions that these bytes are of do nothing."""
    first = max(place for place in listing if place <= begin)
    inside = [text for at, text in listing.items() if first <= at < begin + size]
    return all("nop" in text or text in ("xchg   %ax,%ax", "int3") for text in inside)


def test_only_functions_of_these_addresses_are_looked_at(library: Path) -> None:
    places = functions(library)
    finder = native.file("overlock-loops")
    (file,) = said(finder, "--at", hex(places["waits"] + 3), "--at", hex(places["length"]), library)
    assert [loop["function"] for loop in file["loops"]] == [places["waits"]]


MUTANTS = {
    "what a round hands on is forgotten": (
        "find.c",
        "after |= f->blocks.all[b->next].live;",
        "",
    ),
    "stores are no matter": ("find.c", "if (b.stores)", "if (false)"),
    "all code is optimized": (
        "find.c",
        "if (!f->only_patched && is_unoptimized(f, &b))",
        "if (false)",
    ),
    "the frame is another's": ("find.c", "|| !b->asks_elsewhere", ""),
    "no code is optimized": ("find.c", "& KEPT_BY_CALLEES", "& 0"),
    "all is in the frame": ("find.c", "!i->is_atomic && !is_in_frame(i)", "false"),
    "loads are no matter": ("find.c", "!(b.loads || delays(&b))", "false"),
    "delays are no matter": ("find.c", "return b->relaxes && !b->loads", "return false"),
    "delays need no pause": ("find.c", "return b->relaxes && !b->loads", "return !b->loads"),
    "any register is a counter": (
        "find.c",
        "bool counts = carried && of_registers(v, carried) == COUNTER;",
        "bool counts = carried;",
    ),
    "counters need no exit": ("find.c", "|| !e->by_counter", ""),
    "calls are no matter": ("find.c", "if (b->calls) return OL_LOOP_CALLS;", ""),
    "updates are no matter": ("find.c", "if (b->updates) return OL_LOOP_UPDATES;", ""),
    "the clock is no matter": ("find.c", "e->by_clock ? OL_LOOP_TIMED", "false ? OL_LOOP_TIMED"),
    "another try waits": (
        "find.c",
        "(b.updates && between && of_registers(&v, between) != COUNTER)",
        "false",
    ),
    "a walk is a load": (
        "find.c",
        "if ((v.written >> r & 1) && is_circular(&v, r))",
        "if (false && is_circular(&v, r))",
    ),
    "a walk is a step": ("find.c", "return steps && !i->loads &&", "return steps &&"),
    "what was loaded and stepped is loaded": (
        "find.c",
        "(!v->is_renewed[r] || (v->walks >> r & 1))",
        "!v->is_renewed[r]",
    ),
    "the frame is no matter": ("find.c", "|| waits_for_own_frame(e, b)", ""),
    "vectors are kept apart": (
        "decode.c",
        "&& number(name) != OL_REGISTER_OTHER",
        "",
    ),
    "a jump over a lock prefix spoils a function": (
        "find.c",
        "f->instructions.all[low - 1].at + 1 == at",
        "false",
    ),
    "filling leads into what follows": (
        "find.c",
        "if (b->is_dead) { b->next = b->target = NO_BLOCK; continue; }",
        "",
    ),
    "filling is dead though it is run": (
        "find.c",
        "is_filling(&f->instructions.all[k]) && !falls_through(&f->instructions.all[k - 1]);",
        "is_filling(&f->instructions.all[k]);",
    ),
    "long jumps need dead bytes": ("find.c", "if (jump->size != 1)", "if (false)"),
    "other code is in the way": ("find.c", "!keep_way(f, &other)", "true"),
    "what was loaded anew is a walk": (
        "find.c",
        "v.walks = v.carried & stepped(f);",
        "v.walks = v.carried;",
    ),
    "a jump is any that cuts the loop": (
        "find.c",
        "(!to_header && is_shared(f, v, block))",
        "false",
    ),
    "who counted did not wait": (
        "find.c",
        "|| (!is_member(f, to[e]) && ends_by_counter(f, v, at))",
        "",
    ),
    "a scan waits": ("find.c", "|| scans(f, v))", ")"),
    "no hops": ("find.c", "hop = place(f, jump->after, OL_HOP, hop + 1);", "hop = 0;"),
    "an inner loop is no matter": ("find.c", "if (carried && has_inner_loop(f))", "if (false)"),
    "any loop is natural": (
        "find.c",
        "(b->next == header || b->target == header) && dominates(f, header, from)",
        "(b->next == header || b->target == header)",
    ),
    "what jumps reach is no matter": ("find.c", "at <= after + INT8_MAX && (!best", "(!best"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_finder_is_caught(library: Path, tmp_path: Path, name: str) -> None:
    finder = mutant(tmp_path, *MUTANTS[name])
    assert found(finder, library) != KINDS or not own_jump(finder, library).startswith("je ")


def mutant(tmp_path: Path, source: str, old: str, new: str) -> Path:
    for path in FINDER.iterdir():
        text = path.read_text()
        (tmp_path / path.name).write_text(
            changed(text, (old, new)) if path.name == source else text
        )
    zydis = {f'-DOL_{key}="{one.name}"' for key, one in decoders().items()}
    sources = [tmp_path / f"{part}.c" for part in ("decode", "find", "image", "main")]
    flags = ["-std=gnu11", "-O1", "-w", "-D_GNU_SOURCE", f"-Wl,-rpath,{native.folder()}", *zydis]
    command = ["gcc", *flags, *map(str, sources), "-o", str(tmp_path / "finder")]
    subprocess.run(command, check=True)
    return tmp_path / "finder"


def decoders() -> dict[str, Path]:
    """As they lie beside the programs."""
    folder = native.folder()
    return {
        key: next(folder.glob(f"lib{name}.so.*"))
        for key, name in (("ZYDIS", "Zydis"), ("ZYCORE", "Zycore"))
    }


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    (tmp_path / "cut").write_bytes(Path("/bin/true").read_bytes()[:5000])
    os.mkfifo(tmp_path / "pipe")
    files = [tmp_path / name for name in ("text", "cut", "pipe", "none")]
    errors = [file["error"] for file in said(native.file("overlock-loops"), *files, tmp_path)]
    assert errors == [
        "it is no program or library for x86-64",
        "its segments are not in it",
        "it is no regular file",
        "No such file or directory",
        "it is no regular file",
    ]
