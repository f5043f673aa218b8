/* SPDX-License-Identifier: MIT */
/*
 * Site records, and what counting.h does not do inline. Each thread counts in a table of its own,
 * with plain stores that nobody else makes; readers walk the tables. A thread that exits leaves
 * its table, with all that is in it, to one that comes.
 *
 * A signal handler may take locks too. If it finds its thread at work on the table (`busy`) it
 * leaves it alone and counts what it could not record.
 */
#include "counting.h"
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory straight from the kernel: malloc may be what takes the lock. */
struct chunk {
	struct chunk *next;
	size_t size, used;
};

/* Locks held, by hash of their address: those that are not on the stack below. */
struct held_map {
	size_t mask, used;
	struct ol_held held[];
};

enum { DEEP = 8 }; /* locks held at once, before it takes longer */

struct ol_table {
	struct ol_table *next; /* in `tables` */
	uint32_t taken;	       /* by a thread */
	struct chunk *chunks, *record_chunks;
	struct ol_counts *first;  /* all records, newest first */
	struct ol_counts **slots; /* the same, by hash of (site, lock) */
	size_t mask, used;
	struct ol_held stack[DEEP + 2]; /* with a place at either end that is never used */
	struct held_map *others;
};

/* No record, and no place to note a lock: whoever finds these takes the long way. */
static struct ol_counts no_counts;
static char nobody;
static struct ol_held no_place[2] = { { 0 }, { .lock = &nobody } };

_Thread_local struct ol_counting ol_counting = { .last = &no_counts, .top = &no_place[1] };
#define me ol_counting

bool ol_times_kept;

static struct ol_table *tables; /* only grows */
static uint64_t missed;

void ol_call_missed(void)
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
	me.put_away = me.top;
	me.top = &no_place[1];
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static void leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	me.top = me.put_away;
	atomic_signal_fence(memory_order_seq_cst);
	me.busy = 0;
}

/* Memory. */

#define CHUNK	OL_LIVE_BLOCK

static char live_name[512]; /* the file that others may read records from; site.h; empty: none */
static uint64_t live_size;

/*
 * A block of the file, which thereby grows; MAP_FAILED if there is none. The file is not kept open:
 * programs close descriptors that they do not know, and use their numbers again.
 */
static void *live_block(void)
{
	uint64_t at = ol_add_relaxed(&live_size, (uint64_t)CHUNK);
	int fd = open(live_name, O_RDWR | O_CLOEXEC);
	void *block = MAP_FAILED;

	if (fd >= 0 && pwrite(fd, "", 1, (off_t)(at + CHUNK - 1)) == 1)
		block = mmap(0, CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
	if (fd >= 0)
		close(fd);
	return block;
}

static struct chunk *chunk_make(size_t size, bool for_records)
{
	struct chunk *c = MAP_FAILED;

	if (for_records && *live_name)
		c = live_block();
	if (c == MAP_FAILED)
		c = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c == MAP_FAILED)
		return 0;
	c->size = size;
	c->used = sizeof(*c);
	return c;
}

/* All zero; null if there is none. */
static void *take_from(struct chunk **chunks, size_t size, bool for_records)
{
	struct chunk *c = *chunks;
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (!c || c->size - c->used < size) {
		c = chunk_make(size + sizeof(*c) > CHUNK ? size + sizeof(*c) : CHUNK, for_records);
		if (!c)
			return 0;
		c->next = *chunks;
		*chunks = c;
	}
	p = (char *)c + c->used;
	c->used += size;
	return p;
}

static void *take(struct chunk **chunks, size_t size)
{
	return take_from(chunks, size, false);
}

static struct ol_table *table_make(void)
{
	struct chunk *chunks = 0;
	struct ol_table *t = take(&chunks, sizeof(*t));

	if (t)
		t->chunks = chunks;
	return t;
}

