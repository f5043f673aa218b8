/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_COMPAT_POSTGRESQL_H
#define OL_COMPAT_POSTGRESQL_H
/*
 * What PostgreSQL's storage/s_lock.h (up to 18) defines for a processor: slock_t and the macros on it,
 * with one of our locks behind. s_lock.h keeps the rest; contrib/patches/postgresql includes this there.
 *
 * PostgreSQL's waiter tries up to 1000 times, then sleeps for 1 ms to 1 s. Here it waits as our lock
 * does, for a minute at most. Then it calls PostgreSQL's s_lock(), which sleeps and, after some two
 * minutes more, stops the server because of a stuck spinlock, as ever.
 */
#include <overlock/compat/lock.h>

/* The locks lie in memory that all backends share. */
OL_COMPAT_SHARED;
OL_COMPAT_ASSERT(
	OL_COMPAT_GIVES_UP,
	OL_COMPAT_REFUSED("waits without a limit, but PostgreSQL must report a stuck spinlock"));

#ifndef OL_PG_PATIENCE_NS
#define OL_PG_PATIENCE_NS	UINT64_C(60000000000)
#endif

typedef ol_compat_t slock_t;

#define HAS_TEST_AND_SET /* s_lock.h looks no further */
#define TAS(lock)		((int)!ol_compat_trylock(ol_pg_lock(lock)))
#define TAS_SPIN(lock)		(ol_compat_is_locked(ol_pg_lock(lock)) ? 1 : TAS(lock))
#define S_LOCK(lock) \
	(ol_pg_acquire(ol_pg_lock(lock)) ? 0 : s_lock((lock), __FILE__, __LINE__, __func__))
#define S_LOCK_FREE(lock)	(!ol_compat_is_locked(ol_pg_lock(lock)))
#define S_UNLOCK(lock)		ol_compat_unlock(ol_pg_lock(lock))
#define S_INIT_LOCK(lock)	ol_compat_init(ol_pg_lock(lock))
#define SPIN_DELAY()		ol_relax()

/* PostgreSQL has its locks volatile; each access of ours is atomic. */
static inline slock_t *ol_pg_lock(volatile slock_t *lock)
{
	return (slock_t *)(uintptr_t)lock;
}

static OL_COLD bool ol_pg_wait(slock_t *lock)
{
	return OL_COMPAT(_timedlock)(&lock->lock, ol_after(1, ol_ticks_from_ns(OL_PG_PATIENCE_NS)));
}

static inline bool ol_pg_acquire(slock_t *lock)
{
	return ol_compat_trylock(lock) || ol_pg_wait(lock);
}
#endif
