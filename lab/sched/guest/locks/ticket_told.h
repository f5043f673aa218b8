/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_TICKET_TOLD_H
#define OL_TICKET_TOLD_H
/*
 * A ticket lock that talks with its scheduler, to show what that is worth (docs/scheduler.md). The holder
 * asks not to be preempted. Who waits for a context that has no CPU gives it its own: the waiter with ticket
 * t leaves its id in slot t, so all see whose turn it is, the holder's or the next one's.
 */
#include <overlock/lock/ticket.h>

enum { OL_TOLD_SLOTS = 64 };

typedef struct OL_CAPABILITY ol_ticket_told {
	ol_ticket_t line;
	uint32_t ids[OL_TOLD_SLOTS];
} ol_ticket_told_t;

#define OL_TICKET_TOLD_INIT	{ OL_TICKET_INIT, { 0 } }
#define OL_LOCK_LINE                                                             \
	OL_LOCK(ticket_told, waits, OL_FIFO | OL_NEEDS_ID | OL_NEEDS_YIELD | OL_NEEDS_PREEMPTED, "new",                      \
		"ticket lock that defers preemption and gives its CPU to whose turn it is")

static inline bool ol_ticket_told_is_locked(const ol_ticket_told_t *l)
{
	return ol_ticket_is_locked(&l->line);
}

static inline bool ol_ticket_told_is_contended(const ol_ticket_told_t *l)
{
	return ol_ticket_is_contended(&l->line);
}

static inline uint32_t *ol_told_slot(ol_ticket_told_t *l, uint16_t ticket)
{
	return &l->ids[ticket % OL_TOLD_SLOTS];
}

static inline bool ol_ticket_told_trylock(ol_ticket_told_t *l)
{
	if (!ol_ticket_trylock(&l->line))
		return false;
	ol_store_relaxed(ol_told_slot(l, ol_load_lo_relaxed(&l->line.word)), ol_self());
	ol_defer_begin();
	return true;
}

static OL_COLD void ol_ticket_told_wait(ol_ticket_told_t *l, uint16_t ticket)
{
	ol_count(OL_SLOW_PATH);
	for (;;) {
		uint16_t turn = ol_load_lo_acquire(&l->line.word); /* [A] */
		uint32_t id;

		if (turn == ticket)
			return;
		id = ol_load_relaxed(ol_told_slot(l, turn));
		if (ol_is_preempted(id)) {
			ol_count(OL_YIELD);
			ol_yield_to(id);
		} else {
			ol_relax();
		}
	}
}

static inline void ol_ticket_told_lock(ol_ticket_told_t *l)
{
	uint32_t self = ol_self(), w;

	if (ol_ticket_told_trylock(l))
		return;
	if (!self) {
		while (!ol_ticket_told_trylock(l))
			ol_yield();
		return;
	}
	w = ol_add_hi_acquire(&l->line.word, 1);
	ol_store_relaxed(ol_told_slot(l, ol_hi(w)), self);
	if (ol_lo(w) != ol_hi(w))
		ol_ticket_told_wait(l, ol_hi(w));
	ol_defer_begin();
}

static inline void ol_ticket_told_unlock(ol_ticket_told_t *l)
{
	ol_ticket_unlock(&l->line);
	ol_defer_end();
}
#endif
