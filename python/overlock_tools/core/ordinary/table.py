# SPDX-License-Identifier: MIT
"""The table of an ordinary lock, overlock_checked: a small file that includes the lock's."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from overlock_tools.core.ordinary import rust
from overlock_tools.core.ordinary.lock import ANSWERS, HOLDING, OPERATIONS, Function, Lock

CPP = "c++"
NAME = "overlock_checked"
SUFFIXES = {"c": ".c", CPP: ".cc", rust.RUST: ".rs"}
OBJECT = "struct checked"  # of a condition variable and its mutex; of a queue lock and its node
NODES = """/* Of each thread. The checker runs all contexts, each with at most two locks, in one. */
struct checked_node {
	@NODE@ node;
	bool used;
};
#ifdef __SANITIZE_THREAD__
enum { NODES = 2, CONTEXTS = 64 };
static struct checked_node all_nodes[CONTEXTS][NODES];
#define MY_NODES all_nodes[ol_checked_self()]
#else
enum { NODES = 64 };
static @LOCAL@ struct checked_node my_nodes[NODES];
#define MY_NODES my_nodes
#endif
/* Their bookkeeping is no step of the lock. */
#define UNSEEN __attribute__((no_sanitize("thread"), section(".text.overlock")))

UNSEEN static @NODE@ *take_node(void)
{
	struct checked_node *mine = MY_NODES, *end = mine + NODES;

	while (mine < end && mine->used)
		mine++;
	if (mine == end)
		ol_checked_fail("a thread holds more locks than there are nodes");
	mine->used = true;
	return &mine->node;
}

UNSEEN static void give_node(@NODE@ *node)
{
	((struct checked_node *)node)->used = false;
}"""

TEMPLATE = """#include "@FILE@"
#include <overlock/checked.h>

static void checked_lock(void *o)
{
#error "call the function that acquires the lock at o"
}

static void checked_unlock(void *o)
{
#error "call the function that releases the lock at o"
}

@EXTERN@const struct ol_checked_lock overlock_checked = {
	.name = "its name",
	.size = sizeof(struct its_type),
	.lock = checked_lock,
	.unlock = checked_unlock,
};
"""
TEMPLATE_RUST = """#[path = "@FILE@"]
mod lock;
#[allow(unused_imports)]
use lock::*;

include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/table.rs"));

unsafe extern "C" fn checked_lock(o: *mut core::ffi::c_void) {
    compile_error!("call the function that acquires the lock at o");
}

