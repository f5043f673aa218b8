/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_ANDERSON_H
#define OL_ANDERSON_H
/*
 * Array-based queueing lock. Anderson, IEEE TPDS 1(1), 1990; Dice & Kogan 2019, section 3.
 *
 * Each waiter spins on its own element of an array in the lock. A release opens the next element,
 * and each new holder shuts its own. In the paper, the array has an element for each possible
 * waiter. Here, if all elements are taken, further waiters wait on `head` in FIFO order until
 * theirs is free: ticket t may use element t mod N once ticket t - N has released.
 *
 *	       tail: next ticket to hand out	      head: ticket being served
 *	slot[0] 	slot[1] 	...	slot[N-1]
 *	  0 open	  1 open		  1 open	so all-zero is a free lock
 *
 *  Tickets have 64 bits and never wrap, so a stale ticket cannot match one of a later round.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [E] acquires from [H]: the
 *  waiter that uses an element one round later sees that it was shut.
 */
#include <overlock/port.h>

enum { OL_ANDERSON_SLOTS = OL_SLOTS(32) };

typedef struct OL_CAPABILITY ol_anderson {
	OL_OWN_LINE uint64_t tail;
	OL_OWN_LINE uint64_t head;
	struct ol_anderson_slot {
		OL_OWN_LINE uint32_t door;
	} slot[OL_ANDERSON_SLOTS];
} ol_anderson_t;

#define OL_ANDERSON_INIT	{ 0, 0, { { 0 } } }

static inline bool ol_anderson_is_locked(const ol_anderson_t *l)
{
	return ol_load_relaxed(&l->tail) != ol_load_relaxed(&l->head);
}

static inline bool ol_anderson_is_contended(const ol_anderson_t *l)
{
	return ol_load_relaxed(&l->tail) - ol_load_relaxed(&l->head) > 1;
}

static inline uint32_t *ol_anderson_door(ol_anderson_t *l, uint64_t ticket)
{
	return &l->slot[ticket % OL_ANDERSON_SLOTS].door;
}

static inline uint32_t ol_anderson_open(uint64_t ticket)
{
	return ticket % OL_ANDERSON_SLOTS != 0;
}

static inline bool ol_anderson_is_open(ol_anderson_t *l, uint64_t ticket)
{
	return ol_load_acquire(ol_anderson_door(l, ticket)) == ol_anderson_open(ticket); /* [A] */
}

static inline void ol_anderson_shut(ol_anderson_t *l, uint64_t ticket)
{
	ol_store_relaxed(ol_anderson_door(l, ticket), !ol_anderson_open(ticket));
}

/* The door alone is not enough: it may be open for the waiter one round before us. */
static inline bool ol_anderson_trylock(ol_anderson_t *l)
{
	uint64_t next = ol_load_relaxed(&l->tail);

	if (ol_load_acquire(&l->head) != next || /* [E] */
	    !ol_anderson_is_open(l, next) || !ol_cas_relaxed(&l->tail, next, next + 1))
		return false;
	ol_anderson_shut(l, next);
	return true;
}

static inline bool ol_anderson_has_slot(const ol_anderson_t *l, uint64_t mine)
{
	return mine - ol_load_acquire(&l->head) < OL_ANDERSON_SLOTS; /* [E] */
}

static OL_COLD void ol_anderson_wait(ol_anderson_t *l, uint64_t mine)
{
	ol_count(OL_SLOW_PATH);
	while (!ol_anderson_has_slot(l, mine))
		ol_relax();
	while (!ol_anderson_is_open(l, mine))
		ol_relax();
	ol_anderson_shut(l, mine);
}

static inline void ol_anderson_lock(ol_anderson_t *l)
{
	uint64_t mine = ol_add_relaxed(&l->tail, 1u);

	if (OL_UNLIKELY(!ol_anderson_has_slot(l, mine) || !ol_anderson_is_open(l, mine)))
		ol_anderson_wait(l, mine);
	else
		ol_anderson_shut(l, mine);
}

static inline void ol_anderson_unlock(ol_anderson_t *l)
{
	uint64_t next = ol_load_relaxed(&l->head) + 1;

	ol_store_release(&l->head, next);				     /* [H] */
	ol_store_release(ol_anderson_door(l, next), ol_anderson_open(next)); /* [R] */
}
#endif
