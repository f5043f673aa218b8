# SPDX-License-Identifier: MIT
"""What `spinlock=` of a guest's kernel takes."""

from overlock_tools import defs

NATIVE = "native"  # the kernel's own, whichever that is
BUSTED = "busted"  # excludes nobody, to show that it would be noticed


def known() -> list[str]:
    ours = [lock.id for lock in defs.load().locks.values() if "fits4" in lock.traits]
    return [*ours, NATIVE, BUSTED]


def checked(name: str) -> str:
    table = dict.fromkeys(known())
    return name if name in table else str(defs.known(table, name, "4-byte lock", _where()))


def _where() -> str:
    return "`overlock locks` lists them; native and busted are there, too"
