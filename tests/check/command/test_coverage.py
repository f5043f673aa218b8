# SPDX-License-Identifier: MIT
"""Source lines that no execution reached, of locks with lines that none can reach."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.check.campaign import WITH_GAPS
from overlock_tools.check.coverage import owned_by
from overlock_tools.check.job import Subject
from tests.check.command.conftest import HERE, ONE, Command, Fake
from tests.conftest import TOP
from tests.mutant import changed

NAPS = HERE / "coverage/naps.c"


def marked(file: Path, word: str) -> set[int]:
    lines = file.read_text().splitlines()
    return {n for n, line in enumerate(lines, 1) if line.endswith(f"/* {word} */")}


def checked(real: Command, *args: str | Path) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Files of the first result, what the whole did not cover, what was said."""
    done = real(*args, "--json", "out.json")
    assert done.stderr == ""
    document = json.loads((real.folder / "out.json").read_text())
    return document["results"][0]["coverage"]["files"], document["uncovered"][0], done.stdout


def test_a_path_that_nothing_takes(real: Command) -> None:
    files, uncovered, said = checked(real, NAPS, "--roles", "ww", *ONE)
    found = files["naps.c"]
    missed, reached = marked(NAPS, "not reached"), marked(NAPS, "reached")
    assert len(missed) > 8 < len(reached)
    assert missed <= set(found["unreached"])
    assert reached <= set(found["reached"])
    assert not reached & set(found["unreached"])
    assert uncovered["lines"]["naps.c"] == found["unreached"]
    assert uncovered["never_called"] == ["naps_read_lock"]
    assert not marked(NAPS, "read") & {*found["unreached"], *found["reached"]}
    assert re.search(r"^not reached: naps.c:\d+-\d+ \(nap\), ", said, re.M)
    assert "\nnever called: naps_read_lock\n" in said
    assert "ol_checked_futex_wait(&l->word, 1, ~0u, false);" in said
    assert real(NAPS, *ONE).returncode == WITH_GAPS


def test_other_checks_reach_more(real: Command) -> None:
    files, uncovered, said = checked(real, NAPS, "--roles", "rw", *ONE)
    assert uncovered["never_called"] == []
    assert "never called" not in said
    assert marked(NAPS, "read") <= set(files["naps.c"]["reached"])
    assert marked(NAPS, "not reached") <= set(uncovered["lines"]["naps.c"])


def test_a_lock_without_such_a_path(real: Command) -> None:
    text = changed(NAPS.read_text(), ("l->tired > 100", "false"))
    (real.folder / "wakes.c").write_text(text)
    done = real("./wakes.c", *ONE)
    assert done.returncode == 0
    assert "not reached" not in done.stdout


def test_headers_and_what_is_inlined(real: Command) -> None:
    """The copy of a lock wakes sleepers in its unlock where there never are any."""
    text = (TOP / "include/overlock/lock/ticket.h").read_text()
    release = "\tol_bump_lo_release(&l->word, 1);"
    late = "\tif (ol_load_relaxed(&l->word) == 0x12345678u)\n\t\tol_kick(&l->word, OL_ANY, 7);\n"
    assert text.count(release) == 1
    (real.folder / "ticket.h").write_text(text.replace(release, late + release))
    number = text[: text.index(release)].count("\n") + 1
    files, _, said = checked(real, "./ticket.h", "--size", "2x1", "--scenario", "lock,noid")
    assert {number, number + 2} <= set(files["ticket.h"]["reached"])
    assert f"\nnot reached: ticket.h:{number + 1} (ol_ticket_unlock)\n" in said


def test_locks_of_our_own(real: Command) -> None:
    files, uncovered, _ = checked(real, "ticket", "--size", "2x1", "--scenario", "lock")
    assert [*files] == ["ticket.h"]
    text = (TOP / "include/overlock/lock/ticket.h").read_text().splitlines()
    missed = {text[line - 1].strip() for line in uncovered["lines"]["ticket.h"]}
    assert "ol_count(OL_NO_ID);" in missed
    assert real("ticket", "--size", "2x1", "--scenario", "lock,noid").returncode == 0


OWN = {
    "theirs.c": "theirs.c",
    "/somewhere/theirs.c": "theirs.c",
    "/made/0/kernel/theirs.c": "kernel/theirs.c",
    "/usr/include/ck_spinlock.h": "ck_spinlock.h",
    "/any/include/overlock/lock/ticket.h": "ticket.h",
    "/usr/include/c++/12/bits/atomic_base.h": None,
    "/usr/include/x86_64-linux-gnu/bits/stdio2.h": None,
    "/rustc/5980761/library/core/src/sync/atomic.rs": None,
    "include/overlock/foreign/rust.rs": None,
    str(TOP / "check/engine/world.h"): None,
}


@pytest.mark.parametrize(("path", "name"), OWN.items())
def test_files_of_a_lock(path: str, name: str | None) -> None:
    lock = Subject("theirs", header=Path("theirs.c"), loaded=Path("/made/0/theirs.so"))
    assert owned_by(lock)(path) == name


def test_without_the_tool_nothing_is_known(fake: Fake) -> None:
    fake.environment["PATH"] = str(fake.folder)
    fake.says({"result": {"coverage": {"addresses": [1, 2, 3]}}})
    done = fake("ticket", *ONE)
    assert done.returncode == WITH_GAPS
    said = "source lines reached: not known: objdump cannot be run; install binutils"
    assert f"\n{said}\n" in done.stdout
