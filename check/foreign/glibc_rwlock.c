// SPDX-License-Identifier: MIT
// glibc's pthread_rwlock_t, of its usual kind, which prefers readers.
// brings: nptl/pthread_rwlock_common.c nptl/pthread_rwlock_tryrdlock.c nptl/pthread_rwlock_trywrlock.c
// brings: nptl/pthread_rwlock_rdlock.c nptl/pthread_rwlock_wrlock.c nptl/pthread_rwlock_unlock.c
// replaces: #include "pthread_rwlock_common.c" =>
#include "glibc_rwlock.h"

const struct ol_checked_lock overlock_checked = {
	.name = "glibc rwlock",
	.size = sizeof(pthread_rwlock_t),
	.init = start,
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
	.read_lock = lock_shared,
	.read_unlock = release,
};
