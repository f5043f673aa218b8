# SPDX-License-Identifier: MIT
"""Every header by itself, as strictly as the compilers can; clang's thread-safety analysis."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.lib.install.conftest import Installed, run

STRICT = ["-fsyntax-only", "-pedantic-errors", "-Wall", "-Wextra", "-Werror"]
C = ["-x", "c", "-std=c11"]
CXX = ["-x", "c++", "-std=c++20"]
# Of another platform, for inside a lock, or with another library's headers (tests/lib/compat).
NOT_ALONE = {"linux.h", "poll.h", "yielding.h", "ck.h", "dpdk.h", "plock.h"}
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
    headers = [
        h for h in include.rglob("*.h") if h.name not in NOT_ALONE and h.parent.name != "foreign"
    ]
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


READS = """
#include <overlock/overlock.hpp>
static overlock::{lock} lock;
static int data __attribute__((guarded_by(lock)));
int use()
{{
    lock.lock_shared();
    int seen = data;
    lock.unlock_shared();
    if (lock.try_lock_shared()) {{
        seen += data;
        lock.unlock_shared();
    }}
    return seen;
}}
"""
MISREADS = {
    "writes": ("int seen = data;", "int seen = data++;"),
    "unguarded": ("    if (", "    seen += data;\n    if ("),
    "kept": ("        lock.unlock_shared();\n", ""),
}


@pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed")
def test_thread_safety_analysis_of_readers(installed: Installed, tmp_path: Path) -> None:
    source = tmp_path / "use.cpp"
    include = f"-I{installed.prefix / 'include'}"
    for lock in sharing(installed):
        careful = READS.format(lock=lock)
        source.write_text(careful)
        run("clang", *CXX, *ANALYSE, include, source)
        for mistake, (place, wrong) in MISREADS.items():
            source.write_text(careful.replace(place, wrong, 1))
            output = run("clang", *CXX, *ANALYSE, include, source, code=1)
            assert "-Wthread-safety-analysis" in output, mistake


CONCEPTS = """
#include <overlock/overlock.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>

