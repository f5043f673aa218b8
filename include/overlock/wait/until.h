/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_WAIT_UNTIL_H
#define OL_WAIT_UNTIL_H
/*
 * Waiting for a 32-bit word, in place of a loop that polls it.
 *
 *	ol_wait_until(&word, ol_equals, 3, OL_NEVER);		ol_store_release(&word, 3u);
 *								ol_wake_all(&word);
 *
 * A waiter polls for `spin`, then it yields. What the yield shows decides:
 *
 *  - Nobody else ran: it polls, and asks again after `prompt`. After ALONE it sleeps. A scheduler may have kept others
 *    waiting, because they have had more than their share: so it yields again at once if others ran lately. If not, and
 *    others sleep for its word, which are all woken together, it sleeps, too.
 *  - Others ran for a moment: it yields after each look.
 *  - Others ran for as long as LONG: it sleeps, since the next yield may take as long again, and a sleeper is woken
 *    in the moment that its wait is over.
 *
 * A context remembers what its yields showed: its next waits begin with a yield where others ran for a moment, and with
 * a sleep where they ran for long.
 *
 * Whoever changes the word calls ol_wake() then. Without sleepers that is a fence and a look at a count of them,
 * which words share by their address: a count too high costs a system call. Only a sleeper needs the call: who
 * leaves it out leaves sleepers asleep.
 *
 * Pairing: [A] acquires from the caller's release. Of [S] and [W], either the waker sees the sleeper, or the
 * sleeper the new word, since there is a fence between the two steps of each (ol_park() has the sleeper's).
 */
#include <overlock/port.h>

/* In leases, by default 250 us. */
#define OL_WAIT_ALONE	2u /* ten times what it costs to wake a sleeper whose CPU is idle */
#define OL_WAIT_LONG	4u
#define OL_WAIT_RECALLS	64u	   /* for so long that others ran for a moment */
#define OL_WAIT_MOST	(1u << 14) /* and for long, at most: a yield of some ms in 4 s costs little */

/* What is waited for: does a word with this value fulfil it? */
typedef bool ol_condition_t(uint32_t value, uint32_t argument);

static inline bool ol_equals(uint32_t value, uint32_t argument)
{
	return value == argument;
}

static inline bool ol_differs(uint32_t value, uint32_t argument)
{
	return value != argument;
}

/* Of a counter that may wrap: it is at most half of its range ahead. */
static inline bool ol_has_reached(uint32_t value, uint32_t argument)
{
	return value - argument < 0x80000000u;
}

struct ol_waiting {
	ol_ticks_t until, yields, sleeps;
};

static inline uint32_t *ol_wait_sleepers(const uint32_t *word)
{
	return (uint32_t *)ol_wait_slot((size_t)word) + 1;
}

static inline void ol_wait_recall(struct ol_waiting *me, const struct ol_crowd *crowd)
{
	if (!ol_passed(crowd->long_until))
		me->yields = me->sleeps = OL_PAST;
	else if (!ol_passed(crowd->brief_until))
		me->yields = OL_PAST;
}

static inline void ol_wait_begin(struct ol_waiting *me, ol_ticks_t until)
{
	const struct ol_crowd *crowd = ol_crowd();
	ol_ticks_t now = ol_now();

	ol_count(OL_SLOW_PATH);
	me->until = until;
	me->yields = ol_later(now, 1, ol_tune(spin));
	me->sleeps = ol_later(now, OL_WAIT_ALONE, ol_tune(lease));
	if (crowd)
		ol_wait_recall(me, crowd);
}

static inline void ol_wait_remember_brief(void)
{
	struct ol_crowd *crowd = ol_crowd();

	if (crowd)
		crowd->brief_until = ol_after(OL_WAIT_RECALLS, ol_tune(lease));
}

/* Whether others ran lately. Forgotten after a lease in which nobody did. */
static inline bool ol_wait_recalls_others(void)
{
	struct ol_crowd *crowd = ol_crowd();

	if (!crowd || ol_passed(crowd->brief_until))
		return false;
	crowd->brief_until = ol_earlier(crowd->brief_until, ol_after(1, ol_tune(lease)));
	return true;
}

/*
 * One long yield may be an accident. The next is remembered for sixteen times as long, unless the context had yielded until
 * then for as long as it slept: to find out that a neighbour is still busy costs a yield of a whole slice.
 */
static OL_COLD void ol_wait_remember_long(ol_ticks_t since)
{
	struct ol_crowd *crowd = ol_crowd();

	if (!crowd)
		return;
	crowd->leases = ol_before(crowd->forgets_at, since) ? OL_WAIT_LONG : 16 * crowd->leases;
	if (crowd->leases > OL_WAIT_MOST)
		crowd->leases = OL_WAIT_MOST;
	crowd->long_until = ol_after(crowd->leases, ol_tune(lease));
	crowd->forgets_at = ol_later(crowd->long_until, 16 * crowd->leases, ol_tune(lease));
}

