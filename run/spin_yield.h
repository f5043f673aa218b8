/* SPDX-License-Identifier: MIT */
#ifndef OL_SPIN_YIELD_H
#define OL_SPIN_YIELD_H
/*
 * glibc's pthread_spinlock_t, of which only the waiting is ours: after a short spin a waiter yields.
 *
 * The word means what it means to glibc, so a lock may be in memory that other processes share, under glibc
 * or under us, be older than a fork, or be initialised by hand.
 *
 *  word: FREE free (1 on x86, 0 elsewhere), else held: 0 or below on x86, 1 elsewhere
 *
 *  On x86 a waiter of glibc's decrements a held word, which stays below FREE; a release stores FREE
 *  whatever the word is.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release.
 */
#include <overlock/port.h>

#define OL_LOCK_LINE                                                                    \
	OL_LOCK(spin_yield, timed,                                                      \
		OL_FITS4 | OL_FORGIVES | OL_YIELDS | OL_NEEDS_YIELD | OL_NEEDS_TIME,    \
		"glibc", "glibc's spinlock; waiters yield")

typedef struct ol_spin_yield {
	uint32_t word;
} ol_spin_yield_t;

#if defined(__x86_64__) || defined(__i386__)
enum { OL_SPIN_YIELD_FREE = 1, OL_SPIN_YIELD_HELD = 0 };
#else
enum { OL_SPIN_YIELD_FREE = 0, OL_SPIN_YIELD_HELD = 1 };
#endif

static inline bool ol_spin_yield_is_locked(const ol_spin_yield_t *l)
{
	return ol_load_relaxed(&l->word) != OL_SPIN_YIELD_FREE;
}

/* The word does not show its waiters. */
static inline bool ol_spin_yield_is_contended(const ol_spin_yield_t *l)
{
	(void)l;
	return false;
}

static inline bool ol_spin_yield_trylock(ol_spin_yield_t *l)
{
	return !ol_spin_yield_is_locked(l) &&
	       ol_cas_acquire(&l->word, (uint32_t)OL_SPIN_YIELD_FREE, /* [A] */
			      (uint32_t)OL_SPIN_YIELD_HELD);
}

#define OL_YIELDING ol_spin_yield
#include <overlock/lock/impl/yielding.h>

static inline void ol_spin_yield_unlock(ol_spin_yield_t *l)
{
	ol_store_release(&l->word, (uint32_t)OL_SPIN_YIELD_FREE); /* [R] */
}
#endif
