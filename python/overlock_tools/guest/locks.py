# SPDX-License-Identifier: MIT
"""What `spinlock=` of a guest's kernel takes."""

import re
from collections.abc import Callable

from overlock_tools.core.model import defs
from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import paths

NATIVE = "native"  # the kernel's own, whichever that is
TEST_AND_SET, PARAVIRTUAL = "native_tas", "native_pv"
# The kernel's own lock of one kind, and what a guest that runs it says.
KINDS = {TEST_AND_SET: "native test-and-set", PARAVIRTUAL: "native pv_qspinlock"}
WORD = re.compile(r"[\w.-]+(?:=[\w.:/-]+)?")
KERNEL = "kernel="  # a word that chooses a kernel, and is not for its command line
# To show that tests notice them: one excludes nobody; waiters take the other from a holder that has
# had no CPU for long.
PLANTED = ("busted", "impatient")


def known() -> list[str]:
    ours = [lock.id for lock in defs.load().locks.values() if "fits4" in lock.traits]
    return [*ours, NATIVE, *KINDS, *PLANTED]


def every() -> list[str]:
    """What `all` means: not every hypervisor has each kind of the kernel's own lock."""
    return [lock for lock in known() if lock not in (*KINDS, *PLANTED)]


def is_native(variant: str) -> bool:
    return name_of(variant) in (NATIVE, *KINDS)


def _checked_name(name: str) -> str:
    table = {lock: lock for lock in known()}
    return defs.known(table, name, "4-byte lock", _where())


def checked(variant: str, checked_name: Callable[[str], str] = _checked_name) -> str:
    """`native@nopvspin`: a lock, and words for the kernel's command line, for this variant only."""
    name, *words = variant.split("@")
    for word in words:
        if not WORD.fullmatch(word):
            raise Fail(
                f"{variant}: {word!r} is not valid on a kernel's command line; give LOCK@WORD, "
                "as in native@nopvspin"
            )
        if word.startswith(KERNEL) and word.removeprefix(KERNEL) not in paths.VARIANTS:
            kernels = ", ".join(paths.VARIANTS)
            raise Fail(f"{variant}: there is no such kernel; expected one of {kernels}")
    return "@".join([checked_name(name), *words])


def name_of(variant: str) -> str:
    return variant.partition("@")[0]


def words_of(variant: str) -> tuple[str, ...]:
    return tuple(word for word in variant.split("@")[1:] if not word.startswith(KERNEL))


def kernel_of(variant: str) -> str | None:
    """Of places.VARIANTS; None: the session's."""
    words = variant.split("@")[1:]
    return next((w.removeprefix(KERNEL) for w in words if w.startswith(KERNEL)), None)


def _where() -> str:
    return "`overlock locks` lists them; also native, native_tas, native_pv, busted and impatient"
