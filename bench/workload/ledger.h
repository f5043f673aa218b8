/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_LEDGER_H
#define WORKLOAD_LEDGER_H
/*
 * What proves exclusion: two counts of the entries to a critical section, one written on the way in
 * and one on the way out. They are equal whenever nobody is inside; two contexts inside at once see
 * or leave them unequal, or lose an entry.
 *
 * A load and a store apart, because only the lock makes them one: that is what is checked.
 */
#include <overlock/port.h>

/* The least that a lock can guard: all on one line. */
struct ledger {
	uint64_t opened, closed;
	uint32_t torn;
} OL_OWN_LINE;

static inline uint64_t ledger_open_at(uint64_t *opened, const uint64_t *closed, uint32_t *torn)
{
	uint64_t entry = ol_load_relaxed(opened) + 1;

	if (ol_load_relaxed(closed) + 1 != entry)
		ol_store_relaxed(torn, 1u);
	ol_store_relaxed(opened, entry);
	return entry;
}

static inline uint64_t ledger_open(struct ledger *l)
{
	return ledger_open_at(&l->opened, &l->closed, &l->torn);
}

static inline void ledger_close(struct ledger *l, uint64_t entry)
{
	ol_store_relaxed(&l->closed, entry);
}

/* The verdict on `entries` where at least `least` were made, and `most` at most. */
static inline const char *ledger_verdict(bool torn, uint64_t entries, uint64_t least, uint64_t most)
{
	if (torn)
		return "two contexts were in the critical section at once";
	if (entries < least || entries > most)
		return "entries to the critical section were lost";
	return (const char *)0;
}

/* NAME_check() of a workload whose turns enter one critical section each. */
static inline const char *ledger_check(const struct ledger *l, uint64_t turns, unsigned inside)
{
	return ledger_verdict(ol_load_relaxed(&l->torn), ol_load_relaxed(&l->opened), turns,
			      turns + inside);
}
#endif
