/* SPDX-License-Identifier: MIT */
#ifndef OL_SITES_H
#define OL_SITES_H
/*
 * Site records, and what counting.h does not do inline. Each thread counts in a table of its own,
 * with plain stores that no other thread makes; readers walk the tables. A thread that exits leaves
 * its table, with all that is in it, to one that comes.
 *
 * A signal handler may take locks too. If it finds its thread at work on the table (`busy`) it
 * leaves it alone and counts what it could not record.
 *
 *	memory.c	memory for tables and records, and the file of OVERLOCK_LIVE
 *	tables.c	a table for each thread, with its records by (site, lock)
 *	held.c		the locks that a thread holds
 *	times.c		histograms and hand-overs
 *	stacks.c	which waits and holds have their stack taken
 *	waits.c		waits and events of the call under way
 *	read.c		sums over all tables
 *	json.c		the sums as JSON
 */
#include "../counting.h"
#include "../internal.h"

#include <string.h>

#define me ol_counting

/* Locks held, by hash of their address: those that are not on the stack below. */
struct held_map {
	size_t mask, used;
	struct ol_held held[];
};

enum { DEEP = 8 }; /* locks held at once, before it takes longer */

struct chunk;

struct ol_table {
	struct ol_table *next; /* in `ol_tables` */
	uint32_t taken;	       /* by a thread */
	struct chunk *chunks, *record_chunks;
	struct ol_counts *first;  /* all records, newest first */
	struct ol_counts **slots; /* the same, by hash of (site, lock) */
	size_t mask, used;
	struct ol_held stack[DEEP + 2]; /* with an entry at either end that is never used */
	struct held_map *others;
};

#pragma GCC visibility push(hidden)

/* memory.c */

/* All zero, for as long as the list is; null if there is none. Records lie where others may read them. */
void *ol_site_memory(struct chunk **chunks, size_t size);
void *ol_site_record_memory(struct chunk **chunks, size_t size);
void ol_chunks_free(struct chunk *c);
void ol_live_start(void);
void ol_live_renew(void); /* in the child of a fork */

/* tables.c */

extern struct ol_table *ol_tables; /* only grows */

/* The table is ours to use, and a handler's not, until ol_table_leave(). */
bool ol_table_enter(void);
void ol_table_leave(void);
struct ol_table *ol_table_make(void);
void ol_table_free(struct ol_table *t);
struct ol_counts *ol_table_find(struct ol_table *t, const void *site,
				const struct ol_lock_ops *lock);
uint64_t ol_missed(void);
void ol_missed_reset(void);

static inline size_t ol_site_hash(const void *a, const void *b)
{
	uint64_t h = ((uint64_t)(uintptr_t)a ^ (uint64_t)(uintptr_t)b << 1) * 0x9e3779b97f4a7c15u;

	return (size_t)(h >> 32);
}

/* held.c */

extern char ol_no_lock; /* its address marks the ends of a stack of held locks */

/* The thread is about to be gone: what it still holds makes room for the next thread's locks. */
void ol_held_leave(struct ol_table *t);
bool ol_lock_is_held(const void *lock);

/* times.c */

unsigned ol_time_bucket(uint64_t ns);
void ol_time_release(const void *lock, ol_ticks_t now);
void ol_time_handover(const struct ol_call *c, ol_ticks_t now);
void ol_times_renew(void);

/* stacks.c */

ol_ticks_t ol_stack_due(void); /* when the wait that begins has its stack taken; or never */
struct ol_stack *ol_stack_take(const void *site);
void ol_stacks_renew(void);

/* What a stack was taken for is over, and how long it lasted is known. */
static inline void ol_stack_add_wait(struct ol_stack *s, uint64_t ns)
{
	ol_add_relaxed(&s->waits, (uint64_t)1); /* sums of statistics: they order nothing */
	ol_add_relaxed(&s->wait_ns, ns);
}

static inline void ol_stack_add_hold(struct ol_stack *s, uint64_t ns)
{
	ol_add_relaxed(&s->holds, (uint64_t)1);
	ol_add_relaxed(&s->hold_ns, ns);
}

/* waits.c */

void ol_waits_start(void);

#pragma GCC visibility pop
#endif
