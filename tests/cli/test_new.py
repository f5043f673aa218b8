# SPDX-License-Identifier: MIT
"""overlock new, and its lock in bench, in run and in the library."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from overlock_tools.bench import header_locks
from overlock_tools.core.system import native
from tests.command import Overlock


@pytest.fixture
def mine(overlock: Overlock, tmp_path: Path) -> Path:
    done = overlock("new", "mine")
    assert done.returncode == 0, done.stderr
    return tmp_path / "mine.h"


def test_in_another_folder(overlock: Overlock, tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    done = overlock("new", "mine", "--dir", "locks")
    assert done.returncode == 0
    assert "locks/mine.h" in done.stdout
    assert (tmp_path / "locks/mine.h").exists()


@pytest.mark.parametrize(
    "name", ["Mine", "1st", "my-lock", "", "a" * 41, "../mine", "ticket", "find"]
)
def test_refused_names_leave_nothing(overlock: Overlock, tmp_path: Path, name: str) -> None:
    done = overlock("new", name)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_it_overwrites_nothing(overlock: Overlock, mine: Path) -> None:
    mine.write_text("precious")
    done = overlock("new", "mine")
    assert done.returncode == 2
    assert mine.read_text() == "precious"


@pytest.mark.parametrize("compiler", ["gcc -std=c11", "g++ -std=c++20", "clang -std=c11"])
def test_the_header_is_strictly_c_and_cpp(mine: Path, compiler: str) -> None:
    command, standard = compiler.split()
    if not shutil.which(command):
        pytest.skip(f"{command} is not installed")
    user = mine.with_suffix(".cpp" if "++" in command else ".c")
    user.write_text('#include "mine.h"\nint main(void) { return ol_mine_trylock(0); }\n')
    flags = [standard, "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    subprocess.run(
        [command, *flags, "-fsyntax-only", f"-I{native.include()}", str(user)], check=True
    )


def test_formatted_as_the_tree_is(mine: Path) -> None:
    top = native.checkout()
    assert top
    style = f"--style=file:{top / '.clang-format'}"
    subprocess.run(["clang-format", style, "--dry-run", "--Werror", str(mine)], check=True)


def test_it_excludes(mine: Path) -> None:
    """In two threads that would lose updates without it."""
    ops = header_locks.compile_lock(mine, mine.parent)
    program = mine.with_name("hammer.c")
    program.write_text(HAMMER)
    binary = mine.with_name("hammer")
    library = native.folder() / "liboverlock.so"
    flags = ["-O1", f"-I{native.include()}", f"-Wl,-rpath,{mine.parent}:{library.parent}"]
    subprocess.run(["cc", *flags, program, ops, library, "-pthread", "-o", binary], check=True)
    subprocess.run([binary], check=True)


HAMMER = """
#include <overlock/ops.h>
#include <pthread.h>
extern const struct ol_lock_ops ol_ops_mine;
static unsigned word;
static volatile long count;
static void *hammer(void *arg)
{
	for (long i = 0; i < 200000; i++) {
		ol_ops_mine.lock(&word);
		count = count + 1;
		ol_ops_mine.unlock(&word);
	}
	return arg;
}
int main(void)
{
	pthread_t other;
	if (pthread_create(&other, 0, hammer, 0))
		return 2;
	hammer(0);
	pthread_join(other, 0);
	return count != 400000 || ol_ops_mine.is_locked(&word);
}
"""


def test_in_bench(overlock: Overlock, mine: Path) -> None:
    out = mine.with_name("result.json")
    done = overlock(
        *("bench", "sections", "--locks", "./mine.h", "--threads", 2, "--rounds", 2),
        *("--seconds", 0.02, "--json", out),
    )
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout
    assert '"mine"' in out.read_text()


def test_in_run(overlock: Overlock, mine: Path) -> None:
    done = overlock(
        *("run", "--lock", "./mine.h", "--", sys.executable, "-c", "print('fine')"),
    )
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


def test_a_lock_that_does_not_compile_is_one_line(overlock: Overlock, mine: Path) -> None:
    mine.write_text(mine.read_text().replace("ol_store_release", "ol_no_such_call"))
    done = overlock("bench", "sections", "--locks", "./mine.h")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "ol_no_such_call" in done.stderr
