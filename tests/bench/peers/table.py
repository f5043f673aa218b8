# SPDX-License-Identifier: MIT
"""The table of a plug-in, bench/peer.h, as ctypes sees it."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, takewhile
from pathlib import Path
from threading import Thread
from typing import Any

Lock = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Try = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
Timed = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64)


class Ops(ctypes.Structure):
    """struct ol_lock_ops"""

    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("id", "source", "what")),
        *((name, ctypes.c_uint32) for name in ("abi", "size", "align", "traits")),
        *(("lock", Lock), ("trylock", Try), ("timedlock", Timed), ("unlock", Lock)),
        *(("is_locked", Try), ("is_contended", Try)),
    )


class Entry(ctypes.Structure):
    """struct ol_peer"""

    _fields_ = (("ops", ctypes.POINTER(Ops)), ("init", Lock))


def entries(plugin: Path) -> dict[str, Entry]:
    """By id, in the table's order."""
    first = Entry.in_dll(ctypes.CDLL(str(plugin)), "ol_peers")
    found = {}
    table = ctypes.cast(ctypes.byref(first), ctypes.POINTER(Entry))
    for entry in takewhile(lambda entry: entry.ops, (table[i] for i in count())):
        found[entry.ops.contents.id.decode()] = entry
    return found


class Made:
    """A lock of its own in memory aligned as it wants to be. Calls let other threads run."""

    def __init__(self, entry: Entry) -> None:
        ops = entry.ops.contents
        self._memory = ctypes.create_string_buffer(ops.size + ops.align)
        start = ctypes.addressof(self._memory)
        self._at = start + -start % ops.align
        self._ops = ops
        entry.init(self._at)

    def lock(self) -> None:
        self._ops.lock(self._at)

    def trylock(self) -> bool:
        return bool(self._ops.trylock(self._at))

    def unlock(self) -> None:
        self._ops.unlock(self._at)

    def is_free(self) -> bool:
        """As another thread finds it."""
        return bool(in_another_thread(self._taken_and_left))

    def _taken_and_left(self) -> bool:
        taken = self.trylock()
        if taken:
            self.unlock()
        return taken


@contextmanager
def elsewhere(function: Any) -> Iterator[list[Any]]:
    """Runs it in another thread; what it returned is in the list once the context is left."""
    returned: list[Any] = []
    thread = Thread(target=lambda: returned.append(function()))
    thread.start()
    yield returned
    thread.join()


def in_another_thread(function: Any) -> Any:
    with elsewhere(function) as returned:
        pass
    return returned[0]
