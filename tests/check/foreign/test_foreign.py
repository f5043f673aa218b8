# SPDX-License-Identifier: MIT
"""Locks in C, instrumented by GCC: futexes, condition variables, semaphores, plain variables,
stacks and variables of a file, each with its faults. Each mutant shows a part of the checker."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.check import foreign
from overlock_tools.core.system.errors import Fail
from tests.check import checking
from tests.conftest import TOP

HERE = Path(__file__).parent
HOLDS = "holds"


def check(folder: Path, file: str, flags: str, asked: str, *options: str) -> dict[str, Any]:
    return checked(foreign.compile_file(HERE / file, folder, None, flags), asked, *options)


def checked(compiled: Path, asked: str, *options: str) -> dict[str, Any]:
    return checking.check(compiled, asked, "--budget=spurious=0", *options)


def verdict(result: dict[str, Any]) -> str:
    if result["failure"]:
        return str(result["failure"]["property"])
    return HOLDS if result["exhausted"] else "open"


@pytest.mark.parametrize(
    ("file", "flags", "asked", "expected"),
    [
        ("waiting.c", "", "lock 2x2", HOLDS),
        ("waiting.c", "", "lock 2x1 tso", HOLDS),
        ("waiting.c", "", "frees 2x1 c11", HOLDS),
        ("waiting.c", "-DMUTANT=wakes_nobody", "lock 2x1", "lost wake-up"),
        ("waiting.c", "-DMUTANT=forgets_sleepers", "lock 2x2", "lost wake-up"),
        ("waiting.c", "", "wait 2x1", HOLDS),
        ("waiting.c", "", "wait 2x1 wB", HOLDS),
        ("waiting.c", "-DMUTANT=sleeps_unseen", "wait 2x1", "lost wake-up"),
        ("waiting.c", "-DMUTANT=signals_none", "wait 2x1", "lost wake-up"),
        ("waiting.c", "-DMUTANT=moves_nobody", "wait 3x1 wwb", "lost wake-up"),
        ("waiting.c", "-DMUTANT=moves_unmarked", "wait 3x1 wwb", "lost wake-up"),
        ("waiting.c", "-DSEMAPHORE", "count 3x1 ddu", HOLDS),
        ("waiting.c", "-DSEMAPHORE", "frees 2x1", HOLDS),
        ("waiting.c", "-DSEMAPHORE -DMUTANT=wakes_nobody", "count 2x1", "lost wake-up"),
        ("waiting.c", "-DSEMAPHORE -DMUTANT=reads_late", "frees 2x1", "use after release"),
        ("plain.c", "", "lock 2x1", HOLDS),
        ("plain.c", "", "lock 2x1 tso", HOLDS),
        ("plain.c", "", "lock 2x1 c11", HOLDS),
        ("plain.c", "-DMUTANT=leaves_stack", "lock 2x1", "use after release"),
        ("plain.c", "-DMUTANT=leaves_stack", "lock 2x1 tso", "use after release"),
        ("plain.c", "-DMUTANT=counts_on -DMOST=2", "lock 2x1", HOLDS),
        ("plain.c", "-DMUTANT=counts_on -DMOST=1", "lock 2x1", "misuse of the platform layer"),
        *(("plain.c", f"-DPAIR -DLAST={n}", "lock 2x1", HOLDS) for n in range(54, 60)),
        ("constructed.cc", "", "lock 2x1", HOLDS),
        ("constructed.cc", "-DFREE=0", "lock 2x1", "abort"),
        ("plain.c", "-DPETERSON", "lock 2x1 tso", HOLDS),
        ("plain.c", "-DPETERSON -DMUTANT=lacks_fence", "lock 2x1", HOLDS),
        ("plain.c", "-DPETERSON -DMUTANT=lacks_fence", "lock 2x1 tso", "lost update"),
    ],
)
def test_fault_is_named(tmp_path: Path, file: str, flags: str, asked: str, expected: str) -> None:
    assert verdict(check(tmp_path, file, flags, asked)) == expected


@pytest.mark.skipif(not shutil.which("rustc"), reason="needs rustc")
@pytest.mark.parametrize(
    ("flags", "asked", "expected"),
    [
        ("", "lock 2x2", HOLDS),
        ("", "lock 2x1 c11", HOLDS),
        ("--cfg wakes_nobody", "lock 2x1", "lost wake-up"),
        ("--cfg lacks_order", "lock 2x1", HOLDS),
        ("--cfg lacks_order", "lock 2x1 c11", "not ordered by happens-before"),
        ("--cfg looks_by_cas", "lock 2x1 c11", HOLDS),
        ("--cfg looks_by_cas --cfg lacks_failing", "lock 2x1 c11", "not ordered by happens-before"),
        ("--cfg panics", "lock 2x1", "misuse of the platform layer"),
    ],
)
def test_lock_in_rust(tmp_path: Path, flags: str, asked: str, expected: str) -> None:
    assert verdict(check(tmp_path, "waiting.rs", flags, asked)) == expected


REGISTRY = Path("/usr/share/cargo/registry")  # of Debian's packages


@pytest.mark.skipif(
    not shutil.which("rustc") or not (REGISTRY / "parking_lot_core-0.9.3").is_dir(),
    reason="needs rustc and librust-parking-lot-core-dev",
)
@pytest.mark.parametrize(
    ("lock", "expected"),
    [
        ("parking_lot_word_lock", HOLDS),
        ("parking_lot_mutex", HOLDS),
        ("parking_lot_mutex_before_0_7_1", "wild access"),
    ],
)
def test_source_of_others(tmp_path: Path, lock: str, expected: str) -> None:
    """What a compare-exchange that fails acquires makes the difference."""
    file = TOP / f"check/foreign/{lock}.rs"
    compiled = foreign.compile_file(file, tmp_path, REGISTRY)
    assert verdict(checked(compiled, "lock 2x1 c11", "--budget=expiry=0")) == expected


@pytest.mark.parametrize(
    ("file", "flags", "passed"),
    [("plain.c", "", 0), ("plain.c", "-DPAIR", 2), ("waiting.c", "", 2)],
)
def test_passes_are_counted(tmp_path: Path, file: str, flags: str, passed: int) -> None:
    """Of a context that waits: none in a queue, all in a lock that anybody may take."""
    result = check(tmp_path, file, flags, "order 2x3", "--budget=expiry=0")
    assert result["notes"]["passed_waiting"] == passed


def test_loop_of_two_loads_waits(tmp_path: Path) -> None:
    """Rather than turn for ever while the holder does not run."""
    assert check(tmp_path, "plain.c", "-DPAIR", "lock 2x1")["steps"] < 10_000


def test_failure_names_lines_of_the_source(tmp_path: Path) -> None:
    """And its schedule repeats it."""
    result = check(tmp_path, "waiting.c", "-DSEMAPHORE -DMUTANT=reads_late", "frees 2x1")
    lines = (HERE / "waiting.c").read_text().splitlines()
    said = [event for event in result["failure"]["events"] if event["file"] == "waiting.c"]
    assert "memory_order" in lines[said[-1]["line"] - 1]
    again = check(
        tmp_path,
        "waiting.c",
        "-DSEMAPHORE -DMUTANT=reads_late",
        "frees 2x1",
        f"--replay={result['failure']['replay']}",
    )
    assert verdict(again) == verdict(result)


def test_order_can_be_weakened(tmp_path: Path) -> None:
    """By its line in the C file."""
    text = (HERE / "waiting.c").read_text().splitlines()
    line = 1 + next(n for n, at in enumerate(text) if "&a->lock, 0, memory_order_release" in at)
    weak = f"--weaken=waiting.c:{line}:release"
    assert verdict(check(tmp_path, "waiting.c", "", "lock 2x1 c11")) == HOLDS
    assert "happens-before" in verdict(check(tmp_path, "waiting.c", "", "lock 2x1 c11", weak))


def test_texts_are_brought_without_their_includes(tmp_path: Path) -> None:
    source, made = tmp_path / "theirs/deep", tmp_path / "made"
    source.mkdir(parents=True)
    made.mkdir()
    (source / "a.h").write_text('#include <nowhere.h>\n#include "deep/b.h"\nint spins=100;\n')
    (source / "b.h").write_text("enum { b };\n")
    file = tmp_path / "mine.c"
    file.write_text("// brings: deep/a.h deep/b.h\n// replaces: spins=1.0 => spins=0\n")
    foreign.bring(file, tmp_path / "theirs", made)
    assert (made / "a.h").read_text() == '\n#include "b.h"\nint spins=0;\n'


def test_two_texts_of_one_name_keep_their_folders(tmp_path: Path) -> None:
    """And an include that may be of either is none."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.h").write_text(f"{folder}\n")
    (tmp_path / "b/other.c").write_text('#include "same.h"\n#include <none.h>\n')
    (tmp_path / "made").mkdir()
    file = tmp_path / "mine.c"
    file.write_text("// brings: a/same.h b/same.h b/other.c\n")
    foreign.bring(file, tmp_path, tmp_path / "made")
    assert (tmp_path / "made/a/same.h").read_text() == "a\n"
    assert (tmp_path / "made/b/same.h").read_text() == "b\n"
    assert (tmp_path / "made/other.c").read_text() == "\n\n"


