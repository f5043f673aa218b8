/* SPDX-License-Identifier: MIT */
#ifndef OL_COUNTING_H
#define OL_COUNTING_H
/*
 * What the counted build does around each operation of a lock, inline in lock_unit.c: without
 * contention a few loads and plain stores, no clock, no atomic, no call.
 *
 * A thread counts in records of its own. It also says which locks it holds, and since which slice:
 * a 4-byte word cannot tell a preempted holder from a preempted waiter. A signal handler may come
 * between any two instructions; each step leaves things so that a handler which locks and unlocks
 * puts them back as it found them.
 */
#include "site.h"

#ifdef __cplusplus
#error "overlock: this is C"
#endif

struct ol_counts {
	struct ol_site_record record;
	struct ol_counts *next;
};

/* A lock that this thread holds; lock is null in an entry that is free. */
struct ol_held {
	const void *lock;
	uint64_t slice;
	ol_ticks_t since; /* only while times are kept */
	struct ol_counts *counts;
	struct ol_stack *stack; /* that the hold is added to, or null; only while times are kept */
};

/* An operation under way, on the stack of its thread. */
struct ol_call {
	struct ol_counts *counts; /* null: it cannot be recorded */
	struct ol_call *outer;	  /* what this one interrupted */
	const void *lock;
	ol_ticks_t since; /* when it found the lock taken; 0: not so far */
	/* From then on: */
	ol_ticks_t asleep; /* parked or yielding, in all */
	uint64_t slice;
	ol_ticks_t look_at;  /* ol_sites_watch() */
	ol_ticks_t stack_at; /* ol_sites_take_stacks() */
	struct ol_stack *stack;
	uint8_t preempted, stalled;
};

struct ol_table;

struct ol_counting {
	struct ol_counts *last;	 /* the record found last; never null */
	struct ol_call *current; /* the innermost call under way */
	const void *at;		 /* ol_at_site() */
	struct ol_held *top;	 /* the next free entry, or one that is not */
	const uint64_t *slice_word;
	uint64_t slice_mark; /* what that word holds while the slice goes on */
	uint64_t slice;
	struct ol_table *table;
	struct ol_held *put_away; /* `top`, while busy */
	struct ol_stack *hold;	  /* ol_sites_take_for_hold() */
	ol_ticks_t stack_due;	  /* from when on it may take another one */
	uint64_t chance;
	uint8_t busy;
};
extern _Thread_local struct ol_counting ol_counting __attribute__((tls_model("initial-exec")));
extern bool ol_times_kept;

struct ol_counts *ol_counts_find(const void *site, const struct ol_lock_ops *ops);
void ol_call_missed(void);
void ol_wait_over(struct ol_call *c, unsigned outcome);
void ol_held_push(struct ol_call *c, uint64_t slice);
struct ol_counts *ol_held_pop(const void *lock, const struct ol_lock_ops *ops, const void *site);
uint64_t ol_slice_look(void);

/* By one instruction, so that no handler comes between. Others load it whenever they like. */
static inline void ol_more(uint64_t *counter, uint64_t n)
{
#if defined(__x86_64__) && !defined(OL_TSAN)
	__asm__("addq %1, %0" : "+m"(*counter) : "re"(n) : "cc");
#else
	ol_add_relaxed(counter, n);
#endif
}

static inline void ol_one_more(uint64_t *counter)
{
	ol_more(counter, 1);
}

static inline uint64_t ol_counting_slice(struct ol_counting *me)
{
	return OL_UNLIKELY(ol_load_relaxed(me->slice_word) != me->slice_mark) ? ol_slice_look()
									      : me->slice;
}

static inline void ol_acquire_begin(struct ol_call *c, const void *lock,
				    const struct ol_lock_ops *ops, const void *site)
{
	struct ol_counting *me = &ol_counting;
	struct ol_counts *counts = me->last;

	if (me->at) {
		site = me->at;
		me->at = 0;
	}
	if (OL_UNLIKELY(counts->record.site != site || counts->record.lock != ops))
		counts = ol_counts_find(site, ops);
	c->counts = counts;
	c->lock = lock;
	c->since = 0;
	c->outer = me->current;
	me->current = c;
}

/* `outcome` is OL_ACQUIRE, OL_TRY_FAIL or OL_GIVE_UP. */
static inline void ol_acquire_end(struct ol_call *c, unsigned outcome)
{
	struct ol_counting *me = &ol_counting;

	if (OL_UNLIKELY(!c->counts)) {
		ol_call_missed();
	} else {
		ol_one_more(&c->counts->record.events[outcome]);
		if (OL_UNLIKELY(c->since != 0))
			ol_wait_over(c, outcome);
		if (outcome == OL_ACQUIRE) {
			uint64_t slice = ol_counting_slice(me);
			struct ol_held *h = me->top;

			if (OL_UNLIKELY(h->lock || ol_times_kept)) {
				ol_held_push(c, slice);
			} else {
				me->top = h + 1; /* ours, before a handler comes */
				h->slice = slice;
				ol_store_relaxed(&h->counts, c->counts); /* others look at it */
				ol_store_relaxed(&h->lock, c->lock);	 /* others look */
			}
		}
	}
	me->current = c->outer;
}

/* Counts for the site that acquired the lock; for `site` if another thread did. */
static inline void ol_release_begin(struct ol_call *c, const void *lock,
				    const struct ol_lock_ops *ops, const void *site)
{
	struct ol_counting *me = &ol_counting;
	struct ol_held *h = me->top - 1;

	if (OL_UNLIKELY(h->lock != lock || ol_times_kept)) {
		c->counts = ol_held_pop(lock, ops, site);
	} else {
		c->counts = h->counts;
		if (OL_UNLIKELY(h->slice != ol_counting_slice(me)))
			ol_one_more(&c->counts->record.events[OL_LHP]);
		ol_store_relaxed(&h->lock, (const void *)0);
		me->top = h;
	}
	c->since = 0;
	c->outer = me->current;
	me->current = c;
}

static inline void ol_release_end(struct ol_call *c)
{
	ol_counting.current = c->outer;
}
#endif
