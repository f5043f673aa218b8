/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_WAIT_SEQUENCE_H
#define OL_WAIT_SEQUENCE_H
/*
 * Sequence: a counter that only grows, and whose waiters wait for a number. The eventcount of Reed & Kanodia 1979,
 * who have the waiting side of a bounded queue as their example:
 *
 *	producer, of number i				consumer, of number i
 *	  ol_sequence_await(&taken, i + 1 - size);	  ol_sequence_await(&put, i + 1);
 *	  ring[i % size] = item;			  item = ring[i % size];
 *	  ol_sequence_advance(&put, 1);			  ol_sequence_advance(&taken, 1);
 *
 * Numbers may wrap: a sequence is at most 2^31 - 1 ahead of what is waited for, and as far behind.
 *
 * Each waiter is woken for its own number only: numbers 32 apart share a key.
 *
 * Pairing: [A] (until.h) acquires from each [R] up to its number, in one release sequence.
 */
#include <overlock/wait/until.h>

typedef struct ol_sequence {
	uint32_t number;
} ol_sequence_t;

#define OL_SEQUENCE_INIT	{ 0 }

static inline uint32_t ol_sequence_read(const ol_sequence_t *s)
{
	return ol_load_acquire(&s->number);
}

/* The keys of the n numbers that follow `number`. */
static inline uint32_t ol_sequence_keys(uint32_t number, uint32_t n)
{
	uint32_t keys = 0;

	if (n >= 32)
		return OL_ANY;
	while (n)
		keys |= ol_key(number + n--);
	return keys;
}

/* By n. Releases; returns the number before. The memory may be gone afterwards. */
static inline uint32_t ol_sequence_advance(ol_sequence_t *s, uint32_t n)
{
	uint32_t number = ol_add_release(&s->number, n); /* [R] */

	ol_wake(&s->number, ol_sequence_keys(number, n), INT32_MAX);
	return number;
}

/* Waits until the sequence has reached `number`. False if `until` came first. */
static inline bool ol_sequence_timedawait(const ol_sequence_t *s, uint32_t number, ol_ticks_t until)
{
	return ol_wait_for(&s->number, ol_has_reached, number, ol_key(number), until);
}

static inline void ol_sequence_await(const ol_sequence_t *s, uint32_t number)
{
	ol_sequence_timedawait(s, number, OL_NEVER);
}
#endif