static void chunks_free(struct chunk *c)
{
	for (struct chunk *next; c; c = next) {
		next = c->next;
		munmap(c, c->size);
	}
}

/* The table lies in one of its own chunks. */
static void table_free(struct ol_table *t)
{
	chunks_free(t->record_chunks);
	chunks_free(t->chunks);
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

static bool slots_grow(struct ol_table *t)
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

static struct ol_counts *find(struct ol_table *t, const void *site, const struct ol_lock_ops *lock)
{
	struct ol_counts **slot, *c;

	if (4 * t->used >= 3 * t->mask && !slots_grow(t))
		return 0;
	slot = slot_of(t->slots, t->mask, site, lock);
	if (*slot)
		return *slot;
	c = take_from(&t->record_chunks, sizeof(*c), ol_load_relaxed(&t->taken) != 0);
	if (!c)
		return 0;
	c->record.site = site;
	c->record.lock = lock;
	c->next = t->first;
	ol_store_release(&t->first, c); /* readers find the record complete */
	t->used++;
	return *slot = c;
}

static struct ol_table *inherited(void)
{
	struct ol_table *t = ol_load_acquire(&tables);

	/* Acquire: what the thread that left it wrote. */
	while (t && (ol_load_relaxed(&t->taken) || !ol_cas_acquire(&t->taken, 0u, 1u)))
		t = t->next;
	return t;
}

static struct ol_table *table_new(void)
{
	struct ol_table *t = table_make();

	if (!t)
		return 0;
	ol_store_relaxed(&t->taken, 1u);
	t->stack[DEEP + 1].lock = &nobody;
	do {
		t->next = ol_load_relaxed(&tables);
	} while (!ol_cas_release(&tables, t->next, t)); /* readers find it complete */
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

	if (!enter())
		return 0;
	t = mine();
	c = t ? find(t, site, ops) : 0;
	if (c)
		me.last = c;
	leave();
	return c;
}

/*
 * What this thread holds. Most of it is on the stack, in the order of acquisition. An entry whose
 * lock another thread released stays until the lock comes back, and sinks into the map.
 */

static struct ol_held *map_slot(struct held_map *map, const void *lock)
{
	size_t i = hash(lock, 0) & map->mask;

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
	struct held_map *map = take(&t->chunks, sizeof(*map) + (mask + 1) * sizeof(*map->held));

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
		size_t home = hash(map->held[i].lock, 0) & map->mask;

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

/* Times. */

static unsigned bucket(uint64_t ns)
{
	unsigned log, i;

	if (ns < 2)
		return (unsigned)ns;
	log = 63u - (unsigned)__builtin_clzll(ns);
	i = 2 * log + (unsigned)(ns >> (log - 1) & 1);
	return i < OL_BUCKETS ? i : OL_BUCKETS - 1;
}

/*
 * The last release of a lock, by hash of its address, for the waiter that gets it next. A release
 * of another lock may take the place; then the hand-over is not timed.
 */
static struct release {
	const void *lock;
	ol_ticks_t at;
} releases[1024];

static struct release *release_of(const void *lock)
{
	return &releases[hash(lock, 0) % (sizeof(releases) / sizeof(*releases))];
}

/* Releases from before we waited are not hand-overs to us. */
static void time_handover(const struct ol_call *c, ol_ticks_t now)
{
	struct release *r = release_of(c->lock);
	ol_ticks_t at = ol_load_relaxed(&r->at);

	if (ol_load_relaxed(&r->lock) != c->lock || at < c->since || at > now)
		return;
	ol_one_more(&c->counts->record.events[OL_HANDOVER]);
	ol_more(&c->counts->record.handover_ns, ol_ns_from_ticks(now - at));
}

/* What a stack was taken for is over, and how long it lasted is known. */
static void add_wait(struct ol_stack *s, uint64_t ns)
{
	ol_add_relaxed(&s->waits, (uint64_t)1); /* sums of statistics: they order nothing */
	ol_add_relaxed(&s->wait_ns, ns);
}

static void add_hold(struct ol_stack *s, uint64_t ns)
{
	ol_add_relaxed(&s->holds, (uint64_t)1);
	ol_add_relaxed(&s->hold_ns, ns);
}

void ol_held_push(struct ol_call *c, uint64_t slice)
{
	struct ol_held now = { c->lock, slice, ol_times_kept ? ol_now() : 0, c->counts, me.hold };
	struct ol_held *h;

	me.hold = 0;
	if (!enter())
		return;
	h = me.put_away;
	if (h->lock)
		h = make_room(me.table);
	held_store(h, &now);
	me.put_away = h + 1;
	leave();
}

/* The record that the release counts for; with times, the hold ends now. */
struct ol_counts *ol_held_pop(const void *lock, const struct ol_lock_ops *ops, const void *site)
{
	ol_ticks_t now = ol_times_kept ? ol_now() : 0;
	uint64_t ns;
	struct ol_held h = { 0 };

	if (!enter())
		return 0;
	if (me.table)
		h = take_out(me.table, lock);
	if (h.counts && h.slice != ol_counting_slice(&me))
		ol_one_more(&h.counts->record.events[OL_LHP]);
	if (h.since && now) {
		ns = ol_ns_from_ticks(now - h.since);
		ol_more(&h.counts->record.hold_ns, ns);
		ol_more(&h.counts->record.hold[bucket(ns)], 1);
		if (h.stack)
			add_hold(h.stack, ns);
	}
	if (now) {
		ol_store_relaxed(&release_of(lock)->lock, lock);
		ol_store_relaxed(&release_of(lock)->at, now);
	}
	leave();
	return h.counts ? h.counts : ol_counts_find(site, ops);
}

/* Waits. */

#define STALL_NS 1000 /* 000 section 3: 2048 polls, "roughly 1 us" */

enum { NOT_STALLED, FOUND_HELD, FOUND_FREE };

static ol_ticks_t stall_ticks;

/* ol_sites_watch(). */
static ol_ticks_t (*watch)(ol_ticks_t began);
static ol_ticks_t watch_first = OL_NEVER;

void ol_sites_watch(ol_ticks_t first, ol_ticks_t (*look)(ol_ticks_t began))
{
	watch = look;
	watch_first = first;
}

/*
 * Stacks. To take one takes far longer than a short wait, so a wait has to last first, and who has taken
 * one takes none for 50 times as long, by chance half or one and a half of that: a fixed rhythm could
 * be the program's own. Whether a wait may have one is decided when it begins; decided later, waits
 * would be chosen by their length.
 */
enum { STACK_SHARE = 50 };
static const uint64_t STACK_MOST_NS = 1000000; /* who took longer had lost its CPU */

static struct ol_stack *(*take_stack)(const void *site);
static ol_ticks_t stack_first = OL_NEVER;

void ol_sites_take_stacks(ol_ticks_t first, struct ol_stack *(*take)(const void *site))
{
	take_stack = take;
	stack_first = first;
}

/* Knuth's constants for a linear congruential generator; begun by where the thread's variables are. */
static uint64_t by_chance(uint64_t below)
{
	if (!me.chance)
		me.chance = (uintptr_t)&me;
	me.chance = me.chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (me.chance >> 33) % (below + 1);
}

static struct ol_stack *stack_of(const void *site)
{
	ol_ticks_t began = ol_now(), took, most = ol_ticks_from_ns(STACK_MOST_NS);
	struct ol_stack *s;

	me.stack_due = OL_NEVER; /* for handlers too, and for what is called to unwind */
	s = take_stack(site);
	took = ol_now() - began;
	took = took < most ? took : most;
	me.stack_due = ol_after(1, STACK_SHARE / 2 * took + by_chance(STACK_SHARE * took));
	return s;
}

static bool stack_is_due(void)
{
	return OL_UNLIKELY(take_stack != 0) && me.stack_due != OL_NEVER &&
	       (!me.stack_due || ol_passed(me.stack_due));
}

void ol_sites_take_for_hold(const void *site)
{
	me.hold = stack_is_due() ? stack_of(site) : 0;
}

static void take_for_wait(struct ol_call *c)
{
	c->stack_at = OL_NEVER;
	c->stack = stack_of(c->counts->record.site);
}

static void look_if_due(struct ol_call *c)
{
	if (OL_UNLIKELY(watch != 0) && ol_passed(c->look_at))
		c->look_at = watch(c->since);
	if (OL_UNLIKELY(take_stack != 0) && ol_passed(c->stack_at))
		take_for_wait(c);
}

static void wait_begin(struct ol_call *c)
{
	c->asleep = 0;
	c->slice = ol_counting_slice(&me);
	c->preempted = 0;
	c->stalled = NOT_STALLED;
	c->since = ol_now();
	c->look_at = ol_after(1, watch_first);
	c->stack = 0;
	c->stack_at = stack_is_due() ? ol_after(1, stack_first) : OL_NEVER;
}

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
	for (const struct ol_table *t = ol_load_acquire(&tables); t; t = t->next) {
		const struct ol_held *h = held_by(t, lock);
		const struct ol_counts *counts = h ? ol_load_relaxed(&h->counts) : 0;

		if (counts)
			return counts->record.site;
	}
	return 0;
}

/*
 * Whoever stalls behind a lock that nobody holds waits for a waiter that has lost its CPU: another,
 * or itself until now.
 */
static void look_for_holder(struct ol_call *c)
{
	const struct ol_table *t = ol_load_acquire(&tables);

	while (t && !held_by(t, c->lock))
		t = t->next;
	c->stalled = t ? FOUND_HELD : FOUND_FREE;
}

void ol_count_poll(void)
{
	struct ol_call *c = me.current;

	if (!c || !c->since)
		return;
	if (!c->stalled && ol_now() - c->since > stall_ticks)
		look_for_holder(c);
	look_if_due(c);
}

ol_ticks_t ol_count_until(ol_ticks_t until)
{
	const struct ol_call *c = me.current;

	return c && c->since ? ol_earlier(until, c->look_at) : until;
}

/*
 * Who goes to sleep will have waited for long enough. A stack must be taken before it parks: it may be
 * woken with the lock in its hands.
 */
void ol_count_sleep(bool parks)
{
	struct ol_call *c = me.current;

	if (!c || !c->since)
		return;
	if (!c->stalled)
		look_for_holder(c);
	look_if_due(c);
	if (parks && c->stack_at != OL_NEVER)
		take_for_wait(c);
	c->preempted |= c->slice != ol_counting_slice(&me);
	c->asleep -= ol_now();
}

/* The slice that it gave up itself was not taken from it. */
void ol_count_wake(void)
{
	struct ol_call *c = me.current;

	if (!c || !c->since)
		return;
	c->asleep += ol_now();
	c->slice = ol_counting_slice(&me);
}

void ol_wait_over(struct ol_call *c, unsigned outcome)
{
	struct ol_site_record *r = &c->counts->record;
	ol_ticks_t now = ol_now(), waited = now - c->since;
	uint64_t ns = ol_ns_from_ticks(waited);

	ol_more(&r->wait_ns, ns);
	if (c->stack)
		add_wait(c->stack, ns);
	ol_more(&r->spin_ns, ol_ns_from_ticks(waited - c->asleep));
	if (ol_times_kept)
		ol_more(&r->wait[bucket(ns)], 1);
	if (outcome != OL_ACQUIRE)
		return;
	if (ol_times_kept)
		time_handover(c, now);
	if (c->preempted || c->slice != ol_counting_slice(&me))
		ol_one_more(&r->events[OL_LWP]);
	if (waited <= stall_ticks)
		return;
	ol_one_more(&r->events[OL_STALL]);
	if (c->stalled == FOUND_HELD)
		ol_one_more(&r->events[OL_STALL_HELD]);
	else if (c->stalled == FOUND_FREE)
		ol_one_more(&r->events[OL_STALL_FREE]);
}

/* Events. */

void ol_at_site(const void *site)
{
	me.at = site;
}

void ol_count_event(unsigned event)
{
	struct ol_call *c = me.current;

	if (!c)
		return; /* a lock that the library was not asked to take */
	if (!c->counts) {
		ol_call_missed();
		return;
	}
	ol_one_more(&c->counts->record.events[event]);
	if (event == OL_SLOW_PATH && !c->since)
		wait_begin(c);
}

void ol_count_event_at(unsigned event, unsigned n)
{
	ol_count_event(event);
	if (me.current && me.current->counts)
		ol_one_more(&me.current->counts->record.places[event][ol_place(n)]);
}

/* Reading. */

static void add_all(uint64_t *to, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ol_more(&to[i], ol_load_relaxed(&from[i]));
}

static bool add_record(struct ol_table *t, const struct ol_site_record *r)
{
	struct ol_counts *c = find(t, r->site, r->lock);

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

/* What it still holds is noted where it does not stand in the way of the next thread. */
void ol_sites_leave(void)
{
	struct ol_table *t = me.table;

	me.busy = 1; /* for good: whatever comes now is missed */
	me.top = &no_place[1];
	me.last = &no_counts;
	me.table = 0;
	me.current = 0;
	if (!t)
		return;
	for (size_t i = 1; i <= DEEP; i++) {
		if (t->stack[i].lock)
			map_add(t, &t->stack[i]);
		ol_store_relaxed(&t->stack[i].lock, (const void *)0);
	}
	ol_store_release(&t->taken, 0u);
}

/* One file per program: a process that becomes another by exec has as many. */
static void live_start(void)
{
	const char *folder = secure_getenv("OVERLOCK_LIVE");
	int fd = -1;

	for (unsigned n = 0; folder && fd < 0 && n < 1000; n++) {
		snprintf(live_name, sizeof(live_name), "%s/%ld.%u", folder, (long)getpid(), n);
		fd = open(live_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	live_size = CHUNK;
	if (fd < 0 || pwrite(fd, ol_sites_know_slices() ? "s" : "-", 1, 0) != 1)
		*live_name = 0;
	if (fd >= 0)
		close(fd);
}

/* Memory inherited from the parent stays: the caller may be inside a lock that counts there. */
void ol_sites_renew(void)
{
	tables = 0;
	missed = 0;
	me.table = 0;
	me.current = 0;
	me.last = &no_counts;
	me.top = &no_place[1];
	me.busy = 0;
	me.hold = 0;
	take_stack = 0; /* nobody reads a child's */
	memset(releases, 0, sizeof(releases));
	live_start();
}

void ol_sites_start(void)
{
	const char *keep = secure_getenv("OVERLOCK_HISTOGRAMS");

	stall_ticks = ol_ticks_from_ns(STALL_NS);
	ol_sites_keep_times(keep && *keep && strcmp(keep, "0") != 0);
	live_start();
}

void ol_sites_keep_times(bool keep)
{
	ol_store_relaxed(&ol_times_kept, keep);
}

bool ol_sites_times_kept(void)
{
	return ol_load_relaxed(&ol_times_kept);
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

	for (const struct ol_table *t = ol_load_acquire(&tables); t; t = t->next)
		ok &= add_table(sum, t);
	return ok;
}

/* The records in one array, in order; null if there is no memory. */
static struct ol_counts **sorted(struct ol_table *sum)
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
	struct ol_table *sum = table_make();
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
	for (struct ol_table *t = ol_load_acquire(&tables); t; t = t->next)
		zero_table(t);
	ol_store_relaxed(&missed, (uint64_t)0);
}
