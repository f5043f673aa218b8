# SPDX-License-Identifier: MIT
"""Which operation of a lock a function is, by its name: `mylock_try_lock`, `TryAcquire`, `up`."""

import re

# Of struct ol_checked_lock; `wait` and `signal` may turn out to be a semaphore's.
ENDINGS = {
    "init": "init|initialize",
    "lock": "lock|acquire|enter|acquire lock|lock acquire|wrlock|wlock|writelock|write lock|"
    "wr lock|lock write|lock exclusive|acquire write|write acquire",
    "unlock": "unlock|release|leave|exit|release lock|lock release|un lock|wrunlock|wunlock|"
    "writeunlock|write unlock|wr unlock|unlock write|unlock exclusive|release write|write release",
    "trylock": "trylock|try lock|tryacquire|try acquire|tryenter|try enter|lock try",
    "read_lock": "rdlock|rlock|readlock|read lock|rd lock|lock read|lock shared|acquire read|"
    "read acquire|acquire shared",
    "read_unlock": "rdunlock|runlock|readunlock|read unlock|rd unlock|unlock read|unlock shared|"
    "release read|read release|release shared",
    "wait": "wait",
    "signal": "signal|notify one|notify|wake one",
    "broadcast": "broadcast|notify all|wake all",
    "down": "down|p",
    "up": "up|post|v",
}
OF_ENDING = {
    tuple(ending.split()): operation
    for operation, endings in ENDINGS.items()
    for ending in endings.split("|")
}
MOST_WORDS = max(map(len, OF_ENDING))
# `timed_lock` and `is_lock` are other operations, and `write_trylock` is not that of all.
OTHERWISE = {"timed", "is", "has", "no", "not", "for", "until", "rd", "read", "shared", "try"}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def operation(name: str) -> str | None:
    """The operation; None if the name says nothing."""
    words = [word.lower() for word in WORD.findall(name)]
    for count in range(min(MOST_WORDS, len(words)), 0, -1):
        if found := OF_ENDING.get(tuple(words[-count:])):
            return None if OTHERWISE & set(words[-count - 1 : -count]) else found
    return None
