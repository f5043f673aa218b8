/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_WARNED_H
#define OL_WARNED_H
/*
 * Two-minute warning. Marsh, Scott, LeBlanc, Markatos: First-Class User-Level Threads, SOSP 1991,
 * described in Teabe et al. 2017, section 3.4.
 *
 * A context that is warned of the end of its slice does not acquire. It yields the CPU and checks
 * again in the next slice; after a whole slice that was too short it acquires anyway. A holder that
 * is warned marks the lock, so that its waiters park instead of spinning.
 *
 * In the original, the kernel warns the thread at any time. Here a lock's code runs only
 * when it is called, so a context is warned when it reads the clock and less than `warning` of
 * its slice is left: when it acquires (trylock does not wait: it acquires and marks), and when the
 * holder of a long section, or a handler that interrupts it, calls ol_warned_poll(). If the warning
 * time comes between two such checks, the lock stays unmarked and waiters spin. If the end of the
 * slice is unknown, this is a test-and-test-and-set lock and counts UNKNOWN_SLICE.
 *
 *  word: 0 free, 1 held, 3 held and the holder is warned: waiters park
 *
 *  Release exchanges the word for 0, because a handler may mark the lock until then, and kicks all
 *  waiters if the mark was set. That is rare, and a waiter that gives up then need not kick others.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. Waiters park on the marked word
 *  only, which [R] returns.
 */
#include <overlock/lock/i_spin_pv.h>

typedef struct OL_CAPABILITY ol_warned {
	uint32_t word;
} ol_warned_t;

#define OL_WARNED_INIT		{ 0 }
#define OL_WARNED_HELD		1u
#define OL_WARNED_MARK		2u

static inline bool ol_warned_is_locked(const ol_warned_t *l)
{
	return ol_load_relaxed(&l->word) != 0;
}

/* The word does not show waiters. */
static inline bool ol_warned_is_contended(const ol_warned_t *l)
{
	(void)l;
	return false;
}

/* The mark, if we are warned. */
static inline uint32_t ol_warned_mark(const struct ol_slice *s)
{
	if (ol_slice_is_unknown(s) || ol_before(ol_after(1, ol_tune(warning)), s->usable))
		return 0;
	return OL_WARNED_MARK;
}

/*
 * Take the free lock, or wait for the next slice; `slices` counts the slices waited for. A free lock
 * is taken once the deadline has passed: no lock times out while it is free.
 */
static inline bool ol_warned_take(ol_warned_t *l, unsigned *slices, ol_ticks_t until)
{
	struct ol_slice s = ol_slice_now();
	uint32_t mark = ol_warned_mark(&s);

	if (mark && *slices < OL_I_SPIN_SLICES && !ol_passed(until)) {
		ol_count_at(OL_INCAPABLE, 0);
		ol_slice_yield(&s, ol_earlier(s.over, until));
		++*slices;
		if (!ol_passed(until))
			return false;
	}
	return ol_cas_acquire(&l->word, 0u, OL_WARNED_HELD | mark); /* [A] */
}

static inline bool ol_warned_trylock(ol_warned_t *l)
{
	unsigned slices = OL_I_SPIN_SLICES;

	return !ol_load_relaxed(&l->word) && ol_warned_take(l, &slices, OL_NEVER);
}

static OL_COLD bool ol_warned_lock_slow(ol_warned_t *l, unsigned slices, ol_ticks_t until)
{
	ol_count(OL_SLOW_PATH);
	for (;;) {
		uint32_t w = ol_load_relaxed(&l->word);

		if (!w && ol_warned_take(l, &slices, until))
			return true;
		if (w & OL_WARNED_MARK) {
			ol_count(OL_PARK);
			ol_park(&l->word, w, OL_ANY, until);
		}
		if (ol_passed(until))
			return false;
		if (w == OL_WARNED_HELD)
			ol_relax_until(until);
	}
}

static inline bool ol_warned_timedlock(ol_warned_t *l, ol_ticks_t until)
{
	unsigned slices = 0;

	return (!ol_load_relaxed(&l->word) && ol_warned_take(l, &slices, until)) ||
	       ol_warned_lock_slow(l, slices, until);
}

static inline void ol_warned_lock(ol_warned_t *l)
{
	(void)ol_warned_timedlock(l, OL_NEVER);
}

/*
 * Called by the holder or by a handler that interrupts it: marks the lock if it is warned. If the
 * handler runs just after the release, it may mark the next holder's lock, for one futile kick.
 */
static inline void ol_warned_poll(ol_warned_t *l)
{
	struct ol_slice s = ol_slice_now();

	if (ol_warned_mark(&s))
		(void)ol_cas_relaxed(&l->word, OL_WARNED_HELD, OL_WARNED_HELD | OL_WARNED_MARK);
}

static inline void ol_warned_unlock(ol_warned_t *l)
{
	if (OL_UNLIKELY(ol_xchg_release(&l->word, 0u) & OL_WARNED_MARK)) { /* [R] */
		ol_count(OL_KICK);
		ol_kick(&l->word, OL_ANY, INT32_MAX);
	}
}
#endif
