/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_WAIT_LATCH_H
#define OL_WAIT_LATCH_H
/*
 * Latch: opens once, after n arrivals, and stays open. As C++20's std::latch, but counting upwards: zero is ready.
 *
 *	ol_latch_arrive(&l, 1, n);	ol_latch_wait(&l, n);
 *
 * All contexts pass the same n, below 2^31. Who arrives need not wait, and may arrive more than once, or many times in
 * one; no more than n in all.
 *
 * Pairing: [A] (until.h) acquires from each [R], in one release sequence.
 */
#include <overlock/wait/until.h>

typedef struct ol_latch {
	uint32_t arrived;
} ol_latch_t;

#define OL_LATCH_INIT	{ 0 }

static inline bool ol_latch_is_open(const ol_latch_t *l, uint32_t n)
{
	return ol_has_reached(ol_load_acquire(&l->arrived), n);
}

/* Releases. The last arrival opens the latch; the memory may be gone afterwards. */
static inline void ol_latch_arrive(ol_latch_t *l, uint32_t times, uint32_t n)
{
	if (ol_add_release(&l->arrived, times) + times == n) /* [R] */
		ol_wake_all(&l->arrived);
}

/* False if `until` came first. */
static inline bool ol_latch_timedwait(const ol_latch_t *l, uint32_t n, ol_ticks_t until)
{
	return ol_wait_until(&l->arrived, ol_has_reached, n, until);
}

static inline void ol_latch_wait(const ol_latch_t *l, uint32_t n)
{
	ol_latch_timedwait(l, n, OL_NEVER);
}
#endif
