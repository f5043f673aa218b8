/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_I_SPIN_H
#define OL_I_SPIN_H
/*
 * I-Spinlock, HVM form: a ticket lock that gives tickets only to contexts with time to use them.
 * Teabe et al.: I-Spinlock, EuroSys 2017, section 4 and Figure 5.
 *
 * A context is capable if its slice outlasts the critical sections of all tickets, the holder's
 * included, and its own: lock_cap = slice_end - now - (tickets + 1) * csd > 0. An incapable context
 * spins until its slice is over and checks again. If it is still incapable after a whole slice, it
 * takes a ticket anyway: otherwise a slice shorter than the queue could make it wait for ever. It
 * takes the ticket by a compare-exchange on the word that it has checked, for others may join in
 * between. If the end of the slice is unknown, this is a ticket lock and counts UNKNOWN_SLICE.
 *
 * slice_end is the slice's end, or with `ratelimit` that of its guaranteed part. csd is the tunable
 * or, with `csd_learned`, the time per ticket that this context's waits took. The platform keeps
 * it per context: the word has no room, and all contexts would write a shared cache line.
 *
 *  The word and the memory orders are those of `ticket`; the ticket [T] may also acquire the lock.
 */
#include <overlock/lock/ticket.h>

#ifndef OL_I_SPIN_SLICES
#define OL_I_SPIN_SLICES	2u /* slice ends that an incapable context waits for; Figure 5: 1 */
#endif

typedef struct OL_CAPABILITY ol_i_spin {
	ol_ticket_t line;
} ol_i_spin_t;

#define OL_I_SPIN_INIT	{ OL_TICKET_INIT }

/* The current slice: the end of its usable part, and its end. */
struct ol_slice {
	uint64_t id;
	ol_ticks_t usable, over;
};

/* If a new slice begins between two of these reads, this one looks over, and we check again. */
static inline struct ol_slice ol_slice_now(void)
{
	struct ol_slice s;

	s.id = ol_slice_id(); /* first: with a later id, we would wait for an end in the past */
	s.over = ol_slice_end();
	s.usable = s.over != OL_NEVER && ol_tune(ratelimit) ? ol_slice_min() : s.over;
	return s;
}

/* A slice with an unknown end counts as endless: there is nothing to avoid. */
static inline bool ol_slice_is_unknown(const struct ol_slice *s)
{
	if (s->usable != OL_NEVER)
		return false;
	ol_count(OL_UNKNOWN_SLICE);
	return true;
}

/* Are we still in this slice, and before `end`? */
static inline bool ol_slice_lasts(const struct ol_slice *s, ol_ticks_t end)
{
	return ol_slice_id() == s->id && !ol_passed(end);
}

static inline ol_ticks_t ol_i_spin_csd(void)
{
	ol_ticks_t learnt = ol_tune(csd_learned) ? ol_csd() : 0;

	return learnt ? learnt : ol_tune(csd);
}

/*
 * The slice is over, but its end comes a little late: a context that takes a ticket now is preempted in the queue. So
 * the slice counts as gone on only if it has a new end, or after a `csd`.
 */
static inline void ol_i_spin_await_next(const struct ol_slice *s)
{
	ol_ticks_t late = s->over + ol_i_spin_csd();

	while (ol_slice_lasts(s, late) && !ol_before(late, ol_slice_end()))
		ol_relax_until(late);
}

/* Does the slice outlast the critical sections ahead and our own? */
static inline bool ol_i_spin_is_capable(const struct ol_slice *s, unsigned tickets)
{
	return ol_slice_is_unknown(s) ||
	       ol_before(ol_after(tickets + 1, ol_i_spin_csd()), s->usable);
}

/* Waits in the queue with the ticket that was taken from `w`. */
static OL_COLD void ol_i_spin_queue(ol_ticket_t *line, uint32_t w, uint64_t slice)
{
	ol_ticks_t since = ol_tune(csd_learned) ? ol_now() : 0;
	uint16_t ahead = (uint16_t)(ol_hi(w) - ol_lo(w));

	ol_count(OL_SLOW_PATH);
	ol_count_at(OL_QUEUE, ahead);
	while (ol_load_lo_acquire(&line->word) != ol_hi(w)) /* [A] */
		ol_relax();
	if (since && ol_slice_id() == slice) /* else the wait included a preemption */
		ol_csd_learn(since, ahead);
}

/* Takes a ticket and waits for it; false if incapable in *s and `slices` are too few. */
static inline bool ol_i_spin_join(ol_ticket_t *line, unsigned slices, struct ol_slice *s)
{
	for (;;) {
		uint32_t w;
		uint16_t tickets;

		*s = ol_slice_now();
		w = ol_load_relaxed(&line->word);
		tickets = (uint16_t)(ol_hi(w) - ol_lo(w));
		if (slices < OL_I_SPIN_SLICES && !ol_i_spin_is_capable(s, tickets)) {
			ol_count_at(OL_INCAPABLE, tickets);
			return false;
		}
		if (tickets && !ol_self()) {
			ol_ticket_lock_out_of_line(line);
			return true;
		}
		if (ol_cas_acquire(&line->word, w, w + (1u << 16))) { /* [A] [T] */
			if (tickets)
				ol_i_spin_queue(line, w, s->id);
			return true;
		}
	}
}

static inline bool ol_i_spin_is_locked(const ol_i_spin_t *l)
{
	return ol_ticket_is_locked(&l->line);
}

static inline bool ol_i_spin_is_contended(const ol_i_spin_t *l)
{
	return ol_ticket_is_contended(&l->line);
}

static inline bool ol_i_spin_trylock(ol_i_spin_t *l)
{
	return ol_ticket_trylock(&l->line);
}

static inline void ol_i_spin_lock(ol_i_spin_t *l)
{
	unsigned slices = 0;
	struct ol_slice s;

	while (!ol_i_spin_join(&l->line, slices++, &s)) {
		while (ol_slice_lasts(&s, s.over))
			ol_relax_until(s.over);
		ol_i_spin_await_next(&s);
	}
}

static inline void ol_i_spin_unlock(ol_i_spin_t *l)
{
	ol_ticket_unlock(&l->line);
}
#endif
