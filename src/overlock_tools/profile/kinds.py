# SPDX-License-Identifier: MIT
"""What a futex is: a lock, or something else that one may wait at for good reasons."""

import re
from dataclasses import dataclass

from overlock_tools.profile.seen import Lock
from overlock_tools.system.symbols import Call

FUTEX_LOCK_PI, FUTEX_LOCK_PI2 = 6, 13
CONTENDED = 2  # the word of a lock with waiters: glibc's, musl's, Rust's, libgomp's
INNERMOST = 8  # frames that may be the lock's own


@dataclass(frozen=True)
class Kind:
    name: str
    is_lock: bool
    pattern: str = "$^"  # of a function among the innermost frames


# The first that fits. What is no lock is waited for on purpose: that is no time lost to locks.
KINDS = (
    Kind("Python's GIL", True, r"take_gil$|^PyEval_(Acquire|Restore)Thread"),
    Kind("condition", False, r"pthread_cond_(timed|clock)?wait|[Cc]ondvar|Condition"),
    Kind("barrier", False, r"pthread_barrier_wait|gomp_(team_)?barrier|kmp\w*(barrier|fork|join)"),
    Kind("join", False, r"pthread_(timed|clock|try)?join|_dl_wait_|JoinHandle"),
    Kind("semaphore", False, r"^(__new_|__old_)?sem_(timed|clock)?wait"),
    Kind("once", False, r"pthread_once|call_once|[Oo]nce.*(call|wait)"),
    Kind("rwlock", True, r"pthread_rwlock_|RwLock|rwlock"),
    Kind(
        "OpenMP lock",
        True,
        r"gomp_mutex_lock|G?OMP_(critical|atomic)|omp_set(_nest)?_lock|"
        r"kmpc_(critical|ordered|set_(nest_)?lock)|kmp_acquire\w*lock",
    ),
    Kind("Go's scheduler", False, r"^runtime\.(stopm|notesleep|mPark|notetsleep)"),
    Kind("mutex", True, r"pthread_mutex_(timed|clock)?lock|[Mm]utex.*lock|^runtime\.lock2"),
    Kind("Java's parker", False, r"Parker::park|PlatformEvent::park|Unsafe_Park"),
)
PI_MUTEX = Kind("mutex with priority inheritance", True)
MUTEX = Kind("mutex", True)
LIKELY = Kind("lock", True)  # by its word alone
OTHER = Kind("unknown futex", False)


SPINLOCK = Kind("spinlock", True)
YIELDING = Kind("spinlock that yields", True)


def of_yields(calls: tuple[Call, ...]) -> Kind:
    """What a thread waits for that calls sched_yield() there."""
    names = [call.function or "" for call in calls[:INNERMOST]]
    found = (kind for kind in KINDS if any(re.search(kind.pattern, name) for name in names))
    return next(found, YIELDING)


def of(lock: Lock, calls: tuple[Call, ...]) -> Kind:
    if lock.op in (FUTEX_LOCK_PI, FUTEX_LOCK_PI2):
        return PI_MUTEX
    names = [call.function or "" for call in calls[:INNERMOST]]
    for kind in KINDS:
        if any(re.search(kind.pattern, name) for name in names):
            return MUTEX if lock.owners and kind.name == "condition" else kind
    if lock.owners:
        return MUTEX
    return LIKELY if lock.value == CONTENDED else OTHER
