# SPDX-License-Identifier: MIT
"""The series for a kernel's own spinlocks: it assembles, applies, and has every lock."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from overlock_tools.core.model import defs
from tests.conftest import TOP

SERIES = TOP / "guest/series"
PATCH = TOP / "guest/patch/spinlocks.patch"
MOST_COLUMNS = 100

Run = subprocess.CompletedProcess[str]


def run(*command: object, **more: str) -> Run:
    who = {
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@b.example",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    environment = {**os.environ, **who, **more}
    return subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=False, env=environment
    )


def fine(*command: object) -> str:
    done = run(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def four_byte_locks() -> list[str]:
    return [lock.id for lock in defs.load().locks.values() if "fits4" in lock.traits]


def changed_files() -> list[str]:
    return re.findall(r"^--- a/(\S+)$", PATCH.read_text(), re.MULTILINE)


def before(name: str) -> str:
    """The file as far as the patch shows it, each hunk at its place, before the change."""
    section = PATCH.read_text().split(f"--- a/{name}\n")[1].split("diff --git")[0]
    lines: list[str] = []
    for number, text in re.findall(r"^@@ -(\d+)\S* \S+ @@.*\n((?:[ +-].*\n)*)", section, re.M):
        lines += ["# not shown"] * (int(number) - 1 - len(lines))
        lines += [line[1:] for line in text.splitlines() if not line.startswith("+")]
    return "".join(line + "\n" for line in lines)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What the patch knows of a kernel, as a git repository."""
    folder = tmp_path / "linux"
    for name in changed_files():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before(name))
    for command in ("init -q", "add .", "-c user.name=A -c user.email=a@b.example commit -qm ."):
        fine("git", "-C", folder, *command.split())
    return folder


def texts(folder: Path) -> dict[str, str]:
    files = (p for p in folder.rglob("*") if p.is_file() and ".git" not in p.parts)
    return {str(p.relative_to(folder)): p.read_text() for p in files}


def test_lines_are_as_long_as_checkpatch_allows() -> None:
    """A check of seconds, since checkpatch itself needs an unpacked kernel (test_kernel.py)."""
    brought = (p for p in (TOP / "guest/linux").rglob("*") if p.is_file())
    lines = ((p, line) for p in brought for line in p.read_text().splitlines())
    assert [(p, line) for p, line in lines if len(line.expandtabs(8)) > MOST_COLUMNS] == []


def test_modules_of_the_stock_kernel_have_another_vermagic(tree: Path) -> None:
    """They have the stock spin_unlock() in line."""
    fine(SERIES, "--into", tree)
    header = tree / "arch/x86/include/asm/vermagic.h"
    header.write_text(f"{header.read_text().replace('# not shown', '')}\nMODULE_ARCH_VERMAGIC\n")
    stock = fine("cc", "-E", "-P", header).split()
    ours = fine("cc", "-E", "-P", "-DCONFIG_OVERLOCK_SPINLOCKS", header)
    assert (stock, ours.strip()) == (['""'], '"overlock "')


def test_mail_and_tree_are_the_same_kernel(tree: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    fine("cp", "-r", tree, other)
    mails = fine(SERIES, tmp_path / "mails").split()
    assert [Path(m).name[:5] for m in mails] == ["0001-", "0002-", "0003-"]
    identity = ("-c", "user.name=A", "-c", "user.email=a@b.example")
    fine("git", "-C", tree, *identity, "am", "-q", *mails)
    fine(SERIES, "--into", other)
    assert texts(tree) == texts(other)
    assert len(fine("git", "-C", tree, "log", "--format=%s").splitlines()) == 4


def test_only_the_last_patch_touches_what_is_there(tree: Path, tmp_path: Path) -> None:
    mails = fine(SERIES, tmp_path / "mails").split()
    for mail in mails[:-1]:
        assert set(re.findall(r"^--- (\S+)$", Path(mail).read_text(), re.M)) == {"/dev/null"}
    touched = re.findall(r"^--- a/(\S+)$", Path(mails[-1]).read_text(), re.M)
    assert touched == changed_files()


def test_the_locks_come_unchanged(tree: Path) -> None:
    fine(SERIES, "--into", tree)
    brought = [p for p in (tree / "include/overlock").rglob("*") if p.is_file()]
    assert {p.stem for p in brought if p.parent.name == "lock"} >= set(four_byte_locks())
    for path in brought:
        assert (
            path.read_bytes() == (TOP / "include" / path.relative_to(tree / "include")).read_bytes()
        )


def test_the_waits_that_a_kernel_has_come(tree: Path) -> None:
    fine(SERIES, "--into", tree)
    found = {p.stem for p in (tree / "include/overlock/wait").iterdir()}
    assert found == {"until", "barrier", "tree_barrier", "latch", "sequence"}


def test_nothing_is_included_that_did_not_come(tree: Path) -> None:
    fine(SERIES, "--into", tree)
    elsewhere = {"overlock/port/user.h", "overlock/port/sim.h"}
    for path in tree.rglob("*.[ch]"):
        for name in re.findall(r"^#include <(overlock/.*)>", path.read_text(), re.M):
            assert name in elsewhere or (tree / "include" / name).exists(), f"{path}: {name}"


def test_a_second_time_touches_only_what_differs(tree: Path) -> None:
    fine(SERIES, "--into", tree)
    menu, world = (tree / "kernel/locking/overlock" / n for n in ("menu.sh", "world.c"))
    wanted = world.read_text()
    stale = tree / "include/overlock/lock/gone.h"
    stale.write_text("/* a lock that is no more */\n")
    world.write_text("/* changed */\n")
    for path in tree.rglob("*"):
        os.utime(path, (1, 1))
    fine(SERIES, "--into", tree)
    assert world.read_text() == wanted
    assert world.stat().st_mtime > 1
    assert menu.stat().st_mtime == 1
    assert not stale.exists()


def test_every_4_byte_lock_is_in_the_menu() -> None:
    menu = fine(TOP / "guest/linux/kernel/locking/overlock/menu.sh", TOP / "include")
    assert re.findall(r"^\tLOCK\((\w+)\) \\$", menu, re.M) == four_byte_locks()
    assert re.findall(r"^#include <overlock/lock/(\w+)\.h>$", menu, re.M) == four_byte_locks()


def test_a_new_line_of_the_list_joins_the_menu(tmp_path: Path) -> None:
    folder = tmp_path / "include/overlock"
    folder.mkdir(parents=True)
    line = 'OL_LOCK({}, waits,\n\tOL_FIFO |\n\t\t{}, "tests", "new")\n'
    (folder / "locks.def").write_text(
        line.format("small", "OL_FITS4") + line.format("big", "OL_ALONE")
    )
    menu = fine(TOP / "guest/linux/kernel/locking/overlock/menu.sh", tmp_path / "include")
    assert "LOCK(small)" in menu
    assert "big" not in menu


@pytest.mark.parametrize("arguments", [(), ("--into",), ("-x",), ("a", "b")])
def test_usage(arguments: tuple[str, ...]) -> None:
    done = run(SERIES, *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "usage: guest/series" in done.stderr


def test_what_is_no_kernel_is_refused(tmp_path: Path) -> None:
    done = run(SERIES, "--into", tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is not a kernel source" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_kernel_that_the_patch_does_not_fit_is_left_alone(tree: Path) -> None:
    header = tree / "arch/x86/include/asm/spinlock.h"
    header.write_text("/* quite another kernel */\n")
    before = texts(tree)
    done = run(SERIES, "--into", tree)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "does not apply" in done.stderr
    assert "spinlock.h" in done.stderr
    assert texts(tree) == before
