/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How a lock without a queue waits if its waiters yield: after a short spin, a waiter yields its CPU, perhaps
 * to the holder, before each poll. A lock includes this after its trylock, with OL_YIELDING set to what its
 * functions' names begin with, and gets
 *
 *	NAME_timedlock(l, until)
 *	NAME_lock(l)
 *
 * NAME_trylock() has to look at the lock before it writes. No include guard: every such lock includes this
 * once.
 */
#ifndef OL_YIELDING
#error "overlock: yielding.h needs OL_YIELDING, the prefix of a lock's functions; include a lock's own header"
#endif

#define OL_YIELDING_JOIN_(name, suffix)	name##suffix
#define OL_YIELDING_JOIN(name, suffix)	OL_YIELDING_JOIN_(name, suffix)
#define OL_YIELDING_(suffix)		OL_YIELDING_JOIN(OL_YIELDING, suffix)

static OL_COLD bool OL_YIELDING_(_lock_slow)(OL_YIELDING_(_t) * l, ol_ticks_t until)
{
	ol_ticks_t tired = ol_after(1, ol_tune(spin));

	ol_count(OL_SLOW_PATH);
	do {
		if (ol_passed(until))
			return false;
		if (ol_passed(tired)) {
			ol_count(OL_YIELD);
			ol_yield();
		} else {
			ol_relax_until(ol_earlier(tired, until));
		}
	} while (!OL_YIELDING_(_trylock)(l));
	return true;
}

static inline bool OL_YIELDING_(_timedlock)(OL_YIELDING_(_t) * l, ol_ticks_t until)
{
	return OL_YIELDING_(_trylock)(l) || OL_YIELDING_(_lock_slow)(l, until);
}

static inline void OL_YIELDING_(_lock)(OL_YIELDING_(_t) * l)
{
	if (OL_UNLIKELY(!OL_YIELDING_(_trylock)(l)))
		OL_YIELDING_(_lock_slow)(l, OL_NEVER);
}

#undef OL_YIELDING
#undef OL_YIELDING_
#undef OL_YIELDING_JOIN
#undef OL_YIELDING_JOIN_