unsafe extern "C" fn checked_unlock(o: *mut core::ffi::c_void) {
    compile_error!("call the function that releases the lock at o");
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static overlock_checked: CheckedLock = CheckedLock {
    name: b"its name\\0".as_ptr(),
    size: core::mem::size_of::<ItsType>() as u32,
    lock: Some(checked_lock),
    unlock: Some(checked_unlock),
    ..NO_LOCK
};
"""


def written(lock: Lock, file: str, origin: str = "") -> str:
    """The whole file. `origin`: the file whose lines macros' steps get."""
    if lock.language == rust.RUST:
        return "\n".join(
            [f'#[path = "{file}"]', "mod lock;", "#[allow(unused_imports)]", "use lock::*;", "", ""]
        ) + _in_rust(lock)
    new = ["#include <new>"] if lock.constructed else []
    parts = [[f'#include "{file}"', "#include <overlock/checked.h>", *new]]
    if lock.mutex:
        of = [f"\t{lock.mutex.of} mutex;", f"\t{lock.of} condition;"]
        parts.append([f"{OBJECT} {{", *of, "};"])
    if lock.node:
        of = [f"\t{lock.of} lock;", f"\t{lock.node} *held; /* its holder's */"]
        parts.append([f"{OBJECT} {{", *of, "};"])
        local = "thread_local" if lock.language == CPP else "_Thread_local"
        parts.append([NODES.replace("@NODE@", lock.node).replace("@LOCAL@", local)])
    if lock.constructed or "init" in lock.listed:
        parts.append(list(_init(lock)))
    parts += [list(_function(lock, one, origin)) for one in _calls(lock).items()]
    parts.append(list(_table(lock)))
    return "".join("\n".join(part) + "\n\n" for part in parts).rstrip("\n") + "\n"


def language_of(file: Path) -> str:
    """Of a file in which no lock was found."""
    if file.suffix == SUFFIXES[rust.RUST]:
        return rust.RUST
    return "c" if file.suffix in (".c", ".h") else CPP


def remarks(file: str, language: str) -> str:
    """At the head of a file to edit."""
    fifo = "fifo: true" if language == rust.RUST else ".fifo = true"
    return (
        f"// The lock of {file} as `overlock check` and `overlock bench` take it.\n"
        "// Each function gets the address of a lock of `size` bytes, all zero before init.\n"
        "// Leave out operations that the lock does not have.\n"
        f"// `{fifo}` declares that it grants in the order of arrival.\n"
        "// overlock/checked.h describes all fields.\n"
    )


def template(file: str, language: str) -> str:
    """For a lock whose functions have other names: what to fill in does not compile."""
    if language == rust.RUST:
        return TEMPLATE_RUST.replace("@FILE@", file)
    external = 'extern "C" ' if language == CPP else ""
    return TEMPLATE.replace("@FILE@", file).replace("@EXTERN@", external)


def appended(lock: Lock, text: str) -> str:
    """A Rust file with its table at its end, which may use what is private."""
    body = "".join(f"    {line}\n" if line else "\n" for line in _in_rust(lock).splitlines())
    return f"{text}\nmod overlock_table {{\n    use super::*;\n{body}}}\n"


def _calls(lock: Lock) -> dict[str, Function]:
    """All but init, which is made otherwise."""
    own = dict(lock.mutex.operations) if lock.mutex else {}
    own |= lock.operations
    return {word: own[word] for word in OPERATIONS if word in own and word != "init"}


def _size_of(lock: Lock) -> str:
    return OBJECT if lock.mutex or lock.node else lock.of


def _place(lock: Lock, of: str) -> str:
    """The object, or the part of it that a function is for."""
    if not lock.mutex:
        return f"({of} *)o"
    part = "condition" if of == lock.of else "mutex"
    return f"&(({OBJECT} *)o)->{part}"


def _called(lock: Lock, one: Function, rest: tuple[str, ...]) -> str:
    place = _place(lock, one.of)
    if one.by == ".":
        return f"({place})->{one.name}({', '.join(rest)})"
    first = f"*({place})" if one.by == "*o" else place
    return f"{one.name}({', '.join([first, *rest])})"


def _init(lock: Lock) -> Iterator[str]:
    yield "static void checked_init(void *o)"
    yield "{"
    for part in filter(None, (lock.mutex, lock)):
        if part.constructed:
            place = _place(lock, part.of) if lock.mutex else "o"
            yield f"\tnew ({place}) {part.of}();"
        if "init" in part.operations:
            one = part.operations["init"]
            yield f"\t{_called(lock, one, one.rest)};"
    yield "}"


def _function(lock: Lock, one: tuple[str, Function], origin: str) -> Iterator[str]:
    word, f = one
    if lock.node and word in HOLDING:
        yield from _with_node(lock, word, f)
        return
    rest = tuple(_place(lock, of) if lock.mutex else of for of in f.rest)
    called = _called(lock, f, rest)
    at = [f'#line {f.line} "{origin}"'] if origin and f.line else []
    if word in ANSWERS:
        no = "!" if lock.zero_is_success else ""
        yield from (
            f"static bool checked_{word}(void *o)",
            "{",
            *at,
            f"\treturn {no}{called};",
            "}",
        )
    else:
        yield from (f"static void checked_{word}(void *o)", "{", *at, f"\t{called};", "}")


def _with_node(lock: Lock, word: str, f: Function) -> Iterator[str]:
    """Its node is in the lock's object while it is held."""
    node = "*node" if f.node_by == "*o" else "node"
    called = _called(lock, f, (node,) if f.node else ())
    object_ = f"(({OBJECT} *)o)"
    if word == "unlock":
        body = [f"\t{lock.node} *node = {object_}->held;", "", f"\t{called};", "\tgive_node(node);"]
    else:
        body = [f"\t{lock.node} *node = take_node();", ""]
        if word in ANSWERS:
            no = "" if lock.zero_is_success else "!"
            failed = ["\t\tgive_node(node);", "\t\treturn false;", "\t}"]
            body += [f"\tif ({no}{called}) {{", *failed]
        else:
            body.append(f"\t{called};")
        body.append(f"\t{object_}->held = node;")
        body += ["\treturn true;"] if word in ANSWERS else []
    kind = "bool" if word in ANSWERS else "void"
    yield from (f"UNSEEN static {kind} checked_{word}(void *o)", "{", *body, "}")


def _table(lock: Lock) -> Iterator[str]:
    external = 'extern "C" ' if lock.language == CPP else ""
    yield f"{external}const struct ol_checked_lock {NAME} = {{"
    yield f'\t.name = "{lock.name}",'
    yield f"\t.size = sizeof({_size_of(lock)}),"
    for word in _words(lock):
        yield f"\t.{word} = checked_{word},"
    yield "};"


def _words(lock: Lock) -> list[str]:
    init = ["init"] if lock.constructed or "init" in lock.listed else []
    return [*init, *_calls(lock)]


# Rust

RUST_ANSWERS: Mapping[str, str] = {"trylock": " -> bool"}


def _in_rust(lock: Lock) -> str:
    """An address serves as pointer and as reference."""
    lines = ['include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/table.rs"));', ""]
    parts = {lock.of: "0"}
    if lock.mutex:
        parts = {lock.mutex.of: "0", lock.of: f"core::mem::size_of::<{lock.mutex.of}>()"}
    of = dict(lock.mutex.operations) if lock.mutex else {}
    of |= lock.operations
    for word in (word for word in OPERATIONS if word in of):
        lines += _rust_function(lock, word, of[word])
    size = " + ".join(f"core::mem::size_of::<{one}>()" for one in parts)
    lines += ["#[no_mangle]", "#[allow(non_upper_case_globals)]"]
    lines += [f"pub static {NAME}: CheckedLock = CheckedLock {{"]
    lines += [f'    name: b"{lock.name}\\0".as_ptr(),', f"    size: ({size}) as u32,"]
    lines += [f"    {word}: Some(checked_{word})," for word in OPERATIONS if word in of]
    return "\n".join([*lines, "    ..NO_LOCK", "};"]) + "\n"


def _rust_function(lock: Lock, word: str, f: Function) -> list[str]:
    def place(of: str) -> str:
        if not lock.mutex or of == lock.mutex.of:
            return "core::mem::transmute(o)"
        return f"core::mem::transmute(o.cast::<u8>().add(core::mem::size_of::<{lock.mutex.of}>()))"

    rest = [place(one) if lock.mutex and one == lock.mutex.of else one for one in f.rest]
    called = f"{f.name}({', '.join([place(f.of), *rest])})"
    if word in ANSWERS and f.answer != "bool":
        called += " == 0" if lock.zero_is_success else " != 0"
    answer = RUST_ANSWERS.get(word, "")
    return [
        f'unsafe extern "C" fn checked_{word}(o: *mut core::ffi::c_void){answer} {{',
        f"    {called}" + ("" if answer else ";"),
        "}",
        "",
    ]


def panic_handler(text: str) -> str:
    """Of a file without std that has none: what the checker makes of a panic."""
    if not rust.NO_STD.search(text) or rust.PANICS.search(text):
        return ""
    return 'include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/panic.rs"));\n'
