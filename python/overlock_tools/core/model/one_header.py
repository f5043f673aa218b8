# SPDX-License-Identifier: MIT
"""A lock as one file: its header, with each file that it includes in the include's place."""

import re

from overlock_tools.core.model import defs
from overlock_tools.core.model.defs import Lock
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail

INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]+<(overlock/[^>\n]+)>.*\n", re.MULTILINE)
GUARD = re.compile(r"^#ifndef (OL_\w+_H)\n#define \1\n", re.MULTILINE)
# The lists are included several times, as are the parts of locks that have no guard.
ELSEWHERE = {"overlock/port/sim.h", "overlock/port/linux.h"}
USER_SPACE = '#error "overlock: this header is for user space; a kernel takes include/overlock"\n'
TOP = """\
/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SPDX-FileCopyrightText: The Overlock authors */
/*
 * {id} of Overlock {version}, in one file: {what}.
 * Written by `overlock locks --header {id}`; C11, or C++11 and later; Linux. {needs}
 *
 *	static ol_{id}_t lock = OL_{upper}_INIT;
 *
 *	ol_{id}_lock(&lock);
 *	ol_{id}_unlock(&lock);
 *
 * Files of one version may be included together. What shares a lock is built from one version.
 */
"""


def text(name: str) -> str:
    """Of a lock of locks.def."""
    locks = defs.load().locks
    if name not in locks:
        raise Fail(f"there is no lock named {name}; `overlock locks` lists them")
    return _top(locks[name]) + _expanded(f"overlock/lock/{name}.h", set())


def _top(lock: Lock) -> str:
    alone = "alone" in lock.traits
    needs = "It needs no library." if alone else "It needs the library: link with -loverlock."
    known = {"id": lock.id, "upper": lock.id.upper(), "what": lock.what, "needs": needs}
    return TOP.format(version=defs.load().version, **known)


def _expanded(name: str, seen: set[str]) -> str:
    """`seen` are the files with a guard; each is needed once."""
    source = (native.include() / name).read_text()
    if GUARD.search(source):
        seen.add(name)

    def put(include: re.Match[str]) -> str:
        if include[1] in seen:
            return ""
        return USER_SPACE if include[1] in ELSEWHERE else _expanded(include[1], seen)

    return f"\n/* {name} */\n" + INCLUDE.sub(put, source)
