# SPDX-License-Identifier: MIT
"""Where nothing is counted, counting is nothing: the plain build of each lock is the object code of
its header with every counting call deleted."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from overlock_tools.core.model import defs
from overlock_tools.core.system import native
from tests.conftest import TOP
from tests.mutant import changed

CALL = re.compile(r"\bol_count(?:_at|_poll)?\(")


def without_counting(text: str) -> str:
    """Every call becomes an empty statement; definitions stay."""
    out, at = [], 0
    for call in CALL.finditer(text):
        line = text[text.rfind("\n", 0, call.start()) + 1 : call.start()]
        if call.start() < at or line.startswith("#") or line.lstrip().startswith("*"):
            continue
        end, depth = call.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        out.append(text[at : call.start()])
        at = end
    return "".join(out) + text[at:]


def stripped(tree: Path) -> Path:
    """The headers once more, where nobody counts."""
    shutil.copytree(TOP / "include", tree)
    calls = 0
    for header in [*tree.glob("overlock/lock/**/*.h"), tree / "overlock/port/user.h"]:
        text = header.read_text()
        bare = without_counting(text)
        calls += text != bare
        header.write_text(bare)
    assert calls > 10  # headers that do count
    return tree


def code(include: Path, lock: str, level: str, out: Path) -> str:
    """The disassembly of the plain build, with relocations."""
    command = [
        *("gcc", "-std=gnu11", level, "-fPIC", "-c", "-Wall", "-D_GNU_SOURCE"),
        *(f"-I{include}", f"-I{native.folder().parent / 'include'}"),
        *(f"-DOL_THIS_{lock}=OL_YES", f"-DOL_HEADER=<overlock/lock/{lock}.h>"),
        *(str(TOP / "lib/lock_unit.c"), "-o", str(out)),
    ]
    subprocess.run(command, check=True, capture_output=True)
    done = subprocess.run(["objdump", "-dr", out], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize("level", ["-O2", "-Os"])
def test_object_code_is_that_of_a_lock_that_counts_nothing(tmp_path: Path, level: str) -> None:
    bare = stripped(tmp_path / "bare")
    for lock in defs.load().locks:
        unit = tmp_path / "unit.o"
        assert code(TOP / "include", lock, level, unit) == code(bare, lock, level, unit), lock


def test_counting_that_leaks_is_seen(tmp_path: Path) -> None:
    """A length that is looked up to be counted is looked up in the plain build too."""
    leaky = tmp_path / "leaky"
    shutil.copytree(TOP / "include", leaky)
    header = leaky / "overlock/lock/ticket.h"
    text = header.read_text()
    length = "ol_count_at(OL_QUEUE, (uint16_t)(mine - ol_lo(w)));"
    looks = length.replace("ol_lo(w)", "ol_load_lo_relaxed(&l->word)")
    header.write_text(changed(text, (length, looks)))
    bare = stripped(tmp_path / "bare")
    unit = tmp_path / "unit.o"
    assert code(leaky, "ticket", "-O2", unit) != code(bare, "ticket", "-O2", unit)
