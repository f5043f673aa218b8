# SPDX-License-Identifier: MIT
"""musl: the library and its headers work with it; `overlock run` says that it does not."""

import os
import platform
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BUILD, TOP
from tests.lib.install.conftest import Installed, install, run
from tests.lib.install.test_install import EXAMPLES, VENDORED, vendor

pytestmark = pytest.mark.skipif(not shutil.which("musl-gcc"), reason="musl-gcc is not installed")

COUNTS = TOP / "tests/faults/locks.c"


@pytest.fixture(scope="session")
def kernel_headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Linux's alone, as Alpine's linux-headers has them; beside them Debian keeps glibc's."""
    folder = tmp_path_factory.mktemp("linux")
    for name in ("linux", "asm-generic"):
        (folder / name).symlink_to(Path("/usr/include") / name)
    (folder / "asm").symlink_to(f"/usr/include/{platform.machine()}-linux-gnu/asm")
    return folder


@pytest.fixture(scope="session")
def built(kernel_headers: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Installed, str]:
    """What a plain build makes, and what it says."""
    build = tmp_path_factory.mktemp("musl")
    options = ("-DCMAKE_C_COMPILER=musl-gcc", f"-DCMAKE_C_FLAGS=-isystem {kernel_headers}")
    said = run("cmake", "-S", TOP, "-B", build, *options)
    run("cmake", "--build", build, "-j2")
    return install(build, tmp_path_factory.mktemp("musl-destdir")), " ".join(said.split())


@pytest.fixture(scope="session")
def counter(built: tuple[Installed, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that is linked to musl's loader."""
    installed, _ = built
    program = tmp_path_factory.mktemp("program") / "counter"
    words = (EXAMPLES / "counter.c", f"-I{installed.prefix}/include", f"-L{installed.lib}")
    run("musl-gcc", "-std=c11", *words, "-loverlock", "-pthread", "-o", program)
    return program


def test_the_build_says_what_it_leaves_out(built: tuple[Installed, str]) -> None:
    installed, said = built
    assert "`overlock run` and the tools need glibc" in said
    assert not (installed.prefix / "lib/overlock").exists()
    assert not (installed.prefix / "bin").exists()


def test_a_program_links_with_the_library(built: tuple[Installed, str], counter: Path) -> None:
    assert run(counter, env={"LD_LIBRARY_PATH": str(built[0].lib)}) == "8000\n"


def test_every_lock_excludes(
    built: tuple[Installed, str], kernel_headers: Path, defs: Any, tmp_path: Path
) -> None:
    installed, _ = built
    program = tmp_path / "locks"
    headers = (f"-I{installed.prefix}/include", "-isystem", kernel_headers)
    library = installed.lib / "liboverlock.a"
    options = ("-static", "-D_GNU_SOURCE", "-pthread", "-o", program)
    run("musl-gcc", COUNTS, *headers, library, *options)
    for lock in defs["locks"]:
        if "elides" not in lock["traits"]:
            rounds = "1000" if "yields" in lock["traits"] else "10"
            assert run(program, "count", lock["id"], "4", rounds) == "lost 0, overlaps 0\n"


def test_vendored_headers_need_no_library(tmp_path: Path, defs: Any) -> None:
    for lock in (lock["id"] for lock in defs["locks"] if "alone" in lock["traits"]):
        vendor(tmp_path, lock)
        source = tmp_path / f"{lock}.c"
        source.write_text(VENDORED.format(id=lock, ID=lock.upper()))
        run("musl-gcc", "-std=c11", "-Werror", "-I", tmp_path, source, "-o", tmp_path / lock)
        run(tmp_path / lock)


def test_overlock_run_refuses_in_words(counter: Path) -> None:
    launcher = BUILD / "native/overlock"
    env = {"OVERLOCK_NATIVE": str(BUILD / "native"), "PATH": os.environ["PATH"]}
    said = run(launcher, "run", "--lock", "mcs", "--", counter, env=env, code=125)
    why = "uses musl, but the interposer needs glibc; run it without overlock"
    assert said == f"overlock: {counter} {why}\n"