#define OL_IS_timed true
#define OL_IS_waits false
#define OL_LOCK(id, gives_up, ...)                                            \\
    static_assert(overlock::lockable<overlock::id>);                          \\
    static_assert(overlock::timed_lockable<overlock::id> == OL_IS_##gives_up);\\
    static_assert(!std::is_copy_constructible_v<overlock::id>);               \\
    static_assert(!std::is_move_constructible_v<overlock::id>);               \\
    static_assert(std::is_nothrow_default_constructible_v<overlock::id>);     \\
    static_assert(sizeof(overlock::id) == sizeof(ol_##id##_t));               \\
    constinit overlock::id static_##id;
#include <overlock/locks.def>
#undef OL_LOCK

using namespace std::chrono_literals;

/* What the standard asks of any lock: two at once, handed on, waited with. */
template <overlock::lockable L> bool serves()
{
    L one, other;
    long sum = 0;
    bool ready = false;
    std::condition_variable_any changed;
    {
        std::scoped_lock both(one, other);
        if (one.try_lock() || !other.is_locked())
            return false;
    }
    std::thread adder([&] {
        for (int i = 0; i < 1000; i++) {
            std::scoped_lock both(other, one);
            sum++;
        }
        std::lock_guard guard(one);
        ready = true;
        changed.notify_all();
    });
    for (int i = 0; i < 1000; i++) {
        std::scoped_lock both(one, other);
        sum++;
    }
    std::unique_lock owner(one);
    changed.wait(owner, [&] { return ready; });
    adder.join();
    if (!owner.owns_lock() || !one.is_locked() || sum != 2000)
        return false;
    owner.unlock();
    return owner.try_lock();
}

template <overlock::timed_lockable L> bool gives_up()
{
    L lock;
    std::unique_lock taken(lock);
    const auto until = std::chrono::steady_clock::now() + 2ms;
    if (lock.try_lock_for(-1s) || lock.try_lock_until(until))
        return false;
    if (std::chrono::steady_clock::now() < until)
        return false;
    taken.unlock();
    return lock.try_lock_for(std::chrono::hours::max()) && lock.is_locked();
}

int main()
{
    int place = 0, wrong = 0;
    std::scoped_lock all(static_tas, static_ticket, static_mcs);
#define OL_CHECK_timed(id) gives_up<overlock::id>()
#define OL_CHECK_waits(id) true
#define OL_LOCK(id, gives_up, ...)                                \\
    place++;                                                      \\
    if (!serves<overlock::id>() || !OL_CHECK_##gives_up(id))      \\
        wrong = place;
#include <overlock/locks.def>
    return wrong;
}
"""
MODES = {"usual": [], "bare": ["-fno-exceptions", "-fno-rtti"]}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_locks_are_lockables(
    installed: Installed, tmp_path: Path, compiler: str, mode: str
) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source, program = tmp_path / "concepts.cpp", tmp_path / "concepts"
    source.write_text(CONCEPTS)
    flags = [*MODES[mode], *installed.flags("--cflags", "--libs")]
    run(compiler, "-std=c++20", "-Wall", "-Werror", source, "-o", program, "-pthread", *flags)
    run(program, env=installed.env)


# What readers may share is said by the headers alone: `{sharing}` are their locks.
SHARED = """
#include <overlock/overlock.hpp>
#include <shared_mutex>

constexpr bool shares(const char *id)
{{
    for (const char *sharing : {{ {sharing} }})
        if (!__builtin_strcmp(id, sharing))
            return true;
    return false;
}}
#define OL_LOCK(id, ...) static_assert(overlock::shared_lockable<overlock::id> == shares(#id));
#include <overlock/locks.def>
#undef OL_LOCK

template <class L> void use(L &lock)
{{
    if constexpr (overlock::shared_lockable<L>)
        std::shared_lock reader(lock);
}}
#define OL_LOCK(id, ...) template void use(overlock::id &);
#include <overlock/locks.def>
"""


def sharing(installed: Installed) -> list[str]:
    headers = (installed.prefix / "include/overlock/lock").glob("*.h")
    found = [h.stem for h in headers if f" ol_{h.stem}_read_lock(" in h.read_text()]
    assert found
    return found


def shared(installed: Installed) -> str:
    return SHARED.format(sharing=", ".join(f'"{lock}"' for lock in sharing(installed)))


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_readers_share_where_the_header_says(
    installed: Installed, tmp_path: Path, compiler: str
) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "shared.cpp"
    source.write_text(shared(installed))
    run(compiler, *CXX, *STRICT, f"-I{installed.prefix / 'include'}", source)


# What a program may have of a lock by the name that it had, from the lock's own header or from all.
FORMER = """
#include <overlock/{header}>
#ifdef __cplusplus
static overlock::overlock another;
static_assert(sizeof(another) == sizeof(ol_overlock_t));
#endif
static ol_overlock_t one = OL_OVERLOCK_INIT;
int main(void)
{{
    ol_overlock_lock(&one);
    bool wrong = ol_overlock_trylock(&one) || ol_overlock_timedlock(&one, ol_now()) ||
                 !ol_overlock_is_locked(&one) || ol_overlock_is_contended(&one);
    ol_overlock_unlock(&one);
{more}
    return wrong || ol_overlock_is_locked(&one);
}}
"""
MORE = """
    ol_cond_t cond = OL_COND_INIT;
    wrong |= ol_overlock_lock_or_fail(&one, OL_NEVER) != 0;
    wrong |= ol_overlock_cond_timedwait(&cond, &one, ol_now());
    wrong |= ol_overlock_unlock_or_fail(&one) != 0;
"""


@pytest.mark.parametrize(
    ("header", "more"), [("lock/overlock.h", ""), ("overlock.h", MORE), ("overlock.hpp", MORE)]
)
def test_names_that_a_lock_had(
    installed: Installed, tmp_path: Path, header: str, more: str
) -> None:
    source, program = tmp_path / "former.c", tmp_path / "former"
    source.write_text(FORMER.format(header=header, more=more))
    compiler = ["g++", *CXX] if header.endswith("pp") else ["gcc", *C]
    flags = installed.flags("--cflags", "--libs")
    run(*compiler, "-Wall", "-Wextra", "-Werror", source, "-x", "none", "-o", program, *flags)
    run(program, env=installed.env)


# A function that is not to exist has a name that is free for something else.
NOT_TIMED = """
#include <overlock/overlock.h>
#define OL_NAME_timed(id)
#define OL_NAME_waits(id) enum { ol_##id##_timedlock };
#define OL_LOCK(id, gives_up, ...) OL_NAME_##gives_up(id)
#include <overlock/locks.def>
#undef OL_LOCK
#define OL_USE_timed(id) bool (*const use_##id)(ol_##id##_t *, ol_ticks_t) = ol_##id##_timedlock;
#define OL_USE_waits(id)
#define OL_LOCK(id, gives_up, ...) OL_USE_##gives_up(id)
#include <overlock/locks.def>
"""


def test_c_has_timedlock_exactly_where_the_list_says(installed: Installed, tmp_path: Path) -> None:
    source = tmp_path / "timed.c"
    source.write_text(NOT_TIMED)
    run("gcc", *C, *STRICT, f"-I{installed.prefix / 'include'}", source)


# Of the headers: which, what is changed, and what notices.
BROKEN_HEADERS = {
    "a lock that can give up though the list says no": (
        "lock/mcs.h",
        "#endif",
        "static inline bool ol_mcs_timedlock(ol_mcs_t *l, ol_ticks_t until)\n"
        "{ (void)until; return ol_mcs_trylock(l); }\n#endif",
        NOT_TIMED,
    ),
    "a lock that cannot though the list says so": (
        "locks.def",
        "OL_LOCK(mcs, waits",
        "OL_LOCK(mcs, timed",
        NOT_TIMED,
    ),
    "C++: timed functions for all": (
        "overlock.hpp",
        "		requires gives_up<Traits>\n",
        "",
        CONCEPTS,
    ),
    "C++: timed functions for none": (
        "overlock.hpp",
        "OL_TRAITS_##timing(id)",
        "",
        CONCEPTS,
    ),
    "C++: readers' functions for all": (
        "overlock.hpp",
        "		requires has_readers<Traits>\n",
        "",
        SHARED,
    ),
    "C++: readers' functions for none": (
        "overlock.hpp",
        "OL_TRAITS_read(id, trylock)",
        "",
        SHARED,
    ),
    "C++: a constructor that runs": (
        "overlock.hpp",
        "constexpr lock_of() noexcept = default;",
        "lock_of() noexcept { }",
        CONCEPTS,
    ),
    "C++: locks that can be copied": (
        "overlock.hpp",
        "lock_of(const lock_of &) = delete;",
        "lock_of(const lock_of &) = default;",
        CONCEPTS,
    ),
    "C++: a throw": (
        "overlock.hpp",
        "		Traits::lock(&raw);",
        "		if (is_locked())\n			throw 1;\n		Traits::lock(&raw);",
        CONCEPTS,
    ),
}


BROKEN_HEADERS["none"] = ("overlock.hpp", "#endif", "#endif", CONCEPTS)


@pytest.mark.parametrize("broken", BROKEN_HEADERS)
def test_broken_headers_are_noticed(installed: Installed, tmp_path: Path, broken: str) -> None:
    name, place, wrong, text = BROKEN_HEADERS[broken]
    include = tmp_path / "include"
    shutil.copytree(installed.prefix / "include", include)
    header = include / "overlock" / name
    before, found, after = header.read_text().rpartition(place)
    assert found
    header.write_text(
        header.read_text().replace(place, wrong)
        if name == "overlock.hpp"
        else before + wrong + after
    )
    source = tmp_path / "use.c"
    source.write_text(shared(installed) if text is SHARED else text)
    language = C if text is NOT_TIMED else [*CXX, *MODES["bare"]]
    code = 0 if broken == "none" else 1
    run("gcc", *language, "-fsyntax-only", "-Werror", f"-I{include}", source, code=code)


# lib/ABI.md: tunables, and fields of ol_world, are added without moving what is there.
ROOM = """	union {		      /* room: tunables are added without moving what comes after them */
		struct ol_tuning tuning; /* times in ticks */
		uint64_t tuning_room[64];
	};
"""
WITHOUT_ROOM = "	struct ol_tuning tuning;\n"


def layout(folder: Path, tunables: int, member: str) -> str:
    """Where a field lies that was added to ol_world, after so many more tunables."""
    shutil.copytree(TOP / "include", folder)
    port = folder / "overlock/port/user.h"
    text = port.read_text()
    assert ROOM in text
    port.write_text(text.replace(ROOM, member + "	uint32_t later;\n"))
    more = "".join(f'OL_TUNABLE(t{i}, count, 0, 0, 1, any, "", "")\n' for i in range(tunables))
    with (folder / "overlock/tunables.def").open("a") as tunable_list:
        tunable_list.write(more)
    source = folder / "layout.c"
    source.write_text(
        "#include <overlock/port.h>\n#include <stdio.h>\n"
        'int main(void) { printf("%zu\\n", offsetof(struct ol_world, later)); }\n'
    )
    made = folder / "layout"
    run("gcc", "-std=gnu11", "-w", f"-I{folder}", source, "-o", made)
    return run(made)


@pytest.mark.parametrize(("member", "moves"), [(ROOM, False), (WITHOUT_ROOM, True)])
def test_a_new_tunable_moves_no_later_field(tmp_path: Path, member: str, moves: bool) -> None:
    """Fails, as the mutant does, where the tunables have no room to grow in."""
    old, new = layout(tmp_path / "old", 0, member), layout(tmp_path / "new", 1, member)
    assert (old != new) == moves
