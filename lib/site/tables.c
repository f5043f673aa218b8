/* SPDX-License-Identifier: MIT */
/* A table for each thread, with its records by (site, lock). */
#include "sites.h"

#include <stdatomic.h>
#include <stdlib.h>

/* No record, and no entry to note a lock in: both lead to the functions that are not inline. */
static struct ol_counts no_counts;
char ol_no_lock;
static struct ol_held no_entry[2] = { { 0 }, { .lock = &ol_no_lock } };

OL_THREAD_LOCAL struct ol_counting ol_counting = { .last = &no_counts, .top = &no_entry[1] };

struct ol_table *ol_tables;
static uint64_t missed;

void ol_call_missed(void)
{
	ol_add_relaxed(&missed, 1u);
}

uint64_t ol_missed(void)
{
	return ol_load_relaxed(&missed);
}

void ol_missed_reset(void)
{
	ol_store_relaxed(&missed, (uint64_t)0);
}

/* The fences are against the compiler. */
bool ol_table_enter(void)
{
	if (me.busy)
		return false;
	me.busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	me.put_away = me.top;
	me.top = &no_entry[1];
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

void ol_table_leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	me.top = me.put_away;
	atomic_signal_fence(memory_order_seq_cst);
	me.busy = 0;
}

struct ol_table *ol_table_make(void)
{
	struct chunk *chunks = 0;
	struct ol_table *t = ol_site_memory(&chunks, sizeof(*t));

	if (t)
		t->chunks = chunks;
	return t;
}

/* The table lies in one of its own chunks. */
void ol_table_free(struct ol_table *t)
{
	ol_chunks_free(t->record_chunks);
	ol_chunks_free(t->chunks);
}

/* Records. */

static struct ol_counts **slot_of(struct ol_counts **slots, size_t mask, const void *site,
				  const struct ol_lock_ops *lock)
{
	size_t i = ol_site_hash(site, lock) & mask;

	while (slots[i] && (slots[i]->record.site != site || slots[i]->record.lock != lock))
		i = (i + 1) & mask;
	return &slots[i];
}

static bool slots_grow(struct ol_table *t)
{
	size_t mask = t->mask ? 2 * t->mask + 1 : 15;
	struct ol_counts **slots = ol_site_memory(&t->chunks, (mask + 1) * sizeof(*slots));

	if (!slots)
		return false;
	for (struct ol_counts *c = t->first; c; c = c->next)
		*slot_of(slots, mask, c->record.site, c->record.lock) = c;
	t->slots = slots;
	t->mask = mask;
	return true;
}

struct ol_counts *ol_table_find(struct ol_table *t, const void *site,
				const struct ol_lock_ops *lock)
{
	struct ol_counts **slot, *c;

	if (4 * t->used >= 3 * t->mask && !slots_grow(t))
		return 0;
	slot = slot_of(t->slots, t->mask, site, lock);
	if (*slot)
		return *slot;
	c = ol_load_relaxed(&t->taken) ? ol_site_record_memory(&t->record_chunks, sizeof(*c))
				       : ol_site_memory(&t->record_chunks, sizeof(*c));
	if (!c)
		return 0;
	c->record.site = site;
	c->record.lock = lock;
	c->next = t->first;
	ol_store_release(&t->first, c); /* readers find the record complete */
	t->used++;
	return *slot = c;
}

/* Threads. */

static struct ol_table *inherited(void)
{
	struct ol_table *t = ol_load_acquire(&ol_tables);

	/* Acquire: what the thread that left it wrote. */
	while (t && (ol_load_relaxed(&t->taken) || !ol_cas_acquire(&t->taken, 0u, 1u)))
		t = t->next;
	return t;
}

static struct ol_table *table_new(void)
{
	struct ol_table *t = ol_table_make();

	if (!t)
		return 0;
	ol_store_relaxed(&t->taken, 1u);
	t->stack[DEEP + 1].lock = &ol_no_lock;
	do {
		t->next = ol_load_relaxed(&ol_tables);
	} while (!ol_cas_release(&ol_tables, t->next, t)); /* readers find it complete */
	return t;
}

/* This thread's table; null if it can have none. */
static struct ol_table *mine(void)
{
	struct ol_table *t = me.table;

	if (t || !ol_thread_register())
		return t;
	t = inherited();
	if (!t)
		t = table_new();
	if (!t)
		return 0;
	me.put_away = &t->stack[1];
	ol_slice_watch();
	return me.table = t;
}

struct ol_counts *ol_counts_find(const void *site, const struct ol_lock_ops *ops)
{
	struct ol_table *t;
	struct ol_counts *c;

	if (!ol_table_enter())
		return 0;
	t = mine();
	c = t ? ol_table_find(t, site, ops) : 0;
	if (c)
		me.last = c;
	ol_table_leave();
	return c;
}

void ol_sites_leave(void)
{
	struct ol_table *t = me.table;

	me.busy = 1; /* for good: whatever comes now is missed */
	me.top = &no_entry[1];
	me.last = &no_counts;
	me.table = 0;
	me.current = 0;
	if (!t)
		return;
	ol_held_leave(t);
	ol_store_release(&t->taken, 0u);
}

/* Memory inherited from the parent stays: the caller may be inside a lock that counts there. */
void ol_sites_renew(void)
{
	ol_tables = 0;
	missed = 0;
	me.table = 0;
	me.current = 0;
	me.last = &no_counts;
	me.top = &no_entry[1];
	me.busy = 0;
	me.hold = 0;
	ol_stacks_renew();
	ol_times_renew();
	ol_live_renew();
}

void ol_sites_start(void)
{
	const char *keep = secure_getenv("OVERLOCK_HISTOGRAMS");

	ol_waits_start();
	ol_sites_keep_times(keep && *keep && strcmp(keep, "0") != 0);
	ol_live_start();
}
