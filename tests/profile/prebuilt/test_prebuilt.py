# SPDX-License-Identifier: MIT
"""BPF objects in prebuilt/ are of the sources as they are now, and the same bytes if made again."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import BUILD, NATIVE, TOP
from tests.processes import HANG_S

# Not below build/, where roots of `make newest` have checkouts of their own.
OBJECTS = sorted(TOP.glob("[!b]*/**/prebuilt/*.bpf.o"))
ANEW = "run `make bpf`, and commit what it makes"
COMPILER = "clang-16"
NAMES = [path.name for path in OBJECTS]
SOURCE = re.compile(r"^([0-9a-f]{64})  (\S+)$", re.MULTILINE)
# Programs are found on PATH alone, so that a test can leave clang out.
CONFIGURE = (
    "-DOVERLOCK_TESTS=OFF",
    "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF",
    "-DCMAKE_INCLUDE_PATH=/usr/include",
    f"-DCMAKE_LIBRARY_PATH=/usr/lib/{platform.machine()}-linux-gnu",
    "--log-level=STATUS",
)
TOOLS = ("cmake", "cc", "c++", "as", "ld", "ar", "ranlib", "ninja", "sh", "pkg-config")


def sources(made: Path) -> dict[str, str]:
    """By name, the hash that each had."""
    listed = made.with_name(f"{made.name}.sources").read_text()
    return {name: value for value, name in SOURCE.findall(listed)}


def test_there_is_one_for_each_program() -> None:
    assert NAMES == ["slices.bpf.o", "threads.bpf.o", "waits.bpf.o"]


@pytest.mark.parametrize("made", OBJECTS, ids=NAMES)
def test_the_sources_are_those_of_today(made: Path) -> None:
    then = sources(made)
    own = made.parents[1] / made.name.replace(".o", ".c")
    assert str(own.relative_to(TOP)) in then
    now = {name: hashlib.sha256((TOP / name).read_bytes()).hexdigest() for name in then}
    assert then == now, ANEW


@pytest.mark.parametrize("made", OBJECTS, ids=NAMES)
def test_compiled_again_it_is_the_same(made: Path) -> None:
    said = shutil.which(COMPILER) and subprocess.check_output([COMPILER, "--version"], text=True)
    first, *_ = made.with_name(f"{made.name}.sources").read_text().splitlines()
    if not said or first.split()[-1] not in said:
        pytest.skip(f"{COMPILER} is not here, or another version: {first}")
    again = f"{made.parents[1].relative_to(TOP)}/{made.name}"
    command = ["cmake", "--build", str(BUILD), "--target", again]
    subprocess.run(command, check=True, capture_output=True, timeout=HANG_S)
    assert (BUILD / again).read_bytes() == made.read_bytes(), ANEW


@pytest.mark.parametrize("made", OBJECTS, ids=NAMES)
def test_it_names_no_folder_of_where_it_was_made(made: Path) -> None:
    paths = re.findall(rb"\0(/[\w.-]+/[\w./-]+)", made.read_bytes())
    assert [path for path in paths if not path.startswith((b"/usr/include/", b"/sys/"))] == []
    assert b".debug_info" not in made.read_bytes()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What builds the programs, in a folder that a test may change."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("cmake", "profile", "lab", "include", "lib", "run", "chaos", "bench"):
        shutil.copytree(TOP / name, folder / name)
    for name in ("CMakeLists.txt", "sim"):
        (folder / name).symlink_to(TOP / name)
    return folder


def configured(folder: Path) -> str:
    """What CMake says where there is no clang."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for tool in TOOLS:
        if (found := shutil.which(tool)) and not (programs / tool).exists():
            (programs / tool).symlink_to(found)
    done = subprocess.run(
        ["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", *CONFIGURE],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the objects are for x86-64")
def test_without_clang_changed_sources_are_refused(copy: Path) -> None:
    """In one line, which names what has changed; the objects of the others are used."""
    if not (NATIVE / "overlock-profiler").exists():
        pytest.skip("bpftool, libbpf-dev or libdw-dev is not here")
    assert "without overlock-" not in configured(copy).replace("without overlock-sched,", "")
    with (copy / "profile/waits.h").open("a") as file:
        file.write("/* another */\n")
    (line,) = (one for one in configured(copy).splitlines() if "without overlock-profiler" in one)
    assert "clang-16 (profile/waits.h changed since waits.bpf.o was made)" in line
    ninja = (copy / "build/build.ninja").read_text()
    assert "native/overlock-profiler" not in ninja
    assert "native/overlock-hostd" in ninja


PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(archives C)
include({top}/cmake/bpf.cmake)
bpf_libraries(found {name} entry)
message(STATUS "found: ${{found}}.")
"""


@pytest.mark.parametrize(("name", "body"), [("whole", "0"), ("lacks", "nowhere()")])
def test_archives_that_cannot_be_linked_are_not_taken(tmp_path: Path, name: str, body: str) -> None:
    """Debian 13's libelf.a calls a part of elfutils that no package has."""
    (tmp_path / "a.c").write_text(f"int nowhere(void);\nint entry(void) {{ return {body}; }}\n")
    archive = tmp_path / f"lib{name}.a"
    subprocess.run(["cc", "-c", "a.c"], cwd=tmp_path, check=True)
    subprocess.run(["ar", "rc", archive, "a.o"], cwd=tmp_path, check=True)
    module = f"Name: {name}\nDescription: a\nVersion: 1\nLibs: -L{tmp_path} -l{name}\n"
    (tmp_path / f"{name}.pc").write_text(module)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(top=TOP, name=name))
    words = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "b")]
    words += [f"-DCMAKE_LIBRARY_PATH={tmp_path}"]
    said = subprocess.run(
        words,
        env=os.environ | {"PKG_CONFIG_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_S,
    ).stdout
    assert f"found: {archive if name == 'whole' else ''}." in said
