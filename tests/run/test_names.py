# SPDX-License-Identifier: MIT
"""What the interposer and the library define: names with the project's prefix, and interposed ones.

A user's backtrace shows these names, hidden ones too, and a static library must not clash with a
program's own. Local (static) functions may have any name.
"""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.conftest import BUILD, TOP

PREFIX = re.compile(r"ol_|__ol_")
INTERPOSED = re.compile(
    r"(__)?pthread_(mutex|rwlock)_|pthread_(barrier|cond|spin)_|mtx_|cnd_|__register_atfork$"
    r"|dlmopen$|prctl$"
    r"|omp_\w+_lock|__kmpc_|GOMP_critical_"
)
ARCHIVES = [BUILD / f"lib/liboverlock{flavour}.a" for flavour in ("", "_counted")]
FLAVOURS = ("overlock-run", "overlock-run-counted", "overlock-run-checked")


def defined(files: Iterable[Path], *options: str) -> set[str]:
    """External names, hidden ones too; capital letters of nm, and V and W for weak ones."""
    command = ["nm", "--defined-only", "--format=posix", *options, *map(str, files)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    names = (line.split() for line in done.stdout.splitlines())
    return {n[0].partition("@")[0] for n in names if len(n) > 2 and n[1].isupper()} - {"OVERLOCK_0"}


def strangers(names: set[str]) -> set[str]:
    return {n for n in names if not PREFIX.match(n) and not INTERPOSED.match(n)}


def objects(flavour: str) -> list[Path]:
    """Of the newest build; an object whose source is gone is left from an older one."""
    folder = BUILD / f"run/CMakeFiles/{flavour}.dir"
    return [
        o
        for o in folder.rglob("*.o")
        if (TOP / "run" / o.relative_to(folder)).with_suffix("").exists()
    ]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_interposer_defines_prefixed_or_interposed_names(flavour: str) -> None:
    names = defined(objects(flavour))
    assert "ol_run_start" in names
    assert "pthread_mutex_lock" in names
    assert not strangers(names)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_interposer_exports_interposed_names_alone(flavour: str) -> None:
    names = defined([BUILD / f"native/lib{flavour}.so"], "--dynamic")
    assert all(INTERPOSED.match(name) for name in names)
    assert {"pthread_mutex_lock", "__kmpc_critical"} <= names


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_the_library_defines_prefixed_names(archive: Path) -> None:
    names = defined([archive])
    assert "ol_find_lock" in names
    assert not strangers(names)


def test_mutant_with_a_bare_name_is_caught(tmp_path: Path) -> None:
    """A hidden one, which the objects show and the dynamic symbols of a library do not."""
    source = tmp_path / "mutant.c"
    source.write_text(
        '__attribute__((visibility("hidden"))) int nap(void);\n'
        "int nap(void) { return 0; }\n"
        "static int of_this_file(void) { return nap(); }\n"
        "int ol_run_nap(void) { return of_this_file(); }\n"
        "int start;\n"
    )
    made = tmp_path / "mutant.o"
    subprocess.run(["gcc", "-fPIC", "-O0", "-c", source, "-o", made], check=True)
    assert strangers(defined([made])) == {"nap", "start"}
