# SPDX-License-Identifier: MIT
"""For gdb: who holds a mutex of a program under `overlock run`, and who waits for it.

    (gdb) source /usr/local/share/overlock/overlock-gdb.py
    (gdb) overlock-mutex &queue.lock
    (gdb) overlock-mutex                  every mutex that a thread waits for

It reads the preloaded library's own variables by its debug information, and calls nothing.
"""

import gdb

# Functions of the library that wait, and the names they have for the mutex or its lock.
WAIT = ("ol_run_mutex_lock", "ol_run_mutex_timedlock", "lock_other")
WAIT += ("acquire", "acquire_first", "do_lock")
NAMES = ("m", "l", "mutex")
KINDS = ("normal", "recursive", "error-checking", "adaptive")


def ours(frame):
    """Is the function one of the preloaded library's?"""
    name = gdb.solib_name(frame.pc())
    return bool(name) and "liboverlock-run" in name


def address_in(frame):
    """Of the mutex that the frame is about; None if it is in no register or place any more."""
    for name in NAMES:
        try:
            value = frame.read_var(name)
            if not value.is_optimized_out:
                return int(value)
        except (ValueError, gdb.error):
            continue
    return None


def waited_for(thread):
    """The mutex that the thread waits for: what our outermost function is about; or None."""
    thread.switch()
    found = None
    frame = gdb.newest_frame()
    while frame and not ours(frame):
        frame = frame.older()
    while frame and ours(frame):
        if frame.name() in WAIT:
            found = address_in(frame) or found
        frame = frame.older()
    return found


def all_waits():
    """Mutexes by address, each with the threads that wait for it; the selected thread stays."""
    selected, waits = gdb.selected_thread(), {}
    for thread in reversed(gdb.selected_inferior().threads()):
        address = waited_for(thread)
        if address:
            waits.setdefault(address, []).append(thread)
    selected.switch()
    return waits


def mutex_at(address):
    return gdb.Value(address).cast(gdb.lookup_type("struct mutex").pointer()).dereference()


def lock_of(kind):
    """The lock's name; glibc's mutex has none of ours."""
    ops = gdb.parse_and_eval("'choice.c'::ol_run_choices")[(kind >> 16) & 0x7FFF]
    return ops["id"].string() if int(ops) else "glibc"


def describe(address, waiters):
    mutex = mutex_at(address)
    kind, owner = int(mutex["kind"]), int(mutex["owner"])
    symbol = gdb.execute(f"info symbol {address:#x}", to_string=True).strip()
    place = "" if symbol.startswith("No symbol") else f" ({symbol})"
    print(f"mutex {address:#x}{place}: {KINDS[kind & 3]}, {lock_of(kind)}")
    if owner:
        holder = next((t for t in gdb.selected_inferior().threads() if t.ptid[1] == owner), None)
        number = f", gdb's thread {holder.num}" if holder else ", which is gone"
        print(f"  held by LWP {owner}{number}")
    else:
        print("  its owner is unknown: it is free, or the program runs without --check")
    for thread in waiters:
        print(f"  LWP {thread.ptid[1]}, gdb's thread {thread.num}, waits for it")
    if not waiters:
        print("  no thread waits for it")


class OverlockMutex(gdb.Command):
    """overlock-mutex [EXPRESSION]: lock, holder and waiters of a mutex under `overlock run`."""

    def __init__(self):
        super().__init__("overlock-mutex", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        if not gdb.selected_thread():
            raise gdb.GdbError("overlock-mutex: no process; start one or attach to one")
        named = int(gdb.parse_and_eval(argument)) if argument else None
        waits = all_waits()
        for address in [named] if named else waits:
            try:
                describe(address, waits.get(address, []))
            except gdb.error as error:
                raise gdb.GdbError(f"overlock-mutex: {error}; is it under overlock run?") from error
        if not named and not waits:
            print("no thread waits for a mutex under overlock run")


OverlockMutex()
