/* SPDX-License-Identifier: MIT */
/*
 * Site records. Each thread counts in a table of its own, with plain stores that nobody else makes;
 * readers walk the threads' lists of records. Tables of threads that exit are added to `gone`.
 *
 * A signal handler may take locks too. If it finds its thread at work on the table (`busy`) it
 * leaves it alone and counts what it could not record.
 */
#include "site.h"
#include "internal.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

struct ol_counts {
	struct ol_site_record record;
	struct ol_counts *next;
};

/* A lock that this thread holds. */
struct held {
	void *lock;
	ol_ticks_t since;
	struct ol_counts *counts;
};

/* Memory straight from the kernel: malloc may be what takes the lock. */
struct chunk {
	struct chunk *next;
	size_t size, used;
};

struct table {
	struct table *next; /* in `threads` */
	struct chunk *chunks;
	struct ol_counts *first;  /* all records, newest first */
	struct ol_counts **slots; /* the same, by hash of (site, lock) */
	size_t mask, used;
	struct held *held; /* by hash of the lock's address */
	size_t held_mask, held_used;
};

static OL_THREAD_LOCAL struct {
	struct table *table;
	struct ol_counts *current; /* what ol_count_event() counts for */
	const void *at;
	uint8_t busy;
} me;

static struct table *threads, *gone; /* both under `registry_taken` */
static uint32_t registry_taken;
static uint64_t missed;

static void missed_one(void)
{
	ol_add_relaxed(&missed, 1u);
}

/* Ours to use, and a handler's not, until leave(); the fences are against the compiler. */
static bool enter(void)
{
	if (me.busy)
		return false;
	me.busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static void leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	me.busy = 0;
}

/* Held while threads come and go and while somebody reads: never where locks are counted. */
static void registry_lock(void)
{
	while (ol_xchg_acquire(&registry_taken, 1u))
		ol_yield();
}

static void registry_unlock(void)
{
	ol_store_release(&registry_taken, 0u);
}

/* Memory. */

#define CHUNK	(64u << 10)

static struct chunk *chunk_make(size_t size)
{
	struct chunk *c = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (c == MAP_FAILED)
		return 0;
	c->size = size;
	c->used = sizeof(*c);
	return c;
}

/* All zero; null if there is none. */
static void *take(struct chunk **chunks, size_t size)
{
	struct chunk *c = *chunks;
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (!c || c->size - c->used < size) {
		c = chunk_make(size + sizeof(*c) > CHUNK ? size + sizeof(*c) : CHUNK);
		if (!c)
			return 0;
		c->next = *chunks;
		*chunks = c;
	}
	p = (char *)c + c->used;
	c->used += size;
	return p;
}

static struct table *table_make(void)
{
	struct chunk *chunks = 0;
	struct table *t = take(&chunks, sizeof(*t));

	if (t)
		t->chunks = chunks;
	return t;
}

/* The table lies in one of its own chunks. */
static void table_free(struct table *t)
{
	for (struct chunk *c = t->chunks, *next; c; c = next) {
		next = c->next;
		munmap(c, c->size);
	}
}

/* Records by (site, lock). */

static size_t hash(const void *a, const void *b)
{
	uint64_t h = ((uint64_t)(uintptr_t)a ^ (uint64_t)(uintptr_t)b << 1) * 0x9e3779b97f4a7c15u;

	return (size_t)(h >> 32);
}

static struct ol_counts **slot_of(struct ol_counts **slots, size_t mask, const void *site,
				  const struct ol_lock_ops *lock)
{
	size_t i = hash(site, lock) & mask;

	while (slots[i] && (slots[i]->record.site != site || slots[i]->record.lock != lock))
		i = (i + 1) & mask;
	return &slots[i];
}

static bool slots_grow(struct table *t)
{
	size_t mask = t->mask ? 2 * t->mask + 1 : 15;
	struct ol_counts **slots = take(&t->chunks, (mask + 1) * sizeof(*slots));

	if (!slots)
		return false;
	for (struct ol_counts *c = t->first; c; c = c->next)
		*slot_of(slots, mask, c->record.site, c->record.lock) = c;
	t->slots = slots;
	t->mask = mask;
	return true;
}

static struct ol_counts *find(struct table *t, const void *site, const struct ol_lock_ops *lock)
{
	struct ol_counts **slot, *c;

	if (4 * t->used >= 3 * t->mask && !slots_grow(t))
		return 0;
	slot = slot_of(t->slots, t->mask, site, lock);
	if (*slot)
		return *slot;
	c = take(&t->chunks, sizeof(*c));
	if (!c)
		return 0;
	c->record.site = site;
	c->record.lock = lock;
	c->next = t->first;
	ol_store_release(&t->first, c); /* readers find the record complete */
	t->used++;
	return *slot = c;
}

/* This thread's table; null if it can have none. */
static struct table *mine(void)
{
	struct table *t = me.table;

