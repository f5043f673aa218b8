/* SPDX-License-Identifier: MIT */
#ifndef WORKLOAD_SECTIONS_H
#define WORKLOAD_SECTIONS_H
/*
 * A critical section and a non-critical section, over and over, on one lock.
 *
 * The critical section reads two words on lines of their own, works, and writes each one greater:
 * their lines move from CPU to CPU as guarded data does. The words are equal whenever nobody is
 * inside; two contexts inside at once leave them unequal or behind the turns taken.
 */
#include <overlock/port.h>

struct sections_line {
	uint64_t entries;
} OL_OWN_LINE;

struct sections {
	struct sections_line first, last;
	uint32_t torn; /* somebody saw the words differ from inside */
};

static inline void sections_critical(struct sections *w, uint64_t work)
{
	uint64_t entries = ol_load_relaxed(&w->first.entries);

	if (ol_load_relaxed(&w->last.entries) != entries)
		ol_store_relaxed(&w->torn, 1u);
	/* A load and a store apart, because only the lock makes them one: that is what is checked. */
	ol_store_relaxed(&w->first.entries, entries + 1);
	workload_burn(work);
	ol_store_relaxed(&w->last.entries, entries + 1);
}

static inline void sections_turn(struct sections *w, struct workload_lock *lock,
				 const struct workload_times *times)
{
	workload_acquire(lock);
	sections_critical(w, times->critical);
	workload_release(lock);
	workload_burn(times->outside);
}

/*
 * Null, or what went wrong. `turns` were counted; up to `inside` contexts may since have begun
 * another, so that stragglers need not be waited for.
 */
static inline const char *sections_check(const struct sections *w, uint64_t turns, unsigned inside)
{
	uint64_t entries = ol_load_relaxed(&w->first.entries);

	if (ol_load_relaxed(&w->torn))
		return "two contexts were in the critical section at once";
	if (entries < turns || entries > turns + inside)
		return "entries to the critical section were lost";
	return (const char *)0;
}
#endif