def test_file_brings_what_one_that_it_includes_does(tmp_path: Path) -> None:
    (tmp_path / "theirs.c").write_text("one two\n")
    (tmp_path / "first.c").write_text("// brings: theirs.c\n// replaces: one => 1\n")
    (tmp_path / "made").mkdir()
    file = tmp_path / "second.c"
    file.write_text('// replaces: two => 2\n#include "first.c"\n')
    foreign.bring(file, tmp_path, tmp_path / "made")
    assert (tmp_path / "made/theirs.c").read_text() == "1 2\n"


@pytest.mark.parametrize(
    ("text", "source", "why"),
    [
        ("// brings: a.h\n", False, "--source"),
        ("// brings: a.h\n", True, "has no a.h"),
        ("// replaces: never => x\n", True, "is not in the files"),
    ],
)
def test_what_cannot_be_brought(tmp_path: Path, text: str, source: bool, why: str) -> None:
    file = tmp_path / "mine.c"
    file.write_text(text)
    with pytest.raises(Fail, match=why):
        foreign.bring(file, tmp_path if source else None, tmp_path)


def test_command_checks_a_c_file(tmp_path: Path) -> None:
    """With its own words on what the file does not have."""
    file = tmp_path / "their lock.c"
    shutil.copy(HERE / "waiting.c", file)
    command = [sys.executable, "-m", "overlock_tools", "check", str(file), "--size", "2x1"]
    done = subprocess.run(
        [*command, "--cflags", "-DMUTANT=wakes_nobody"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "FAILS: lost wake-up" in done.stdout
    assert "--cflags -DMUTANT=wakes_nobody" in done.stdout
    nothing = tmp_path / "nothing.c"
    nothing.write_text("int x;\n")
    done = subprocess.run(
        [*command[:4], str(nothing)], capture_output=True, text=True, check=False, cwd=TOP
    )
    assert done.returncode == 2
    assert "has neither a table (overlock_checked) nor functions" in done.stderr


def test_what_the_model_has_no_room_for_is_not_explored(tmp_path: Path) -> None:
    """Under C11 stores may come before another in the order of a word, but not any number."""
    few = check(tmp_path, "stores.c", "-DSTORES=2", "lock 2x1 c11")
    assert verdict(few) == HOLDS
    (tmp_path / "many").mkdir()
    many = check(tmp_path / "many", "stores.c", "-DSTORES=20", "lock 2x1 c11", "--seconds=20")
    assert verdict(many) == "open"
    assert many["open"] == ["too many stores between two others, in the order of one word"]
