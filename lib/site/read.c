/* SPDX-License-Identifier: MIT */
/* Sums over all ol_tables. */
#include "sites.h"

#include <errno.h>
#include <stdlib.h>

static void add_all(uint64_t *to, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ol_more(&to[i], ol_load_relaxed(&from[i]));
}

static bool add_record(struct ol_table *t, const struct ol_site_record *r)
{
	struct ol_counts *c = ol_table_find(t, r->site, r->lock);

	if (!c)
		return false;
	add_all(c->record.events, r->events, OL_EVENTS);
	add_all(c->record.places[0], r->places[0], OL_EVENTS * OL_PLACES);
	add_all(&c->record.wait_ns, &r->wait_ns, 1);
	add_all(&c->record.spin_ns, &r->spin_ns, 1);
	add_all(&c->record.hold_ns, &r->hold_ns, 1);
	add_all(&c->record.handover_ns, &r->handover_ns, 1);
	add_all(c->record.wait, r->wait, OL_BUCKETS);
	add_all(c->record.hold, r->hold, OL_BUCKETS);
	return true;
}

static bool add_table(struct ol_table *to, const struct ol_table *from)
{
	bool ok = true;

	for (struct ol_counts *c = ol_load_acquire(&from->first); c; c = c->next)
		ok &= add_record(to, &c->record);
	return ok;
}

static int busiest_first(const void *a, const void *b)
{
	const struct ol_counts *const *x = a, *const *y = b;
	uint64_t m = (*x)->record.events[OL_ACQUIRE], n = (*y)->record.events[OL_ACQUIRE];

	return m < n ? 1 : m > n ? -1 : 0;
}

static bool sum_up(struct ol_table *sum)
{
	bool ok = true;

	for (const struct ol_table *t = ol_load_acquire(&ol_tables); t; t = t->next)
		ok &= add_table(sum, t);
	return ok;
}

/* The records in one array, in order; null if there is no memory. */
static struct ol_counts **sorted(struct ol_table *sum)
{
	struct ol_counts **all = ol_site_memory(&sum->chunks, (sum->used + 1) * sizeof(*all)),
			 **next = all;

	if (!all)
		return 0;
	for (struct ol_counts *c = sum->first; c; c = c->next)
		*next++ = c;
	qsort(all, sum->used, sizeof(*all), busiest_first);
	return all;
}

int ol_sites_read(void (*each)(const struct ol_site_record *record, void *arg), void *arg)
{
	struct ol_table *sum = ol_table_make();
	struct ol_counts **all = 0;
	bool was_busy = me.busy;

	me.busy = 1; /* a handler that registered its thread now would wait for us */
	if (sum && sum_up(sum))
		all = sorted(sum);
	me.busy = was_busy;
	for (size_t i = 0; all && i < sum->used; i++)
		each(&all[i]->record, arg);
	if (sum)
		ol_table_free(sum);
	return all ? 0 : ENOMEM;
}

uint64_t ol_sites_missed(void)
{
	return ol_missed();
}

static void zero(uint64_t *counters, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ol_store_relaxed(&counters[i], (uint64_t)0);
}

static void zero_table(struct ol_table *t)
{
	for (struct ol_counts *c = t->first; c; c = c->next) {
		zero(c->record.events, OL_EVENTS);
		zero(c->record.places[0], OL_EVENTS * OL_PLACES);
		zero(&c->record.wait_ns, 1);
		zero(&c->record.spin_ns, 1);
		zero(&c->record.hold_ns, 1);
		zero(&c->record.handover_ns, 1);
		zero(c->record.wait, OL_BUCKETS);
		zero(c->record.hold, OL_BUCKETS);
	}
}

void ol_sites_reset(void)
{
	for (struct ol_table *t = ol_load_acquire(&ol_tables); t; t = t->next)
		zero_table(t);
	ol_missed_reset();
}
