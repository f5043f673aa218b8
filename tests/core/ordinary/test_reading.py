# SPDX-License-Identifier: MIT
"""What is found in files, and what is not."""

import shutil
import subprocess
from pathlib import Path

import pytest

from overlock_tools.core.ordinary import compiler, table, wrapping
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail


def taken(folder: Path, name: str, text: str, of: str = "") -> str:
    file = folder / name
    file.write_text(text)
    lock = wrapping.lock_of(file, of)
    return lock.told(file).partition("checks ")[2]


OPERATIONS = "void x_lock(%s) {}\nvoid x_unlock(%s) {}\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        # A struct and its typedefs are one type.
        (
            "a.c",
            "typedef struct x { int v; } x_t;\nvoid x_lock(x_t *l) {}\n"
            "void x_unlock(volatile struct x *l) {}\n",
            "struct x: x_lock, x_unlock",
        ),
        ("a.c", "typedef int x;\n" + OPERATIONS % ("x *l", "x *l"), "x: x_lock, x_unlock"),
        # Of two for one operation the plainer one is it.
        (
            "a.c",
            "struct x { int v; };\nint timeout;\nvoid __x_lock(struct x *l) {}\n"
            + OPERATIONS % ("struct x *l", "struct x *l"),
            "struct x: x_lock, x_unlock",
        ),
        # Linux's trylock answers 1; POSIX's 0, as its lock does.
        (
            "a.c",
            "struct x { int v; };\nint x_trylock(struct x *l) { return 1; }\n"
            + OPERATIONS % ("struct x *l", "struct x *l"),
            "struct x: x_lock, x_unlock, x_trylock",
        ),
        (
            "a.c",
            "struct x { int v; };\nint x_trylock(struct x *l) { return 0; }\n"
            "int x_lock(struct x *l) { return 0; }\nint x_unlock(struct x *l) { return 0; }\n",
            "struct x: x_lock, x_unlock, x_trylock (0: acquired)",
        ),
        # Functions of C++, by reference, in a namespace.
        (
            "a.cc",
            "namespace n { struct x { int v; };\n" + OPERATIONS % ("x &l", "x &l") + "}\n",
            "n::x: n::x_lock, n::x_unlock",
        ),
        # A header in C++ that is called .h.
        (
            "a.h",
            "class X { public: void lock() {} void unlock() {} };\n",
            "X: lock, unlock",
        ),
        # What is private, and what has no constructor without arguments, is none.
        (
            "a.cc",
            "class X { public: void lock() {} void unlock() {} };\n"
            "class Private { void lock() {} void unlock() {} };\n"
            "class Guard { public: Guard(X &x); void lock() {} void unlock() {} };\n",
            "X: lock, unlock",
        ),
        # Inherited operations are the class's own.
        (
            "a.cc",
            "struct Base { void lock() {} void unlock() {} };\n"
            "struct X : Base { bool try_lock() { return true; } };\n",
            "X: lock, unlock, try_lock",
        ),
        # A template without defaults, by its alias.
        (
            "a.cc",
            "template <int N> struct X { void lock() {} void unlock() {} };\nusing Y = X<4>;\n",
            "Y: lock, unlock",
        ),
        # A queue lock whose callers bring nodes.
        (
            "a.cc",
            "struct Node { Node *next; };\n"
            "struct X { void lock(Node &n) {} void unlock(Node &n) {} };\n",
            "X with Node: lock, unlock",
        ),
        # A semaphore by its signal.
        (
            "a.c",
            "struct s { int v; };\nvoid s_wait(struct s *s) {}\nvoid s_signal(struct s *s) {}\n",
            "struct s: s_wait, s_signal",
        ),
        # A condition variable that waits with a lock of its own type.
        (
            "a.c",
            "struct x { int v; };\nvoid x_wait(struct x *c, struct x *m) {}\n"
            "void x_signal(struct x *c) {}\n" + OPERATIONS % ("struct x *l", "struct x *l"),
            "struct x with struct x: x_lock, x_unlock, x_wait, x_signal",
        ),
        # Rust: comments are no code, attributes in between and options of pointers are.
        (
            "a.rs",
            '// #[no_mangle] pub extern "C" fn y_lock(l: *mut Y) {}\n'
            "pub struct X(u32);\n"
            '#[no_mangle]\n#[inline(never)]\npub unsafe extern "C" fn x_lock(l: *const X) {}\n'
            '#[no_mangle]\npub extern "C" fn x_unlock(l: Option<&mut X>) {}\n',
            "X: x_lock, x_unlock",
        ),
    ],
)
def test_lock_is_found(tmp_path: Path, name: str, text: str, said: str) -> None:
    assert taken(tmp_path, name, text) == said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.c", "#include <pthread.h>\npthread_mutex_t m;\n"),
        ("a.c", "struct x { int v; };\nvoid x_lock(struct x *l) {}\n"),
        ("a.c", "struct x { int v; };\n" + OPERATIONS % ("struct x l", "struct x l")),
        ("a.cc", "template <int N> struct X { void lock() {} void unlock() {} };\n"),
        (
            "a.c",  # a condition variable without its mutex
            "struct c { int v; };\nvoid c_wait(struct c *c, int *m) {}\n"
            "void c_signal(struct c *c) {}\nvoid c_broadcast(struct c *c) {}\n",
        ),
        ("a.rs", 'pub extern "C" fn x_lock(l: *mut X) {}\nfn x_unlock(l: *mut X) {}\n'),
    ],
)
def test_no_lock_is_found(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(Fail, match="neither a table"):
        taken(tmp_path, name, text)


def test_lock_of_the_file_comes_before_those_that_it_includes(tmp_path: Path) -> None:
    (tmp_path / "spin.h").write_text("struct spin { int v; };\n" + OPERATIONS.replace("x", "s"))
    inner = "struct spin { int v; };\nstatic void s_lock(struct spin *l) {}\n"
    (tmp_path / "spin.h").write_text(inner + "static void s_unlock(struct spin *l) {}\n")
    text = '#include "spin.h"\nstruct x { struct spin s; };\n'
    text += OPERATIONS % ("struct x *l", "struct x *l")
    assert taken(tmp_path, "a.c", text) == "struct x: x_lock, x_unlock"
    assert taken(tmp_path, "a.c", text, "spin") == "struct spin: s_lock, s_unlock"


@pytest.mark.parametrize(
    ("text", "ordinary"),
    [
        ("#include <overlock/port.h>\n", False),
        ("static inline void ol_mine_lock(ol_mine_t *l) {}\n", False),
        ("#include <stdatomic.h>\n", True),
    ],
)
def test_header_for_the_platform_layer_is_none(tmp_path: Path, text: str, ordinary: bool) -> None:
    header = tmp_path / "mine.h"
    header.write_text(text)
    assert wrapping.is_ordinary(str(header)) == ordinary
    assert not wrapping.is_ordinary(str(tmp_path / "absent.h"))


def test_error_of_the_linker_is_told() -> None:
    said = "/usr/bin/ld: a.o: in function `f':\na.c:3: undefined reference to `helper'\n"
    assert compiler.first_error(said, Path("a.c")).startswith("helper is not defined")


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_table_of_a_class_with_nodes_compiles(tmp_path: Path) -> None:
    file = tmp_path / "a.cc"
    file.write_text(
        "struct Node { Node *next = nullptr; };\n"
        "class X { public: void lock(Node &n) {} bool try_lock(Node &n) { return true; }\n"
        "void unlock(Node &n) {} };\n"
    )
    made = wrapping.made_for(file, wrapping.lock_of(file), tmp_path)
    command = ["g++", "-std=gnu++20", "-Wall", "-Werror", "-fsyntax-only"]
    command += [f"-I{native.include()}", str(made)]
    assert subprocess.run(command, check=False).returncode == 0


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_init_gets_what_it_needs(tmp_path: Path) -> None:
    """Zero and null for further parameters: the table compiles without a warning."""
    file = tmp_path / "a.c"
    file.write_text(
        "struct x { int v; };\nvoid x_init(struct x *l, int n, const char *name) {}\n"
        + OPERATIONS % ("struct x *l", "struct x *l")
    )
    made = wrapping.made_for(file, wrapping.lock_of(file), tmp_path)
    assert "x_init((struct x *)o, 0, 0);" in made.read_text()
    assert table.NAME in made.read_text()
    command = ["gcc", "-Wall", "-Werror", "-fsyntax-only", f"-I{native.include()}", str(made)]
    assert subprocess.run(command, check=False).returncode == 0
