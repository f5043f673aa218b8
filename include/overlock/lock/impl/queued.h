/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_QUEUED_H
#define OL_QUEUED_H
/*
 * The common part of Linux's queued spinlock and its relatives: a 4-byte word that names the last
 * waiter, and the MCS queue that ends there.
 *
 *   31	      16 15	   0
 *  +------------+----------+
 *  |	 tail	 |   lock   |	tail: the number of the last waiter's node; 0: no queue
 *  +------------+----------+	lock: 0 free, else held, as each lock defines
 *
 *	first waiter  -->  node.next  -->  node.next  -->  last node  <--  tail
 *
 *  The first waiter watches the word, the others their own nodes' `wait`. When it takes the lock,
 *  the first waiter makes its successor the first or empties the queue, and frees its node. So the
 *  holder has no node, and unlock does not search for one.
 *
 *  Pairing: [T], the tail exchange, acquires our predecessor's node and publishes ours to our
 *  successor. [L] links our node; the reader of `next` acquires it [F]. [H] makes the successor the
 *  first waiter; if the queue is emptied, [T] of the next context acquires from it. Both then see
 *  the lock as held, not as it was before.
 */
#include <overlock/port.h>

#define OL_Q_LOCKED	1u

/* Keeps FIFO order: takes only an idle lock, without holder and waiters. */
static inline bool ol_queued_trylock(uint32_t *word)
{
	return !ol_load_relaxed(word) && ol_cas_acquire(word, 0u, OL_Q_LOCKED); /* [A] */
}

/*
 * For contexts with a deadline or without a node. To leave the queue, a waiter depends on its
 * neighbours, which may take long, so a context with a deadline does not join it.
 */
static inline bool ol_queued_poll(uint32_t *word, ol_ticks_t until)
{
	while (!ol_queued_trylock(word)) {
		if (ol_passed(until))
			return false;
		ol_relax_until(until);
	}
	return true;
}

/* Links `mine` behind the node numbered `last` and returns that node; null if we are first. */
static inline struct ol_node *ol_queued_link(uint16_t last, struct ol_node *mine)
{
	struct ol_node *ahead;

	if (!last)
		return 0;
	ahead = ol_node_at(last);
	ol_store_release(&ahead->next, mine); /* [L] */
	return ahead;
}

/* Initializes the node before it joins. */
static inline void ol_queued_ready(struct ol_node *mine)
{
	ol_store_relaxed(&mine->next, (struct ol_node *)0);
	ol_store_relaxed(&mine->wait, 1u);
}

static inline struct ol_node *ol_queued_join(uint32_t *word, struct ol_node *mine)
{
	ol_queued_ready(mine);
	return ol_queued_link(ol_xchg_hi_acq_rel(word, (uint16_t)ol_node_number(mine)),
			      mine); /* [T] */
}

/* A waiter took the tail after us and is about to link itself. */
static inline struct ol_node *ol_queued_await_link(struct ol_node *mine)
{
	struct ol_node *next;

	while (!(next = ol_load_acquire(&mine->next))) /* [F] */
		ol_relax_briefly();
	return next;
}

/*
 * Returns the successor of `mine`; or makes its predecessor, numbered `ahead`, the tail and returns
 * null. If `ahead` is 0, `mine` was the first, and the queue is then empty.
 */
static inline struct ol_node *ol_queued_after(uint32_t *word, struct ol_node *mine, uint16_t ahead)
{
	uint16_t number = (uint16_t)ol_node_number(mine);

	if (ol_load_hi_relaxed(word) == number && ol_cas_hi_release(word, number, ahead)) /* [H] */
		return 0;
	return ol_queued_await_link(mine);
}
#endif
