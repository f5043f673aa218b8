# SPDX-License-Identifier: MIT
"""The interposer and the library under ThreadSanitizer, which must report a planted race.

It cannot be preloaded into a program of ThreadSanitizer's, which looks for glibc's functions where
ours are not found. So both are linked: the program then calls ours, before any of the runtime's
can come between, and what they do to their own data is instrumented. Where they go on to glibc,
they go on to the runtime's functions, so that it sees glibc's mutexes, and with them the lists that
these guard.
"""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import BUILD, TOP
from tests.mutant import changed
from tests.run.conformance.test_mutants import INTERPOSER, SOURCES
from tests.run.conftest import PROGRAMS, environment, run

RACE = 66
MORE = tuple(
    f"diag/{name}.c"
    for name in ("demand", "report", "report_say", "report_text", "stacks", "misuse")
)
THREAD = ["gcc", "-fsanitize=thread", "-O1", "-g", "-pthread", "-w"]
CHECKED = ["-DOL_COUNTED", "-DOL_CHECKED"]
LIBRARY = BUILD / "tests/lib/native/thread/liboverlock_thread.a"

# (file, ours, what it is here). The runtime calls these before it can be called itself.
LINKED = [
    ("start.c", "is_glibcs_program() ? dlvsym(RTLD_NEXT, name, version) : dlsym(", "dlsym("),
    ("start.c", 'return dlsym(RTLD_DEFAULT, "__tsan_init") != 0;', "return false;"),
    ("api.c", "int __register_atfork(", "int not_called_atfork("),
    ("api.c", "int prctl(int what", "int not_called_prctl(int what"),
]
RACES = {
    "remove_from|insert|next_for|enter": [("sleep.c", "ol_run_real.mutex_lock(&b->mutex);", "")],
    "say": [  # on a terminal, and without one
        ("note.c", "ol_store_relaxed(&is_over, said == size);", "is_over = said == size;"),
        ("note.c", "ol_store_relaxed(&is_over, errno == ENXIO);", "is_over = errno == ENXIO;"),
    ],
}

PROGRAMS_RUN = {
    "conditions.c": ("100",),
    "crowd.c": ("12",),
    "many.c": ("30", "300", "60"),
    "deadline.c": ("1", "3", "2"),
    "giving_up.c": (),
    "cancel.c": (),
    "rwlock.c": (
        "50",
        "0",
    ),  # its children make threads, which ThreadSanitizer refuses after a fork
}


def copy(folder: Path, changes: list[tuple[str, str, str]]) -> None:
    for source in filter(Path.is_file, INTERPOSER.rglob("*")):
        text = source.read_text()
        here = ((old, new) for file, old, new in changes if source == INTERPOSER / file)
        text = changed(text, *here)
        target = folder / source.relative_to(INTERPOSER)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def objects(folder: Path, changes: list[tuple[str, str, str]]) -> list[Path]:
    copy(folder, LINKED + changes)
    folders = [f"-I{f}" for f in (folder, TOP / "include", BUILD / "include", TOP / "lib")]
    spin = ["-DOL_THIS_spin_yield=OL_YES", f'-DOL_HEADER="{folder}/spin_yield.h"']

    def compile_it(source: Path) -> Path:
        out = folder / f"{source.stem}.o"
        weak = ["-include", folder / "weak.h"]
        command = [*THREAD, "-std=gnu11", "-D_GNU_SOURCE", *weak, *CHECKED, *folders, *spin]
        subprocess.run([*map(str, [*command, "-c", source, "-o", out])], check=True)
        return out

    with ThreadPoolExecutor(2) as pool:
        sources = [folder / name for name in (*SOURCES, *MORE)]
        return list(pool.map(compile_it, [*sources, TOP / "lib/lock_unit.c"]))


@pytest.fixture(scope="session")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("linked")
    made = objects(folder, [])
    for name in PROGRAMS_RUN:
        link(folder, name, made)
    return folder


def link(folder: Path, name: str, made: list[Path]) -> Path:
    out = folder / name.removesuffix(".c")
    libraries = [LIBRARY, "-ldl", "-l:libstdc++.a"]
    command = [*THREAD, "-std=gnu17", PROGRAMS / name, *made, *libraries, "-o", out]
    subprocess.run([*map(str, command)], check=True)
    return out


def under(lock: str, folder: Path) -> dict[str, str]:
    """All that there is to record, and sleep as soon as possible."""
    more = {
        "OVERLOCK_LOCK": lock,
        "OVERLOCK_RWLOCK": "qrw",
        "OVERLOCK_LONGEST_SPIN_NS": "100000",
        "OVERLOCK_CHECK": "1",
        "OVERLOCK_DEADLOCK_NS": "200000000",
        "OVERLOCK_QUIET": "1",
        "OVERLOCK_STACKS": "wait",
        "OVERLOCK_HISTOGRAMS": "1",
        "OVERLOCK_OUTPUT": str(folder / "report.json"),
        "TSAN_OPTIONS": f"exitcode={RACE}",
    }
    return environment(None, None, **more)


@pytest.mark.parametrize("name", PROGRAMS_RUN)
@pytest.mark.parametrize("lock", ["tas_yield", "mcs", "rota"])
def test_no_race(linked: Path, tmp_path: Path, lock: str, name: str) -> None:
    done = run([linked / name.removesuffix(".c"), *PROGRAMS_RUN[name]], under(lock, tmp_path))
    assert "data race" not in done.stderr, done.stderr
    assert done.returncode == 0, done


@pytest.mark.parametrize("where", RACES)
def test_a_race_is_reported(tmp_path: Path, where: str) -> None:
    """The second is one that this has found."""
    made = objects(tmp_path / "objects", RACES[where])
    crowd = link(tmp_path, "crowd.c", made)
    for _ in range(10):  # who comes when is the kernel's choice
        done = run([crowd, "20"], under("mcs", tmp_path))
        if "data race" in done.stderr:
            break
    assert done.returncode == RACE, done
    assert any(f" {name} " in done.stderr for name in where.split("|")), done.stderr
