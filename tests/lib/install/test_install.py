# SPDX-License-Identifier: MIT
"""Programs from outside the tree: pkg-config, CMake, dlopen, vendored headers, two ABIs."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BUILD, TOP
from tests.lib.install.conftest import Installed, run

EXAMPLES = TOP / "examples"
HERE = Path(__file__).parent


def compilers(language: str) -> list[str]:
    names = {"c": ["gcc", "clang"], "c++": ["g++", "clang++"]}[language]
    return [name for name in names if shutil.which(name)]


@pytest.mark.parametrize(
    ("language", "source", "printed"),
    [
        ("c", "counter.c", "8000\n"),
        ("c", "rounds.c", "4 threads met 1000 times\n"),
        ("c++", "queue.cpp", "499500\n"),
    ],
)
def test_examples_build_by_pkg_config(
    installed: Installed, tmp_path: Path, language: str, source: str, printed: str
) -> None:
    for compiler in compilers(language):
        standard = {"c": "-std=c11", "c++": "-std=c++20"}[language]
        program = tmp_path / compiler
        flags = installed.flags("--cflags", "--libs")
        run(compiler, standard, EXAMPLES / source, "-o", program, "-pthread", *flags)
        assert run(program, env=installed.env) == printed
        assert "liboverlock.so.0" in run("ldd", program, env=installed.env)


def test_examples_build_statically(installed: Installed, tmp_path: Path) -> None:
    program = tmp_path / "counter"
    flags = installed.flags("--cflags")
    run(
        "cc",
        EXAMPLES / "counter.c",
        *flags,
        installed.lib / "liboverlock.a",
        "-pthread",
        "-o",
        program,
    )
    assert run(program) == "8000\n"
    assert "liboverlock" not in run("ldd", program)


def test_tests_are_built_where_the_program_was(tmp_path: Path) -> None:
    """As by `make demo` and then `make test`: what was answered the first time is kept."""
    for tests in ("OFF", "ON"):
        run("cmake", "-S", TOP, "-B", tmp_path, f"-DOVERLOCK_TESTS={tests}")


def test_examples_build_by_cmake(installed: Installed, tmp_path: Path) -> None:
    source = shutil.copytree(EXAMPLES, tmp_path / "examples")
    build = tmp_path / "build"
    run("cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={installed.prefix}")
    run("cmake", "--build", build)
    assert run(build / "counter") == "8000\n"
    assert run(build / "queue") == "499500\n"


def test_make_installs_man_pages(tmp_path: Path) -> None:
    words = ("-C", TOP, "-o", "build", "install", f"BUILD={BUILD}", f"DESTDIR={tmp_path}")
    run("make", *words, "PREFIX=/usr")
    pages = {path.name for path in (tmp_path / "usr/share/man/man1").iterdir()}
    assert {"overlock.1", "overlock-run.1", "overlock-bench-sections.1"} <= pages


def test_run_finds_what_it_preloads(installed: Installed) -> None:
    """By itself; what it leaves to Python needs the package."""
    launcher, libraries = installed.prefix / "bin/overlock", installed.prefix / "lib/overlock"
    env = {"OVERLOCK_NATIVE": "", "PATH": "/usr/bin:/bin"}
    said = run(launcher, "run", "--lock", "mcs", "--", "env", env=env)
    assert f"LD_PRELOAD={libraries}/liboverlock-run.so\n" in said
    assert "OVERLOCK_LOCK=mcs\n" in said
    assert "overlock-tools" in run(launcher, "run", "--counters", "true", env=env, code=125)
    assert "ticket  " in run(launcher, "locks", env=env)
    assert "overlock-tools" in run(launcher, "bench", env=env, code=3)


VENDORED = """
#include <overlock/lock/{id}.h>
static ol_{id}_t lock = OL_{ID}_INIT;
int main(void)
{{
    ol_{id}_lock(&lock);
    if (ol_{id}_trylock(&lock) || !ol_{id}_is_locked(&lock) || ol_{id}_is_contended(&lock))
        return 1;
    ol_{id}_unlock(&lock);
    return ol_{id}_is_locked(&lock) || !ol_{id}_trylock(&lock);
}}
"""


def vendor(into: Path, lock: str) -> None:
    """Copies all that a lock marked ALONE is made of."""
    headers = TOP / "include/overlock"
    shared = ("port/lists.h", "port/node.h", "lock/impl/poll.h", "events.def", "tunables.def")
    for name in ("port.h", "port/user.h", *shared, f"lock/{lock}.h"):
        (into / "overlock" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(headers / name, into / "overlock" / name)


@pytest.mark.parametrize("optimise", ["-O0", "-O2"])
@pytest.mark.parametrize("language", ["c", "c++"])
def test_vendored_headers_need_no_library(
    tmp_path: Path, defs: Any, language: str, optimise: str
) -> None:
    alone = [lock["id"] for lock in defs["locks"] if "alone" in lock["traits"]]
    assert alone
    for lock in alone:
        vendor(tmp_path, lock)
        source = tmp_path / f"{lock}.c"
        source.write_text(VENDORED.format(id=lock, ID=lock.upper()))
        for compiler in compilers(language):
            program = tmp_path / f"{lock}-{compiler}"
            run(compiler, "-x", language, optimise, f"-I{tmp_path}", source, "-o", program)
            run(program)


LOADER = """
#include <overlock/ops.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *memory;
static const struct ol_lock_ops *ops;
static int counter;

