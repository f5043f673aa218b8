/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_ADAPTIVE_TICKET_MCS_H
#define OL_ADAPTIVE_TICKET_MCS_H
/*
 * Ticket lock with an MCS queue in front of it. Lim, Agarwal, ASPLOS 1994; Antic, Chatzopoulos,
 * Guerraoui, Trigonakis, Middleware 2016; Dice & Kogan 2019, section 3.
 *
 * A ticket lock hands over fast, but each release invalidates the caches of all waiters that watch
 * the word. So only `short_line` waiters may hold a ticket. Further waiters join the queue. The
 * first waiter of the queue waits until the ticket line is short again, takes a ticket, and makes
 * its successor the first. The lock has no modes to switch: mutual exclusion rests on the tickets
 * alone, and the queue only orders the waiters that do not have a ticket yet.
 *
 *  line: the ticket lock's word			tail: null    the queue is empty
 *						      a node  the last waiter's in the queue
 *
 *    line.head ... line.tail <- takes the next ticket - first's node -> ... -> last's <- tail
 *
 *  A context takes a ticket by a compare-exchange on the word that it has checked, so there are
 *  never more tickets than allowed, and no context needs an id. The order is FIFO, except that a
 *  context may take a ticket before it can see that another one has queued.
 *
 *  Pairing: [A] acquires from the ticket lock's [R]. [L] publishes a node; the reader of `next`
 *  acquires it [F]. The tail exchange [T] does both: it publishes our node to the next waiter, and
 *  must see that our predecessor has zeroed its `next`.
 */
#include <overlock/lock/ticket.h>

typedef struct OL_CAPABILITY ol_adaptive_ticket_mcs {
	ol_ticket_t line;
	struct ol_node *tail;
} ol_adaptive_ticket_mcs_t;

#define OL_ADAPTIVE_TICKET_MCS_INIT	{ OL_TICKET_INIT, 0 }

static inline bool ol_adaptive_ticket_mcs_is_locked(const ol_adaptive_ticket_mcs_t *l)
{
	return ol_ticket_is_locked(&l->line);
}

static inline bool ol_adaptive_ticket_mcs_is_contended(const ol_adaptive_ticket_mcs_t *l)
{
	return ol_ticket_is_contended(&l->line) || ol_load_relaxed(&l->tail);
}

/* If there is a queue, the free lock belongs to its first waiter. */
static inline bool ol_adaptive_ticket_mcs_trylock(ol_adaptive_ticket_mcs_t *l)
{
	return !ol_load_relaxed(&l->tail) && ol_ticket_trylock(&l->line);
}

/* Returns false and takes no ticket if the ticket line is long. */
static inline bool ol_atm_take_ticket(ol_ticket_t *line, uint16_t *ticket)
{
	uint32_t w;

	do {
		w = ol_load_relaxed(&line->word);
		if ((uint16_t)(ol_hi(w) - ol_lo(w)) > ol_tune(short_line))
			return false;
	} while (!ol_cas_relaxed(&line->word, w, w + (1u << 16)));
	*ticket = ol_hi(w);
	return true;
}

static inline void ol_atm_await_turn(const ol_ticket_t *line, uint16_t ticket)
{
	while (ol_load_lo_acquire(&line->word) != ticket) /* [A] */
		ol_relax();
}

static inline struct ol_node *ol_atm_await_link(struct ol_node *mine)
{
	struct ol_node *next;

	while (!(next = ol_load_acquire(&mine->next))) /* [F] */
		ol_relax_briefly();
	return next;
}

/* Returns when we are the first waiter of the queue. */
static inline void ol_atm_queue(ol_adaptive_ticket_mcs_t *l, struct ol_node *mine)
{
	struct ol_node *ahead;

	ol_store_relaxed(&mine->next, (struct ol_node *)0);
	ol_store_relaxed(&mine->wait, 1u);
	ahead = ol_xchg_acq_rel(&l->tail, mine); /* [T] */
	if (!ahead)
		return;
	ol_store_release(&ahead->next, mine); /* [L] */
	while (ol_load_relaxed(&mine->wait))
		ol_relax();
}

/* We have a ticket: make our successor the first waiter. */
static inline void ol_atm_leave_queue(ol_adaptive_ticket_mcs_t *l, struct ol_node *mine)
{
	if (!ol_load_relaxed(&mine->next) && ol_cas_relaxed(&l->tail, mine, (struct ol_node *)0))
		return;
	ol_store_relaxed(&ol_atm_await_link(mine)->wait, 0u);
}

static inline void ol_atm_lock_queued(ol_adaptive_ticket_mcs_t *l, struct ol_node *mine)
{
	uint16_t ticket;

	ol_atm_queue(l, mine);
	while (!ol_atm_take_ticket(&l->line, &ticket))
		ol_relax();
	ol_atm_leave_queue(l, mine);
	ol_node_put(mine);
	ol_atm_await_turn(&l->line, ticket);
}

static OL_COLD void ol_adaptive_ticket_mcs_lock_slow(ol_adaptive_ticket_mcs_t *l)
{
	struct ol_node *mine;
	uint16_t ticket;

	ol_count(OL_SLOW_PATH);
	if (!ol_load_relaxed(&l->tail) && ol_atm_take_ticket(&l->line, &ticket)) {
		ol_atm_await_turn(&l->line, ticket);
		return;
	}
	mine = ol_node_get();
	if (mine) {
		ol_atm_lock_queued(l, mine);
		return;
	}
	ol_count(OL_NO_ID);
	while (!ol_adaptive_ticket_mcs_trylock(l))
		ol_relax();
}

static inline void ol_adaptive_ticket_mcs_lock(ol_adaptive_ticket_mcs_t *l)
{
	if (OL_UNLIKELY(!ol_adaptive_ticket_mcs_trylock(l)))
		ol_adaptive_ticket_mcs_lock_slow(l);
}

static inline void ol_adaptive_ticket_mcs_unlock(ol_adaptive_ticket_mcs_t *l)
{
	ol_ticket_unlock(&l->line);
}
#endif
