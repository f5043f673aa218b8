/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_WAIT_BARRIER_H
#define OL_WAIT_BARRIER_H
/*
 * Sense-reversing central barrier: Mellor-Crummey & Scott 1991, Algorithm 7, with the sense in the word instead of
 * in each context, so that none has to be known before.
 *
 *	ol_barrier_wait(&b, n);		returns once n contexts have called it, and may be called again at once
 *
 * All contexts pass the same n. A waiter that gives up takes its arrival back, so that the round needs another one.
 * If all have arrived it cannot, and waits until the last has opened the barrier, even beyond its time.
 *
 *   31                                1   0
 *  +------------------------------------+---+
 *  |              arrived               | s |
 *  +------------------------------------+---+
 *
 *  s: the sense, which the last to arrive turns over
 *
 * Pairing: [L] acquires from each [L] before it, in one release sequence; [A] (until.h) acquires from [O].
 */
#include <overlock/wait/until.h>

typedef struct ol_barrier {
	uint32_t word;
} ol_barrier_t;

#define OL_BARRIER_INIT		{ 0 }
#define OL_BARRIER_SENSE	1u
#define OL_BARRIER_ARRIVAL	2u

/* What a wait returns. Exactly one context of each round is the last. */
enum ol_barrier_passed { OL_BARRIER_TIMED_OUT, OL_BARRIER_PASSED, OL_BARRIER_LAST };

static inline bool ol_barrier_turned(uint32_t word, uint32_t sense)
{
	return (word & OL_BARRIER_SENSE) != sense;
}

/* Returns the sense of this round. If `*last`, the caller has to open the barrier. Acquires and releases. */
static inline uint32_t ol_barrier_arrive(ol_barrier_t *b, uint32_t n, bool *last)
{
	uint32_t w = ol_add_acq_rel(&b->word, OL_BARRIER_ARRIVAL); /* [L] */

	*last = w / OL_BARRIER_ARRIVAL + 1 == n;
	return w & OL_BARRIER_SENSE;
}

/* By the last to arrive. The memory may be gone afterwards: a waiter may have freed it. */
static inline void ol_barrier_open(ol_barrier_t *b, uint32_t sense)
{
	ol_store_release(&b->word, sense ^ OL_BARRIER_SENSE); /* [O] */
	ol_wake_all(&b->word);
}

/* Takes an arrival back; false if all have arrived. Relaxed: it ends no release sequence, and publishes nothing. */
static OL_COLD bool ol_barrier_leave(ol_barrier_t *b, uint32_t n, uint32_t sense)
{
	uint32_t w = ol_load_relaxed(&b->word);

	while (!ol_barrier_turned(w, sense) && w / OL_BARRIER_ARRIVAL < n) {
		if (ol_cas_relaxed(&b->word, w, w - OL_BARRIER_ARRIVAL))
			return true;
		w = ol_load_relaxed(&b->word);
	}
	return false;
}

/* Waits until the round with this sense is over. False if `until` came first, and the arrival was taken back. */
static inline bool ol_barrier_await(ol_barrier_t *b, uint32_t n, uint32_t sense, ol_ticks_t until)
{
	if (ol_wait_until(&b->word, ol_barrier_turned, sense, until))
		return true;
	return !ol_barrier_leave(b, n, sense) &&
	       ol_wait_until(&b->word, ol_barrier_turned, sense, OL_NEVER);
}

static inline enum ol_barrier_passed ol_barrier_timedwait(ol_barrier_t *b, uint32_t n,
							  ol_ticks_t until)
{
	bool last;
	uint32_t sense = ol_barrier_arrive(b, n, &last);

	if (last) {
		ol_barrier_open(b, sense);
		return OL_BARRIER_LAST;
	}
	return ol_barrier_await(b, n, sense, until) ? OL_BARRIER_PASSED : OL_BARRIER_TIMED_OUT;
}

/* True for the last context of each round. */
static inline bool ol_barrier_wait(ol_barrier_t *b, uint32_t n)
{
	return ol_barrier_timedwait(b, n, OL_NEVER) == OL_BARRIER_LAST;
}
#endif
