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
PATCHES = TOP / "guest/patch"
PATCH, MAINTAINERS = PATCHES / "spinlocks.patch", PATCHES / "maintainers.patch"
RESULTS = TOP / "docs/results/guest.md"
MOST_COLUMNS = 100
MOST_OF_MAIL = 75
MOST_LINES = 800  # of a patch: more, nobody reads

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


def changed_files(*patches: Path) -> list[str]:
    return [f for p in patches for f in re.findall(r"^--- a/(\S+)$", p.read_text(), re.MULTILINE)]


def before(name: str, patch: str) -> str:
    """The file as far as the patch shows it, each hunk at its place, before the change."""
    section = patch.split(f"--- a/{name}\n")[1].split("diff --git", maxsplit=1)[0]
    lines: list[str] = []
    for number, text in re.findall(r"^@@ -(\d+)\S* \S+ @@.*\n((?:[ +-].*\n)*)", section, re.M):
        lines += ["# not shown"] * (int(number) - 1 - len(lines))
        lines += [line[1:] for line in text.splitlines() if not line.startswith("+")]
    return "".join(line + "\n" for line in lines)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What the patches know of a kernel, as a git repository."""
    folder = tmp_path / "linux"
    for patch in (PATCH, MAINTAINERS):
        for name in changed_files(patch):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(before(name, patch.read_text()))
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


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The patches; beside them the cover letter."""
    return [Path(m) for m in fine(SERIES, tmp_path_factory.mktemp("mails")).split()]


def test_mail_and_tree_are_the_same_kernel(tree: Path, mails: list[Path], tmp_path: Path) -> None:
    """But for the entry in MAINTAINERS, which names who sends the mail."""
    other = tmp_path / "other"
    fine("cp", "-r", tree, other)
    identity = ("-c", "user.name=A", "-c", "user.email=a@b.example")
    fine("git", "-C", tree, *identity, "am", "-q", *mails)
    fine(SERIES, "--into", other)
    sent, made = texts(tree), texts(other)
    assert "+M:\tA <a@b.example>\n" in mails[-1].read_text()
    assert "M:\tA <a@b.example>\n" in sent.pop("MAINTAINERS")
    assert "OVERLOCK" not in made.pop("MAINTAINERS")
    assert sent == made
    assert len(fine("git", "-C", tree, "log", "--format=%s").splitlines()) == len(mails) + 1


def test_patches_are_numbered_and_short(mails: list[Path]) -> None:
    assert [m.name[:5] for m in mails] == [f"{n:04d}-" for n in range(1, len(mails) + 1)]
    heads = [re.findall(r"^Subject: \[PATCH (\d+/\d+)\] ", m.read_text(), re.M) for m in mails]
    assert heads == [[f"{n:02d}/{len(mails)}"] for n in range(1, len(mails) + 1)]
    lengths = {m.name: len(m.read_text().splitlines()) for m in mails}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def test_a_file_is_in_one_patch(mails: list[Path]) -> None:
    names = [n for m in mails for n in re.findall(r"^\+\+\+ b/(\S+)$", m.read_text(), re.M)]
    assert len(names) == len(set(names))


def test_only_the_last_patches_touch_what_is_there(mails: list[Path]) -> None:
    *new, hooks, maintainers = (mail.read_text() for mail in mails)
    for mail in new:
        assert set(re.findall(r"^--- (\S+)$", mail, re.M)) == {"/dev/null"}
    for mail, patch in ((hooks, PATCH), (maintainers, MAINTAINERS)):
        assert re.findall(r"^--- a/(\S+)$", mail, re.M) == changed_files(patch)


def test_the_cover_letter_lists_the_patches(mails: list[Path]) -> None:
    cover = (mails[0].parent / "0000-cover-letter.txt").read_text()
    head = f"Subject: [PATCH 00/{len(mails)}] Let the boot choose the spinlock\n"
    assert head in cover
    for number, mail in enumerate(mails, 1):
        subject = re.findall(r"^Subject: \[.*?\] (.*)$", mail.read_text(), re.M)[0]
        assert re.search(rf"^ +{number}  {re.escape(subject)}$", cover, re.M)
    assert f"among {len(four_byte_locks())} locks of four bytes" in cover
    wide = [line for line in cover.splitlines() if len(line.expandtabs(8)) > MOST_OF_MAIL]
    assert wide == []


def measured(section: str, lock: str) -> list[str]:
    """The cells of a lock's row in the first table behind a heading of the results' page."""
    table = RESULTS.read_text().split(f"\n## {section}")[1]
    row = str(re.findall(rf"^\| `{lock}` \| (.*) \|$", table, re.M)[0])
    return row.replace("–", "-").split(" | ")


def test_the_cover_letters_numbers_are_those_of_the_results() -> None:
    cover = (PATCHES / "texts/cover").read_text()
    loop, hackbench = (
        re.findall(r"^\t(\w+) {2,}(.*\)) +(\S.*\))$", part, re.M)
        for part in cover.split("\nhackbench there")
    )
    assert (len(loop), len(hackbench)) == (7, 4)
    for section, rows in (("loop", loop), ("hackbench", hackbench)):
        for lock, *told in rows:
            assert told == measured(section, lock)[1:3], (section, lock)
    stock = re.findall(r"^\t(.*\S) {2,}(\S.*\))$", cover.split("emulated")[1], re.M)
    names = ("native@nopvspin", "native_pv", "native_tas", "byte")
    page = RESULTS.read_text().split("generated: guest-hosted loop-nested-stock")[1]
    for (_, told), name in zip(stock, names, strict=True):
        row = re.findall(rf"^\| `{name}` \| [^|]* \| ([^|]*) \|", page, re.M)[0]
        assert told == row.replace("–", "-")


def test_locks_that_are_broken_come_by_an_option_of_their_own(tmp_path: Path) -> None:
    """The choice's list, by the preprocessor."""
    text = (TOP / "guest/linux/kernel/locking/overlock/choose.c").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#include")]
    end = lines.index("#endif", next(n for n, line in enumerate(lines) if "TEST_LOCKS" in line))
    source = tmp_path / "choice.c"
    source.write_text("\n".join([*lines[: end + 1], "EACH_CHOICE(is)", ""]))
    command = ("cc", "-E", "-P", "-DOVERLOCK_EACH(LOCK)=each")
    assert fine(*command, source).split() == ["each"]
    with_them = fine(*command, "-DCONFIG_OVERLOCK_TEST_LOCKS", source)
    assert re.findall(r"busted|impatient", with_them) == ["busted", "impatient"]
    kernel = (TOP / "guest/linux/kernel/locking/overlock/Kconfig").read_text()
    option = kernel.split("config OVERLOCK_TEST_LOCKS\n")[1]
    assert "default" not in option


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
