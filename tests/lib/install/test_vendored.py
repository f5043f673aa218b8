# SPDX-License-Identifier: MIT
"""Into another project's sources: a copy of the headers, FetchContent, a lock in one file."""

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.model import one_header
from tests.conftest import TOP
from tests.lib.install.conftest import run
from tests.lib.install.test_install import EXAMPLES, VENDORED, compilers
from tests.lib.install.test_readme import program

WARNED = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
STANDARDS = {"c": ("c11", "c17"), "c++": ("c++11", "c++17", "c++20")}
USING = (TOP / "docs/using.md").read_text()


@pytest.fixture(scope="module")
def vendored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As README says: include/overlock and nothing else, no build before."""
    folder = tmp_path_factory.mktemp("vendored")
    shutil.copytree(TOP / "include/overlock", folder / "overlock")
    return folder


def test_the_snippet_of_readme_compiles_with_a_copy_of_the_headers(
    vendored: Path, tmp_path: Path
) -> None:
    source = tmp_path / "program.c"
    source.write_text(program())
    for compiler in compilers("c"):
        run(compiler, "-std=c11", *WARNED, "-I", vendored, "-c", source, "-o", tmp_path / "o")


def test_a_lock_that_needs_no_library_links_with_overlock_h(vendored: Path, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(VENDORED.format(id="ttas", ID="TTAS").replace("lock/ttas.h", "overlock.h"))
    for compiler in compilers("c"):
        run(compiler, "-O1", "-I", vendored, source, "-o", tmp_path / compiler)
        run(tmp_path / compiler)


@pytest.mark.parametrize("language", STANDARDS)
def test_a_lock_in_one_file(tmp_path: Path, defs: Any, language: str) -> None:
    """Nothing of the project is beside it."""
    for lock in defs["locks"]:
        name = lock["id"]
        text = one_header.text(name)
        (tmp_path / f"{name}.h").write_text(text)
        assert text.startswith("/* SPDX-License-Identifier: MIT OR GPL-2.0-only */\n")
        assert "#include <overlock" not in text
        alone = "alone" in lock["traits"]
        assert ("It needs no library." in text) == alone
        source = tmp_path / f"{name}.c"
        included = VENDORED.replace("<overlock/lock/{id}.h>", '"{id}.h"')
        source.write_text(included.format(id=name, ID=name.upper()))
        for compiler in compilers(language):
            for standard in STANDARDS[language] if alone else STANDARDS[language][:1]:
                made = ["-o", tmp_path / "a.out"] if alone else ["-fsyntax-only"]
                run(compiler, "-x", language, f"-std={standard}", *WARNED, source, *made)
                if alone:
                    run(tmp_path / "a.out")


def test_all_in_one_program(tmp_path: Path, defs: Any) -> None:
    names = [lock["id"] for lock in defs["locks"]]
    for name in names:
        (tmp_path / f"{name}.h").write_text(one_header.text(name))
    source = tmp_path / "all.c"
    source.write_text("".join(f'#include "{name}.h"\n' for name in names) + "int unit;\n")
    run("cc", "-std=c11", *WARNED, "-fsyntax-only", source)


def test_the_command_prints_it() -> None:
    locks = (sys.executable, "-m", "overlock_tools", "locks")
    assert run(*locks, "--header", "byte") == one_header.text("byte")
    assert "no lock named nobyte" in run(*locks, "--header", "nobyte", code=2)
    assert "either --json or" in run(*locks, "--json", "--header", "byte", code=2)


LISTS = """\
cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES C)
{fetch}
add_executable(counter counter.c)
target_link_libraries(counter PRIVATE overlock::{kind})
"""


@pytest.mark.parametrize("kind", ["overlock", "static"])
def test_fetch_content(tmp_path: Path, kind: str) -> None:
    """The lines of docs/using.md, with this checkout in place of a clone; it needs no C++."""
    found = re.search(r"```cmake\n(include\(FetchContent\)\n.*?)```", USING, re.DOTALL)
    assert found
    fetch = re.sub(r"GIT_REPOSITORY \S+ GIT_TAG \S+?\)", f'SOURCE_DIR "{TOP}")', found[1])
    assert str(TOP) in fetch
    shutil.copy(EXAMPLES / "counter.c", tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        LISTS.format(fetch=fetch.split("target_")[0], kind=kind)
    )
    build = tmp_path / "build"
    run("cmake", "-S", tmp_path, "-B", build, "-DCMAKE_CXX_COMPILER=/nowhere")
    run("cmake", "--build", build, "-j2", "--target", "counter")
    assert run(build / "counter") == "8000\n"
    assert ("liboverlock" in run("ldd", build / "counter")) == (kind == "overlock")


OLD = [
    ("c89", "overlock.h", "the headers need C11 (-std=c11)"),
    ("c++98", "overlock.h", "the headers need C++11 (-std=c++11)"),
    ("c++17", "overlock.hpp", "overlock.hpp needs C++20 (-std=c++20)"),
    ("c++17", "wait.hpp", "wait.hpp needs C++20 (-std=c++20)"),
]


@pytest.mark.parametrize(("standard", "header", "said"), OLD)
def test_an_old_language_is_refused_in_words(
    vendored: Path, tmp_path: Path, standard: str, header: str, said: str
) -> None:
    source = tmp_path / "old.c"
    source.write_text(f"#include <overlock/{header}>\n")
    language = standard.rstrip("0123456789")
    for compiler in compilers(language):
        options = ("-x", language, f"-std={standard}", "-I", vendored, "-fsyntax-only", source)
        errors = re.findall(r" error: (.*)", run(compiler, *options, code=1))
        assert f'"overlock: {said}' in errors[0]
        assert len(errors) == 1 or standard in {"c89", "c++98"}


@pytest.mark.parametrize("standard", ["c++11", "c++17"])
def test_functions_need_no_more_than_cxx11(vendored: Path, tmp_path: Path, standard: str) -> None:
    source = tmp_path / "old.cpp"
    source.write_text("#include <overlock/overlock.h>\n")
    for compiler in compilers("c++"):
        run(compiler, f"-std={standard}", *WARNED, "-I", vendored, "-fsyntax-only", source)


def test_the_list_of_headers_is_that_of_locks() -> None:
    """CMake writes it; who copies the headers without a build must have today's."""
    lists = {"locks.def": "OL_LOCK", "aliases.def": "OL_ALIAS"}
    named = [
        name
        for file, macro in lists.items()
        for name in re.findall(
            rf"^{macro}\((\w+),", (TOP / "include/overlock" / file).read_text(), re.MULTILINE
        )
    ]
    text = (TOP / "include/overlock/locks.h").read_text()
    assert re.findall(r"^#include <overlock/lock/(\w+)\.h>$", text, re.MULTILINE) == named