static void *count(void *unused)
{
    for (int i = 0; i < 200; i++) {
        ops->lock(memory);
        counter++;
        ops->unlock(memory);
    }
    return unused;
}

/* A thread that was there before the library. */
static pthread_barrier_t loaded;
static void *early(void *unused)
{
    pthread_barrier_wait(&loaded);
    return count(unused);
}

int main(int argc, char **argv)
{
    pthread_t thread, late;
    void *library;
    const struct ol_lock_ops *(*find)(const char *);

    pthread_barrier_init(&loaded, 0, 2);
    pthread_create(&thread, 0, early, 0);
    library = dlopen(argv[1], RTLD_NOW);
    if (!library)
        return puts(dlerror());
    find = (const struct ol_lock_ops *(*)(const char *))dlsym(library, "ol_find_lock");
    ops = find(argv[2]);
    memory = aligned_alloc(ops->align, (ops->size + ops->align - 1) / ops->align * ops->align);
    memset(memory, 0, ops->size);
    pthread_barrier_wait(&loaded);
    pthread_create(&late, 0, count, 0);
    pthread_join(thread, 0);
    pthread_join(late, 0);
    dlclose(library); /* threads that used it may still exit */
    printf("%d\\n", counter);
    return argc != 3;
}
"""


def test_a_program_without_the_library_can_load_it(
    installed: Installed, tmp_path: Path, defs: Any
) -> None:
    source, program = tmp_path / "loader.c", tmp_path / "loader"
    source.write_text(LOADER)
    run("cc", "-O1", *installed.flags("--cflags"), source, "-o", program, "-pthread", "-ldl")
    assert "liboverlock" not in run("ldd", program)
    for lock in defs["locks"]:
        assert run(program, installed.lib / "liboverlock.so.0", lock["id"]) == "400\n"


PLUGIN = """
#include <overlock/overlock.h>
static ol_mcs_t lock;
unsigned plugin(void)
{
    struct ol_node *node = ol_node_get();

    ol_mcs_lock(&lock);
    ol_mcs_unlock(&lock);
    ol_node_put(node);
    return ol_self() ? ol_world->abi : 99;
}
"""
HOST = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *object = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
        unsigned (*plugin)(void);

        if (!object)
            return puts(dlerror());
        plugin = (unsigned (*)(void))dlsym(object, "plugin");
        printf("%u ", plugin());
    }
    return 0;
}
"""


def test_two_abis_live_in_one_process(
    installed: Installed, next_abi: Installed, tmp_path: Path
) -> None:
    (tmp_path / "plugin.c").write_text(PLUGIN)
    (tmp_path / "host.c").write_text(HOST)
    run("cc", tmp_path / "host.c", "-o", tmp_path / "host", "-ldl")
    for abi, copy in ((0, installed), (1, next_abi)):
        plugin = tmp_path / f"plugin{abi}.so"
        flags = copy.flags("--cflags", "--libs")
        run("cc", "-shared", "-fPIC", tmp_path / "plugin.c", "-o", plugin, *flags)
        assert f"liboverlock.so.{abi}" in run("readelf", "-d", plugin)
    path = {"LD_LIBRARY_PATH": f"{installed.lib}:{next_abi.lib}"}
    plugins = [tmp_path / "plugin0.so", tmp_path / "plugin1.so"]
    assert run(tmp_path / "host", *plugins, env=path) == "0 1 "
    assert run(tmp_path / "host", *reversed(plugins), env=path) == "1 0 "


def test_every_exported_symbol_is_ours_and_versioned(installed: Installed) -> None:
    symbols = run("nm", "-D", "--defined-only", installed.lib / "liboverlock.so").splitlines()
    names = [line.split()[-1] for line in symbols]
    assert "ol_find_lock@@OVERLOCK_0" in names
    strangers = [n for n in names if not re.fullmatch(r"ol_\w+@@OVERLOCK_0|OVERLOCK_0", n)]
    assert strangers == []
    assert not [n for n in names if n.startswith(("ol_test_", "ol_sites_", "ol_ops_"))]


def test_installed_headers_do_not_name_the_build(installed: Installed) -> None:
    for file in installed.prefix.rglob("*"):
        if file.suffix in {".h", ".hpp", ".def", ".pc", ".cmake"}:
            assert str(TOP) + os.sep not in file.read_text(), file
