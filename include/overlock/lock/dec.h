/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_DEC_H
#define OL_DEC_H
/*
 * Decrementing spinlock: Linux up to 2.6.24, described in Teabe et al. 2017, section 2.1.
 *
 * A context decrements the word, and holds the lock if it was free. Otherwise it polls until the
 * lock is free and decrements again. Release stores `free` regardless of the count, so a waiter
 * that gives up has nothing to undo. Biased by one: in the kernel, a free lock was 1.
 *
 *  word: 0 free, below 0 held; its distance from 0 counts attempts, not waiters
 *
 *  A context that has decremented a held word does so again only after it has seen the lock free:
 *  at most once per context and hold, so the word cannot wrap to 0.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_dec {
	uint32_t word;
} ol_dec_t;

#define OL_DEC_INIT	{ 0 }

static inline bool ol_dec_is_locked(const ol_dec_t *l)
{
	return ol_load_relaxed(&l->word) != 0;
}

/* The word does not show the current waiters. */
static inline bool ol_dec_is_contended(const ol_dec_t *l)
{
	(void)l;
	return false;
}

static inline bool ol_dec_take(ol_dec_t *l)
{
	return !ol_add_acquire(&l->word, ~0u); /* [A] */
}

static inline bool ol_dec_trylock(ol_dec_t *l)
{
	return !ol_load_relaxed(&l->word) && ol_dec_take(l);
}

#define OL_POLLED ol_dec
#include <overlock/lock/impl/poll.h>

static inline bool ol_dec_timedlock(ol_dec_t *l, ol_ticks_t until)
{
	return ol_dec_trylock(l) || ol_dec_poll_until(l, until);
}

static OL_COLD void ol_dec_lock_slow(ol_dec_t *l)
{
	ol_dec_poll(l);
}

/* The lock is usually free, so only the later decrements are preceded by a load. */
static inline void ol_dec_lock(ol_dec_t *l)
{
	if (OL_UNLIKELY(!ol_dec_take(l)))
		ol_dec_lock_slow(l);
}

static inline void ol_dec_unlock(ol_dec_t *l)
{
	ol_store_release(&l->word, 0u); /* [R] */
}
#endif
