# SPDX-License-Identifier: MIT
import pytest

from overlock_tools.core.ordinary import names


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("mylock_lock", "lock"),
        ("lock", "lock"),
        ("Lock", "lock"),
        ("acquire_lock", "lock"),
        ("MCS_ACQUIRE", "lock"),
        ("rw_write_lock", "lock"),
        ("WrLock", "lock"),
        ("region_enter", "lock"),
        ("mylock_unlock", "unlock"),
        ("release_lock", "unlock"),
        ("UnlockExclusive", "unlock"),
        ("mylock_trylock", "trylock"),
        ("tryAcquire", "trylock"),
        ("try_lock", "trylock"),
        ("pthread_rwlock_rdlock", "read_lock"),
        ("lock_shared", "read_lock"),
        ("ReadLock", "read_lock"),
        ("unlock_shared", "read_unlock"),
        ("rw_read_release", "read_unlock"),
        ("sem_wait", "wait"),
        ("sem_post", "up"),
        ("sem_P", "down"),
        ("notify_one", "signal"),
        ("cond_broadcast", "broadcast"),
        ("mylock_init", "init"),
        ("mylock_timed_lock", None),
        ("is_lock", None),
        ("try_lock_shared", None),
        ("read_try_lock", None),
        ("mylock_lock_slow", None),
        ("block", None),
        ("clock", None),
        ("mylock_destroy", None),
        ("", None),
    ],
)
def test_operation_of_a_name(name: str, operation: str | None) -> None:
    assert names.operation(name) == operation
