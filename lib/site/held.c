/* SPDX-License-Identifier: MIT */
/*
 * What this thread holds. Most of it is on the stack, in the order of acquisition. An entry whose
 * lock another thread released stays until the lock comes back, and sinks into the map.
 */
#include "sites.h"

static struct ol_held *map_slot(struct held_map *map, const void *lock)
{
	size_t i = ol_site_hash(lock, 0) & map->mask;

	while (map->held[i].lock && map->held[i].lock != lock)
		i = (i + 1) & map->mask;
	return &map->held[i];
}

/* Others may be looking: the lock comes last. */
static void held_store(struct ol_held *to, const struct ol_held *from)
{
	to->slice = from->slice;
	to->since = from->since;
	to->stack = from->stack;
	ol_store_relaxed(&to->counts, from->counts);
	ol_store_relaxed(&to->lock, from->lock);
}

static bool map_grow(struct ol_table *t)
{
	size_t mask = t->others ? 2 * t->others->mask + 1 : 15;
	struct held_map *map =
		ol_site_memory(&t->chunks, sizeof(*map) + (mask + 1) * sizeof(*map->held));

	if (!map)
		return false;
	map->mask = mask;
	for (size_t i = 0; t->others && i <= t->others->mask; i++) {
		const struct ol_held *h = &t->others->held[i];

		if (h->lock)
			held_store(map_slot(map, h->lock), h);
	}
	map->used = t->others ? t->others->used : 0;
	ol_store_release(&t->others, map); /* others find it complete */
	return true;
}

static void map_add(struct ol_table *t, const struct ol_held *h)
{
	struct ol_held *slot;

	if ((!t->others || 4 * t->others->used >= 3 * t->others->mask) && !map_grow(t))
		return;
	slot = map_slot(t->others, h->lock);
	t->others->used += !slot->lock;
	held_store(slot, h);
}

/* Linear probing leaves no gap before an entry: what follows the hole moves up. */
static void map_close_gap(struct held_map *map, size_t hole)
{
	for (size_t i = (hole + 1) & map->mask; map->held[i].lock; i = (i + 1) & map->mask) {
		size_t home = ol_site_hash(map->held[i].lock, 0) & map->mask;

		if (((i - home) & map->mask) < ((i - hole) & map->mask))
			continue;
		held_store(&map->held[hole], &map->held[i]);
		hole = i;
	}
	ol_store_relaxed(&map->held[hole].lock, (const void *)0);
	map->used--;
}

/* The stack is full: its oldest entry goes into the map. */
static struct ol_held *make_room(struct ol_table *t)
{
	map_add(t, &t->stack[1]);
	for (size_t i = 1; i < DEEP; i++)
		held_store(&t->stack[i], &t->stack[i + 1]);
	ol_store_relaxed(&t->stack[DEEP].lock, (const void *)0);
	return &t->stack[DEEP];
}

/* Removes and returns it; all zero if this thread did not acquire it. */
static struct ol_held take_out(struct ol_table *t, const void *lock)
{
	struct ol_held *h = me.put_away - 1, found = { 0 };

	while (h > t->stack && h->lock != lock)
		h--;
	if (h > t->stack) {
		found = *h;
		for (; h + 1 < me.put_away; h++)
			held_store(h, h + 1);
		ol_store_relaxed(&h->lock, (const void *)0);
		me.put_away = h;
	} else if (t->others && (h = map_slot(t->others, lock))->lock) {
		found = *h;
		map_close_gap(t->others, (size_t)(h - t->others->held));
	}
	return found;
}

void ol_held_push(struct ol_call *c, uint64_t slice)
{
	struct ol_held now = { c->lock, slice, ol_times_kept ? ol_now() : 0, c->counts, me.hold };
	struct ol_held *h;

	me.hold = 0;
	if (!ol_table_enter())
		return;
	h = me.put_away;
	if (h->lock)
		h = make_room(me.table);
	held_store(h, &now);
	me.put_away = h + 1;
	ol_table_leave();
}

/* The record that the release counts for; with times, the hold ends now. */
struct ol_counts *ol_held_pop(const void *lock, const struct ol_lock_ops *ops, const void *site)
{
	ol_ticks_t now = ol_times_kept ? ol_now() : 0;
	uint64_t ns;
	struct ol_held h = { 0 };

	if (!ol_table_enter())
		return 0;
	if (me.table)
		h = take_out(me.table, lock);
	if (h.counts && h.slice != ol_counting_slice(&me))
		ol_one_more(&h.counts->record.events[OL_LHP]);
	if (h.since && now) {
		ns = ol_ns_from_ticks(now - h.since);
		ol_more(&h.counts->record.hold_ns, ns);
		ol_more(&h.counts->record.hold[ol_time_bucket(ns)], 1);
		if (h.stack)
			ol_stack_add_hold(h.stack, ns);
	}
	if (now)
		ol_time_release(lock, now);
	ol_table_leave();
	return h.counts ? h.counts : ol_counts_find(site, ops);
}

void ol_held_leave(struct ol_table *t)
{
	for (size_t i = 1; i <= DEEP; i++) {
		if (t->stack[i].lock)
			map_add(t, &t->stack[i]);
		ol_store_relaxed(&t->stack[i].lock, (const void *)0);
	}
}

/* For other threads. */

static const struct ol_held *held_by(const struct ol_table *t, const void *lock)
{
	const struct held_map *map = ol_load_acquire(&t->others);

	for (size_t i = 1; i <= DEEP; i++)
		if (ol_load_relaxed(&t->stack[i].lock) == lock)
			return &t->stack[i];
	for (size_t i = 0; map && i <= map->mask; i++)
		if (ol_load_relaxed(&map->held[i].lock) == lock)
			return &map->held[i];
	return 0;
}

/* The entry may be given to another lock meanwhile, whose record it then is: a record all the same. */
const void *ol_sites_holder(const void *lock)
{
	for (const struct ol_table *t = ol_load_acquire(&ol_tables); t; t = t->next) {
		const struct ol_held *h = held_by(t, lock);
		const struct ol_counts *counts = h ? ol_load_relaxed(&h->counts) : 0;

		if (counts)
			return counts->record.site;
	}
	return 0;
}

bool ol_lock_is_held(const void *lock)
{
	const struct ol_table *t = ol_load_acquire(&ol_tables);

	while (t && !held_by(t, lock))
		t = t->next;
	return t;
}
