/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PARTITIONED_TICKET_H
#define OL_PARTITIONED_TICKET_H
/*
 * Partitioned ticket lock. Dice: A partitioned ticket lock, SPAA 2011; Dice & Kogan 2019, 3.
 *
 * A ticket lock whose `grant` is an array in the lock, with a cache line for each element. Ticket t
 * waits on element t mod N, so a release invalidates the caches of one waiter in N. If there are
 * more waiters than elements, they share elements, and each waits for its own number.
 *
 *	       tail: next ticket to hand out	      head: ticket being served
 *	grant[0]	grant[1]	...	grant[N-1]
 *	  8 N		8 N + 1			  8 N - 1	the newest grant in each
 *
 *  Free: the element of ticket `tail` already holds `tail`. Waiters write only `tail`; the holder
 *  writes the other words, and only the holder uses `head` to lock and unlock.
 *  Tickets have 64 bits and never wrap: a stale ticket cannot match one of a later round, and two
 *  waiters cannot have the same ticket.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release.
 */
#include <overlock/port.h>

enum { OL_PARTITIONS = OL_SLOTS(4) };

typedef struct OL_CAPABILITY ol_partitioned_ticket {
	OL_OWN_LINE uint64_t tail;
	OL_OWN_LINE uint64_t head;
	struct ol_partition {
		OL_OWN_LINE uint64_t grant;
	} part[OL_PARTITIONS];
} ol_partitioned_ticket_t;

#define OL_PARTITIONED_TICKET_INIT	{ 0, 0, { { 0 } } }

static inline bool ol_partitioned_ticket_is_locked(const ol_partitioned_ticket_t *l)
{
	return ol_load_relaxed(&l->tail) != ol_load_relaxed(&l->head);
}

static inline bool ol_partitioned_ticket_is_contended(const ol_partitioned_ticket_t *l)
{
	return ol_load_relaxed(&l->tail) - ol_load_relaxed(&l->head) > 1;
}

static inline bool ol_partitioned_ticket_is_served(const ol_partitioned_ticket_t *l,
						   uint64_t ticket)
{
	return ol_load_acquire(&l->part[ticket % OL_PARTITIONS].grant) == ticket; /* [A] */
}

static inline bool ol_partitioned_ticket_trylock(ol_partitioned_ticket_t *l)
{
	uint64_t next = ol_load_relaxed(&l->tail);

	return ol_partitioned_ticket_is_served(l, next) && ol_cas_relaxed(&l->tail, next, next + 1);
}

static OL_COLD void ol_partitioned_ticket_wait(const ol_partitioned_ticket_t *l, uint64_t mine)
{
	ol_count(OL_SLOW_PATH);
	do {
		ol_relax();
	} while (!ol_partitioned_ticket_is_served(l, mine));
}

static inline void ol_partitioned_ticket_lock(ol_partitioned_ticket_t *l)
{
	uint64_t mine = ol_add_relaxed(&l->tail, 1u);

	if (OL_UNLIKELY(!ol_partitioned_ticket_is_served(l, mine)))
		ol_partitioned_ticket_wait(l, mine);
}

static inline void ol_partitioned_ticket_unlock(ol_partitioned_ticket_t *l)
{
	uint64_t next = ol_load_relaxed(&l->head) + 1;

	ol_store_relaxed(&l->head, next);
	ol_store_release(&l->part[next % OL_PARTITIONS].grant, next); /* [R] */
}
#endif
