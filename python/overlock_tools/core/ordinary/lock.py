# SPDX-License-Identifier: MIT
"""A lock that was found in a file: its type and its operations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from overlock_tools.core.system.errors import Fail

WRAP = "overlock new --wrap"
BY_TYPE = "choose one: --type {}"
# As they are listed; those of struct ol_checked_lock.
OPERATIONS = (
    *("init", "lock", "unlock", "trylock", "read_lock", "read_unlock"),
    *("wait", "signal", "broadcast", "down", "up"),
)
ANSWERS = ("trylock",)
HOLDING = ("lock", "unlock", "trylock")  # may get a node


@dataclass(frozen=True)
class Function:
    """A function, method or macro whose first argument is the lock."""

    name: str  # as it is called
    operation: str
    of: str  # the lock's type, as it is declared
    by: str = "*o"  # how the lock is passed: `o`: its address, `*o`: itself, `.`: a method
    rest: tuple[str, ...] = ()  # further arguments: values, or the name of another lock's type
    node: str = ""  # the type of a second argument, the caller's node in a queue
    node_by: str = "o"
    answer: str = ""  # the type that it returns
    line: int = 0  # of a macro, whose steps have no other line
    in_file: bool = True  # not only in a file that it includes
    defined: bool = True

    @property
    def says_zero(self) -> bool:
        """An answer that may be 0 for success."""
        return self.answer not in ("", "void", "bool", "_Bool")


@dataclass(frozen=True)
class Lock:
    of: str  # its type
    operations: dict[str, Function]
    language: str = "c"  # c, c++ or rust
    constructed: bool = False
    mutex: "Lock | None" = None  # of a condition variable that waits with another lock
    bases: tuple[str, ...] = field(default=(), compare=False)

    @property
    def name(self) -> str:
        """Without `struct` and namespaces."""
        return self.of.split()[-1].rpartition("::")[2].partition("<")[0]

    @property
    def kind(self) -> str:
        if "wait" in self.operations:
            return "condition variable"
        return "semaphore" if "down" in self.operations else "lock"

    @property
    def node(self) -> str:
        """The type of the nodes that its callers bring."""
        return next((f.node for f in self.operations.values() if f.node), "")

    @property
    def listed(self) -> dict[str, str]:
        """The functions by operation."""
        own = dict(self.mutex.listed) if self.mutex else {}
        own |= {word: f.name for word, f in self.operations.items()}
        return {word: own[word] for word in OPERATIONS if word in own}

    @property
    def zero_is_success(self) -> bool:
        """Of trylock: if lock answers, too, as in POSIX; Linux's answers are true."""
        answers, lock = self.operations.get("trylock"), self.operations.get("lock")
        return bool(answers and lock and answers.says_zero and lock.says_zero)

    def told(self, file: Path) -> str:
        """In one line."""
        beside = self.mutex.of if self.mutex else self.node
        with_mutex = f" with {beside}" if beside else ""
        names = ", ".join(self.listed.values())
        zero = " (0: acquired)" if self.zero_is_success else ""
        return f"{file.name}: checks {self.of}{with_mutex}: {names}{zero}"


def of_functions(functions: Iterable[Function], language: str) -> list[Lock]:
    """The functions by their locks. The plainest of two for one operation is it."""
    found: dict[str, dict[str, Function]] = {}
    for one in functions:
        known = found.setdefault(one.of, {}).get(one.operation)
        if known is None or _plainness(one) < _plainness(known):
            found[one.of][one.operation] = one
    locks = [Lock(of, _settled(operations), language) for of, operations in found.items()]
    return _with_mutexes([lock for lock in locks if _is_whole(lock)])


def _plainness(one: Function) -> tuple[bool, int, bool, int]:
    return not one.defined, len(one.rest) + bool(one.node), one.name.startswith("_"), len(one.name)


def _settled(found: dict[str, Function]) -> dict[str, Function]:
    """`wait` with `post`, or with a `signal` and nothing that wakes all, is a semaphore's."""
    alone = "wait" in found and "lock" not in found and not found["wait"].rest
    if alone and "broadcast" not in found and ("up" in found or "signal" in found):
        found["down"] = found.pop("wait")
        found.setdefault("up", found.get("signal", found["down"]))
        found.pop("signal", None)
    return {word: found[word] for word in OPERATIONS if word in found}


def _is_whole(lock: Lock) -> bool:
    has = lock.operations.keys()
    if len({f.node for f in lock.operations.values() if f.node}) > 1:
        return False
    return {"lock", "unlock"} <= has or {"down", "up"} <= has or {"wait", "signal"} <= has


def _with_mutexes(locks: Sequence[Lock]) -> list[Lock]:
    """A condition variable brings the lock that it waits with."""
    by_type = {lock.of: lock for lock in locks}
    found = []
    for lock in locks:
        wait = lock.operations.get("wait")
        if wait and wait.rest:
            mutex = by_type.get(wait.rest[0])
            if mutex:
                found.append(replace(lock, mutex=mutex))
        elif not wait or "lock" in lock.operations:
            found.append(lock)
    return found


def choose(file: Path, locks: Sequence[Lock], name: str, how: str = BY_TYPE) -> Lock:
    """The one of that name, or the only one."""
    if name:
        for lock in locks:
            if name in (lock.name, lock.of):
                return _checked(file, lock)
        raise Fail(f"--type {name}: {file} has no such lock; expected {_alternatives(locks)}")
    parts = {part for lock in locks for part in (*lock.bases, lock.mutex and lock.mutex.of)}
    outermost = [lock for lock in locks if lock.of not in parts]
    inside = [lock for lock in outermost if any(f.in_file for f in lock.operations.values())]
    some = inside or outermost or list(locks)
    if len(some) != 1:
        raise Fail(
            f"{file} has {len(some)} locks, {_and([lock.of for lock in some])}; "
            + how.format(some[0].name)
        )
    return _checked(file, some[0])


def _checked(file: Path, lock: Lock) -> Lock:
    for one in lock.operations.values():
        if not one.defined:
            raise Fail(
                f"{file} declares {one.name}() and does not define it; give the file that does"
            )
    return lock


def _alternatives(locks: Sequence[Lock]) -> str:
    return " or ".join(lock.name for lock in locks) or f"one with a table: {WRAP} FILE"


def _and(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + f" and {words[-1]}"
