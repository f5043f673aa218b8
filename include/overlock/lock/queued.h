/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_QUEUED_H
#define OL_QUEUED_H
/*
 * What Linux's queued spinlock and its relatives share: a word of four bytes that names the last
 * waiter, and the MCS line that ends there.
 *
 *   31	      16 15	   0
 *  +------------+----------+
 *  |	 tail	 |   lock   |	tail: the last waiter's node, by its number; 0: no line
 *  +------------+----------+	lock: 0 free, else held; how, is each lock's own
 *
 *	first waiter  -->  node.next  -->  node.next  -->  last node  <--  tail
 *
 *  The first waiter watches the word, the others their own nodes' `wait`. Once the lock is its own,
 *  the first one makes its follower the first, or empties the line, and gives its node back. So the
 *  holder has no node, and unlock looks for nothing.
 *
 *  Pairing: [T] the exchange of the tail shows the node before to us, and ours to the next to come.
 *  [L] publishes our place there, whoever follows `next` acquires it [F]. [H] hands the first place
 *  over, to the next in line or, by [T], to whoever finds the line empty: they see the lock as taken,
 *  not as it was before.
 */
#include <overlock/port.h>

#define OL_Q_LOCKED	1u

/* In order: only the idle lock, which nobody holds or waits for. */
static inline bool ol_queued_trylock(uint32_t *word)
{
	return !ol_load_relaxed(word) && ol_cas_acquire(word, 0u, OL_Q_LOCKED); /* [A] */
}

/*
 * For those with a deadline, or without a node: the line is not left but by its neighbours' help,
 * which may be long in coming, so they do not join it.
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

/* Links `mine` behind the node numbered `last`; that node, or null: there is none, we are first. */
static inline struct ol_node *ol_queued_link(uint16_t last, struct ol_node *mine)
{
	struct ol_node *ahead;

	if (!last)
		return 0;
	ahead = ol_node_at(last);
	ol_store_release(&ahead->next, mine); /* [L] */
	return ahead;
}

/* What must be in the node before it joins. */
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

/* Somebody took the tail after us and is about to link itself. */
static inline struct ol_node *ol_queued_await_link(struct ol_node *mine)
{
	struct ol_node *next;

	while (!(next = ol_load_acquire(&mine->next))) /* [F] */
		ol_relax_briefly();
	return next;
}

/*
 * Who follows `mine`; or null, and the line ends now at the node numbered `ahead` of it; 0: `mine`
 * was the first, and the line is empty.
 */
static inline struct ol_node *ol_queued_after(uint32_t *word, struct ol_node *mine, uint16_t ahead)
{
	uint16_t number = (uint16_t)ol_node_number(mine);

	if (ol_load_hi_relaxed(word) == number && ol_cas_hi_release(word, number, ahead)) /* [H] */
		return 0;
	return ol_queued_await_link(mine);
}
#endif
