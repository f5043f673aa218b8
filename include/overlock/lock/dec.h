/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_DEC_H
#define OL_DEC_H
/*
 * Decrementing spinlock: Linux up to 2.6.24, as 002 section 2.1 describes it.
 *
 * Whoever wants the lock decrements it, and has it if it was free; the others look until it is free
 * again and then decrement anew. Release stores `free` whatever the decrements have left, so a
 * waiter takes nothing back when it leaves. Biased by one: the kernel's free lock was 1.
 *
 *  word: 0 free, below 0 held; how far below is how many have tried, not how many wait
 *
 *  A word that is not 0 is decremented only by who saw it free since it began: by each context
 *  once, so it does not come round to 0.
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

/* The word does not show who still waits. */
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

static inline bool ol_dec_timedlock(ol_dec_t *l, ol_ticks_t until)
{
	if (ol_dec_trylock(l))
		return true;
	ol_count(OL_SLOW_PATH);
	do {
		if (ol_passed(until))
			return false;
		ol_relax_until(until);
	} while (!ol_dec_trylock(l));
	return true;
}

static OL_COLD void ol_dec_lock_slow(ol_dec_t *l)
{
	ol_count(OL_SLOW_PATH);
	do {
		ol_relax();
	} while (!ol_dec_trylock(l));
}

/* Free is the common case, so the first decrement is not preceded by a look; all later ones are. */
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