	if (t || !ol_thread_register())
		return t;
	t = table_make();
	if (!t)
		return 0;
	registry_lock();
	t->next = threads;
	threads = t;
	registry_unlock();
	return me.table = t;
}

/* What this thread holds. An entry whose lock another thread released stays until it comes back. */

static struct held *held_slot(struct held *held, size_t mask, const void *lock)
{
	size_t i = hash(lock, 0) & mask;

	while (held[i].lock && held[i].lock != lock)
		i = (i + 1) & mask;
	return &held[i];
}

static bool held_grow(struct table *t)
{
	size_t mask = t->held_mask ? 2 * t->held_mask + 1 : 15;
	struct held *held = take(&t->chunks, (mask + 1) * sizeof(*held));

	if (!held)
		return false;
	for (size_t i = 0; t->held && i <= t->held_mask; i++)
		if (t->held[i].lock)
			*held_slot(held, mask, t->held[i].lock) = t->held[i];
	t->held = held;
	t->held_mask = mask;
	return true;
}

static void held_add(struct table *t, void *lock, ol_ticks_t since, struct ol_counts *counts)
{
	struct held *h;

	if (4 * t->held_used >= 3 * t->held_mask && !held_grow(t))
		return;
	h = held_slot(t->held, t->held_mask, lock);
	t->held_used += !h->lock;
	*h = (struct held){ lock, since, counts };
}

/* Linear probing leaves no gap before an entry: what follows the hole moves up. */
static void held_close_gap(struct table *t, size_t hole)
{
	size_t mask = t->held_mask;

	for (size_t i = (hole + 1) & mask; t->held[i].lock; i = (i + 1) & mask) {
		size_t home = hash(t->held[i].lock, 0) & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		t->held[hole] = t->held[i];
		hole = i;
	}
	t->held[hole] = (struct held){ 0, 0, 0 };
	t->held_used--;
}

/* Removes and returns it; all zero if this thread did not acquire it. */
static struct held held_remove(struct table *t, const void *lock)
{
	struct held *h = t->held ? held_slot(t->held, t->held_mask, lock) : 0;
	struct held found = { 0, 0, 0 };

	if (h && h->lock) {
		found = *h;
		held_close_gap(t, (size_t)(h - t->held));
	}
	return found;
}

/* Counting. Only this thread stores to its records, so a relaxed load and store suffice. */

static void add(uint64_t *counter, uint64_t n)
{
	ol_store_relaxed(counter, ol_load_relaxed(counter) + n);
}

static unsigned bucket(uint64_t ns)
{
	unsigned log, i;

	if (ns < 2)
		return (unsigned)ns;
	log = 63u - (unsigned)__builtin_clzll(ns);
	i = 2 * log + (unsigned)(ns >> (log - 1) & 1);
	return i < OL_BUCKETS ? i : OL_BUCKETS - 1;
}

static void add_time(uint64_t *sum, uint64_t *buckets, ol_ticks_t ticks)
{
	uint64_t ns = ol_ns_from_ticks(ticks);

	add(sum, ns);
	add(&buckets[bucket(ns)], 1);
}

void ol_at_site(const void *site)
{
	me.at = site;
}

void ol_count_event(unsigned event)
{
	if (!me.current)
		return; /* a lock that the library was not asked to take */
	if (!enter()) {
		missed_one();
		return;
	}
	add(&me.current->record.events[event], 1);
	leave();
}

void ol_count_event_at(unsigned event, unsigned n)
{
	if (!me.current)
		return;
	if (!enter()) {
		missed_one();
		return;
	}
	add(&me.current->record.events[event], 1);
	add(&me.current->record.places[event][ol_place(n)], 1);
	leave();
}

struct ol_acquiring ol_acquire_begin(void *lock, const struct ol_lock_ops *ops, const void *site)
{
	struct ol_acquiring a = { 0, me.current, lock, 0 };

	if (enter()) {
		struct table *t = mine();

		if (me.at)
			site = me.at;
		me.at = 0;
		a.counts = t ? find(t, site, ops) : 0;
		me.current = a.counts;
		leave();
	}
	a.since = ol_now();
	return a;
}

void ol_acquire_end(struct ol_acquiring *a, unsigned outcome)
{
	ol_ticks_t now = ol_now();

	if (!a->counts || !enter()) {
		missed_one();
	} else {
		struct ol_site_record *r = &a->counts->record;

		add(&r->events[outcome], 1);
		if (outcome == OL_ACQUIRE) {
			add_time(&r->wait_ns, r->wait, now - a->since);
			held_add(me.table, a->lock, now, a->counts);
		}
		leave();
	}
	me.current = a->before;
}

/* A lock that another thread acquired has no known hold time; its release counts for `site`. */
struct ol_releasing ol_release_begin(void *lock, const struct ol_lock_ops *ops, const void *site)
{
	struct ol_releasing r = { me.current };
	ol_ticks_t now = ol_now();

