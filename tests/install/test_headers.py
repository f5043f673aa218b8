# SPDX-License-Identifier: MIT
"""Every header by itself, as strictly as the compilers can; clang's thread-safety analysis."""

import shutil
from pathlib import Path

import pytest
from conftest import Installed, run

STRICT = ["-fsyntax-only", "-pedantic-errors", "-Wall", "-Wextra", "-Werror"]
C = ["-x", "c", "-std=c11"]
CXX = ["-x", "c++", "-std=c++20"]
FRONT_ENDS = [
    pytest.param(compiler, language, id=f"{compiler}-{language[-1][5:]}")
    for compiler in (
        "gcc",
        "clang",
        "aarch64-linux-gnu-gcc",
        "clang --target=aarch64-linux-gnu",
    )
    for language in (C, CXX)
]


@pytest.mark.parametrize(("compiler", "language"), FRONT_ENDS)
def test_headers_are_strictly_standard(
    installed: Installed, tmp_path: Path, compiler: str, language: list[str]
) -> None:
    command = compiler.split()
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    include = installed.prefix / "include"
    headers = [h for h in include.rglob("*.h") if h.name != "linux.h"]
    if language is CXX:
        headers += include.rglob("*.hpp")
    assert len(headers) > 10
    source = tmp_path / "header.c"
    for header in headers:
        source.write_text(f"#include <{header.relative_to(include)}>\nint unit;\n")
        run(*command, *language, *STRICT, f"-I{include}", source)
        run(*command, *language, *STRICT, "-DOL_COUNTED", f"-I{include}", source)


CAREFUL = """
#include <overlock/overlock.h>
static ol_{lock}_t lock;
static int data __attribute__((guarded_by(lock)));
int use(void)
{{
    int seen;

    ol_{lock}_lock(&lock);
    seen = data++;
    ol_{lock}_unlock(&lock);
    if (ol_{lock}_trylock(&lock)) {{
        data++;
        ol_{lock}_unlock(&lock);
    }}
    return seen;
}}
"""
CAREFUL_CXX = """
#include <overlock/overlock.hpp>
static overlock::{lock} lock;
static int data __attribute__((guarded_by(lock)));
int use()
{{
    lock.lock();
    int seen = data++;
    lock.unlock();
    if (lock.try_lock()) {{
        data++;
        lock.unlock();
    }}
    return seen;
}}
"""
MISTAKES = {
    "unguarded": ("    if (", "    data++;\n    if ("),
    "twice": ("seen = data++;", "seen = data++;\n    {again}"),
    "kept": ("    return seen;", "    {again}\n    return seen;"),
}
ANALYSE = ["-fsyntax-only", "-Wthread-safety", "-Werror"]


@pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed")
@pytest.mark.parametrize("language", [C, CXX], ids=["c", "c++"])
@pytest.mark.parametrize("lock", ["ticket", "preemptable_ticket", "mcs"])
def test_thread_safety_analysis(
    installed: Installed, tmp_path: Path, lock: str, language: list[str]
) -> None:
    careful = (CAREFUL if language is C else CAREFUL_CXX).format(lock=lock)
    again = f"ol_{lock}_lock(&lock);" if language is C else "lock.lock();"
    source = tmp_path / "use.c"
    include = f"-I{installed.prefix / 'include'}"
    source.write_text(careful)
    run("clang", *language, *ANALYSE, include, source)
    for mistake, (place, wrong) in MISTAKES.items():
        source.write_text(careful.replace(place, wrong.format(again=again), 1))
        output = run("clang", *language, *ANALYSE, include, source, code=1)
        assert "-Wthread-safety-analysis" in output, mistake


CONCEPTS = """
#include <overlock/overlock.hpp>
#include <condition_variable>
#include <mutex>

template <class L> concept lockable = requires(L l) { l.lock(); l.unlock(); l.try_lock(); };
template <class L> concept timed = requires(L l) {
    { l.try_lock_for(std::chrono::seconds(1)) } -> std::same_as<bool>;
    { l.try_lock_until(std::chrono::system_clock::now()) } -> std::same_as<bool>;
};
#define OL_IS_timed true
#define OL_IS_waits false
#define OL_LOCK(id, gives_up, ...)                                      \\
    static_assert(lockable<overlock::id>);                              \\
    static_assert(timed<overlock::id> == OL_IS_##gives_up);             \\
    static_assert(!std::is_copy_constructible_v<overlock::id>);         \\
    constinit overlock::id static_##id;
#include <overlock/locks.def>

int main()
{
    using namespace std::chrono_literals;
    std::scoped_lock all(static_tas, static_ticket, static_mcs);
    std::unique_lock<overlock::preemptable_ticket> owner(static_preemptable_ticket);
    std::condition_variable_any condition;
    condition.wait_for(owner, 1ms);
    overlock::byte taken;
    taken.lock();
    const auto until = std::chrono::steady_clock::now() + 2ms;
    if (taken.try_lock_for(-1s) || taken.try_lock_until(until))
        return 1;
    if (std::chrono::steady_clock::now() < until)
        return 2;
    taken.unlock();
    if (!taken.try_lock_for(std::chrono::hours::max()) || !taken.is_locked())
        return 3;
    return static_tas.is_locked() && !taken.is_contended() ? 0 : 4;
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_locks_are_lockables(installed: Installed, tmp_path: Path, compiler: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source, program = tmp_path / "concepts.cpp", tmp_path / "concepts"
    source.write_text(CONCEPTS)
    flags = installed.flags("--cflags", "--libs")
    run(compiler, "-std=c++20", "-Wall", "-Werror", source, "-o", program, "-pthread", *flags)
    run(program, env=installed.env)