/* A yield shorter than two context switches (`pace`) let nobody else run. */
static inline void ol_wait_yield(struct ol_waiting *me, const uint32_t *word)
{
	ol_ticks_t since = ol_now();

	ol_count(OL_YIELD);
	ol_yield();
	if (ol_passed(ol_later(since, OL_WAIT_LONG, ol_tune(lease)))) {
		ol_wait_remember_long(since);
		me->sleeps = since;
	} else if (ol_passed(ol_later(since, 1, ol_tune(pace)))) {
		ol_wait_remember_brief();
	} else if (!ol_wait_recalls_others()) {
		if (ol_load_relaxed(ol_wait_sleepers(word)))
			me->sleeps = since;
		else
			me->yields = ol_after(1, ol_tune(prompt));
	}
}

/* What a waiter does after a look that told it to wait on. */
enum ol_wait_next { OL_WAIT_OVER, OL_WAIT_LOOK, OL_WAIT_SLEEP };

static inline enum ol_wait_next ol_wait_step(struct ol_waiting *me, const uint32_t *word)
{
	if (ol_passed(me->until))
		return OL_WAIT_OVER;
	if (!ol_passed(me->yields))
		ol_relax_until(ol_earlier(me->yields, me->until));
	else if (ol_passed(me->sleeps))
		return OL_WAIT_SLEEP;
	else
		ol_wait_yield(me, word);
	return OL_WAIT_LOOK;
}

/* From [S] on the context counts as a sleeper. */
static inline void ol_wait_prepare(const uint32_t *word)
{
	ol_add_relaxed(ol_wait_sleepers(word), 1u); /* [S] */
}

/* Relaxed: counting it for too long costs a needless system call. */
static inline void ol_wait_cancel(const uint32_t *word)
{
	ol_add_relaxed(ol_wait_sleepers(word), ~0u);
}

static OL_COLD void ol_wait_sleep(const uint32_t *word, uint32_t seen, uint32_t key,
				  ol_ticks_t until)
{
	ol_leave();
	ol_count(OL_PARK);
	ol_park(word, seen, key, until);
	ol_wait_cancel(word);
}

/* One turn of a wait for *word, in which `seen` was just seen. False if the deadline has come. */
static inline bool ol_wait_turn(struct ol_waiting *me, const uint32_t *word, uint32_t seen,
				uint32_t key)
{
	enum ol_wait_next next = ol_wait_step(me, word);

	if (next == OL_WAIT_SLEEP) {
		ol_wait_prepare(word);
		ol_wait_sleep(word, seen, key, me->until);
	}
	return next != OL_WAIT_OVER;
}

static OL_COLD bool ol_wait_slow(const uint32_t *word, ol_condition_t *holds, uint32_t argument,
				 uint32_t key, ol_ticks_t until)
{
	struct ol_waiting me;
	uint32_t seen;

	ol_wait_begin(&me, until);
	while (!holds(seen = ol_load_acquire(word), argument)) /* [A] */
		if (!ol_wait_turn(&me, word, seen, key))
			return false;
	return true;
}

/*
 * Waits until holds(*word, argument): true. False if the time `until` came first. The word is looked at at least
 * once. Acquires what its writer released. `key` says which calls of ol_wake() are for this waiter, by a bit that
 * they share.
 */
static inline bool ol_wait_for(const uint32_t *word, ol_condition_t *holds, uint32_t argument,
			       uint32_t key, ol_ticks_t until)
{
	return holds(ol_load_acquire(word), argument) ||
	       ol_wait_slow(word, holds, argument, key, until);
}

static inline bool ol_wait_until(const uint32_t *word, ol_condition_t *holds, uint32_t argument,
				 ol_ticks_t until)
{
	return ol_wait_for(word, holds, argument, OL_ANY, until);
}

/* After a change that sleepers on `word` may wait for. */
static inline bool ol_wait_has_sleepers(const uint32_t *word)
{
	ol_fence();
	return ol_load_relaxed(ol_wait_sleepers(word)) || /* [W] */
	       ol_tune(shared); /* other processes have counts of their own */
}

/*
 * After a change of *word: wakes up to n of those that sleep until it changes, and share a bit with `key`. The
 * memory may be gone: a waiter that saw the change may have freed it.
 */
static inline void ol_wake(const uint32_t *word, uint32_t key, int n)
{
	if (OL_UNLIKELY(ol_wait_has_sleepers(word))) {
		ol_count(OL_KICK);
		ol_kick(word, key, n);
	}
}

static inline void ol_wake_all(const uint32_t *word)
{
	ol_wake(word, OL_ANY, INT32_MAX);
}
#endif