	if (enter()) {
		struct table *t = mine();
		struct held h = t ? held_remove(t, lock) : (struct held){ 0, 0, 0 };

		if (h.counts)
			add_time(&h.counts->record.hold_ns, h.counts->record.hold, now - h.since);
		me.current = h.counts || !t ? h.counts : find(t, site, ops);
		leave();
	}
	return r;
}

void ol_release_end(struct ol_releasing *r)
{
	me.current = r->before;
}

/* Reading. */

static void add_all(uint64_t *to, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(&to[i], ol_load_relaxed(&from[i]));
}

static bool add_record(struct table *t, const struct ol_site_record *r)
{
	struct ol_counts *c = find(t, r->site, r->lock);

	if (!c)
		return false;
	add_all(c->record.events, r->events, OL_EVENTS);
	add_all(c->record.places[0], r->places[0], OL_EVENTS * OL_PLACES);
	add_all(&c->record.wait_ns, &r->wait_ns, 1);
	add_all(&c->record.hold_ns, &r->hold_ns, 1);
	add_all(c->record.wait, r->wait, OL_BUCKETS);
	add_all(c->record.hold, r->hold, OL_BUCKETS);
	return true;
}

static bool add_table(struct table *to, const struct table *from)
{
	bool ok = true;

	if (from)
		for (struct ol_counts *c = ol_load_acquire(&from->first); c; c = c->next)
			ok &= add_record(to, &c->record);
	return ok;
}

static void unlink_thread(const struct table *t)
{
	struct table **link = &threads;

	while (*link && *link != t)
		link = &(*link)->next;
	if (*link)
		*link = t->next;
}

void ol_sites_leave(void)
{
	struct table *t = me.table;

	me.busy = 1; /* for good: whatever comes now is missed */
	me.table = 0;
	me.current = 0;
	if (!t)
		return;
	registry_lock();
	if (!gone)
		gone = table_make();
	if (gone && add_table(gone, t)) {
		unlink_thread(t);
		table_free(t);
	} /* else it stays and is read as if the thread lived */
	registry_unlock();
}

/* Memory inherited from the parent stays: the caller may be inside a lock that counts there. */
void ol_sites_renew(void)
{
	registry_taken = 0;
	threads = gone = 0;
	missed = 0;
	me.table = 0;
	me.current = 0;
	me.busy = 0;
}

static int busiest_first(const void *a, const void *b)
{
	const struct ol_counts *const *x = a, *const *y = b;
	uint64_t m = (*x)->record.events[OL_ACQUIRE], n = (*y)->record.events[OL_ACQUIRE];

	return m < n ? 1 : m > n ? -1 : 0;
}

static bool sum_up(struct table *sum)
{
	bool ok;

	registry_lock();
	ok = add_table(sum, gone);
	for (const struct table *t = threads; t; t = t->next)
		ok &= add_table(sum, t);
	registry_unlock();
	return ok;
}

/* The records in one array, in order; null if there is no memory. */
static struct ol_counts **sorted(struct table *sum)
{
	struct ol_counts **all = take(&sum->chunks, (sum->used + 1) * sizeof(*all)), **next = all;

	if (!all)
		return 0;
	for (struct ol_counts *c = sum->first; c; c = c->next)
		*next++ = c;
	qsort(all, sum->used, sizeof(*all), busiest_first);
	return all;
}

int ol_sites_read(void (*each)(const struct ol_site_record *record, void *arg), void *arg)
{
	struct table *sum = table_make();
	struct ol_counts **all = 0;
	bool was_busy = me.busy;

	me.busy = 1; /* a handler that registered its thread now would wait for us */
	if (sum && sum_up(sum))
		all = sorted(sum);
	me.busy = was_busy;
	for (size_t i = 0; all && i < sum->used; i++)
		each(&all[i]->record, arg);
	if (sum)
		table_free(sum);
	return all ? 0 : ENOMEM;
}

uint64_t ol_sites_missed(void)
{
	return ol_load_relaxed(&missed);
}

static void zero(uint64_t *counters, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ol_store_relaxed(&counters[i], (uint64_t)0);
}

static void zero_table(struct table *t)
{
	for (struct ol_counts *c = t->first; c; c = c->next) {
		zero(c->record.events, OL_EVENTS);
		zero(c->record.places[0], OL_EVENTS * OL_PLACES);
		zero(&c->record.wait_ns, 1);
		zero(&c->record.hold_ns, 1);
		zero(c->record.wait, OL_BUCKETS);
		zero(c->record.hold, OL_BUCKETS);
	}
}

void ol_sites_reset(void)
{
	registry_lock();
	if (gone)
		zero_table(gone);
	for (struct table *t = threads; t; t = t->next)
		zero_table(t);
	ol_store_relaxed(&missed, (uint64_t)0);
	registry_unlock();
}
