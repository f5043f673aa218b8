/* SPDX-License-Identifier: MIT */
#ifndef OL_SLEEPERS_H
#define OL_SLEEPERS_H
/*
 * The list of sleepers, and how sleeping and waking meet: on the platform layer alone, so that the model
 * checker runs this source too (tests/check/sleep). sleep.c says what it is for. A file that
 * includes this first defines
 *
 *	struct bucket		with `first` and `last` of its list
 *	enter(m), leave(b)	the mutex's bucket, for one thread at a time
 *	RELAYS			how many sleepers are woken at most to find the one whose turn it is
 */
#include "wait.h"

enum { AWAKE, ASLEEP }; /* in `state`, which a sleeper parks on */

/* Only its next owner can get such a lock, so waking another one helps nobody. */
static bool hands_over(const struct wait *w)
{
	return w->ops->traits & (OL_FIFO | OL_LATE_FIFO | OL_NEEDS_NODES);
}

/* Where anybody may have the lock, real-time threads come first; those outside of its queue always do. */
static bool comes_before(const struct wait *w, const struct wait *other)
{
	if (w->priority != other->priority)
		return w->priority > other->priority;
	if (!hands_over(w) && w->is_realtime != other->is_realtime)
		return w->is_realtime;
	return ol_before(w->began, other->began);
}

static void insert(struct bucket *b, struct wait *w)
{
	struct wait *before = b->last;

	while (before && comes_before(w, before))
		before = before->prev;
	w->prev = before;
	w->next = before ? before->next : b->first;
	*(w->prev ? &w->prev->next : &b->first) = w;
	*(w->next ? &w->next->prev : &b->last) = w;
}

static void remove_from(struct bucket *b, struct wait *w)
{
	*(w->prev ? &w->prev->next : &b->first) = w->next;
	*(w->next ? &w->next->prev : &b->last) = w->prev;
}

/* The first from `w` on that waits for that mutex. */
static struct wait *next_for(const struct mutex *m, struct wait *w)
{
	while (w && w->mutex != m)
		w = w->next;
	return w;
}

/*
 * Of a waiter in the list, which cannot leave while we have the bucket. Relaxed: what it does next about
 * the list is ordered by the bucket. Returns the word to kick, or null if it is awake.
 */
static uint32_t *rouse(struct wait *w, unsigned relays)
{
	if (!w || ol_load_relaxed(&w->state) != ASLEEP)
		return 0;
	w->relays = hands_over(w) ? relays : 0;
	ol_store_relaxed(&w->state, (uint32_t)AWAKE);
	return &w->state;
}

/* The thread may be gone by now, and its stack another's: that one wakes up once for nothing. */
static void kick(const uint32_t *state)
{
	if (state)
		ol_kick(state, OL_ANY, 1);
}

/* In this process; a fork's child has none of its parent's waiters. Acquire: delist() is over. */
static bool is_listed(const struct wait *w)
{
	return ol_load_acquire(&w->listed) && w->epoch == ol_run_epoch;
}

/* Release: the last that we do with it, for it may be gone as soon as it sees this. */
static void delist(struct bucket *b, struct wait *w)
{
	remove_from(b, w);
	if (!next_for(w->mutex, b->first))
		ol_run_gate_set_sleepers(w->mutex, false);
	ol_store_release(&w->listed, 0u);
}

/*
 * A release, by the holder, of a mutex that has SLEEPERS: unlocks it and wakes the first of them. Where
 * anybody may have the lock, that one leaves the list, and others are spared the list until it
 * sleeps again. Else it keeps its position: until its turn is over nobody need be woken.
 */
static void unlock_and_wake(struct mutex *m, const struct ol_lock_ops *ops, void *lock)
{
	struct bucket *b = enter(m);
	struct wait *first = next_for(m, b->first);
	uint32_t *state = rouse(first, RELAYS);

	if (state && !hands_over(first))
		delist(b, first);
	ops->unlock(lock); /* within the bucket, lest the one we woke sleeps again first */
	leave(b);
	kick(state);
}

/*
 * Adds us to the list, or says that we sleep again. After this the caller polls, and must not sleep
 * unless that was in vain: a release that did not see us has unlocked before that poll (or looks at the
 * gate later), but for the one that the head of this file tells of.
 */
static void lie_down(struct wait *w)
{
	struct bucket *b = enter(w->mutex);
	uint32_t *state = 0;

	if (!is_listed(w)) {
		insert(b, w);
		w->epoch = ol_run_epoch;
		ol_store_relaxed(&w->listed, 1u); /* by its own thread */
		ol_run_gate_set_sleepers(w->mutex, true);
	} else if (w->relays) {
		state = rouse(next_for(w->mutex, w->next), w->relays - 1); /* it may be its turn */
	}
	w->relays = 0;
	ol_store_relaxed(&w->state, (uint32_t)ASLEEP); /* the bucket's mutex orders it */
	leave(b);
	kick(state);
	ol_fence(); /* the gate's flag and our state before the poll */
}

/* After the lock was acquired, or given up. */
static void get_up(struct wait *w)
{
	struct bucket *b = enter(w->mutex);

	if (is_listed(w)) /* still */
		delist(b, w);
	leave(b);
}
#endif
