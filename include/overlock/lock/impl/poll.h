/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How a lock without a queue polls. A lock includes this after its trylock, with OL_POLLED set to what
 * its functions' names begin with, and gets two functions:
 *
 *	NAME_poll(l)			polls until NAME_trylock() succeeds
 *	NAME_poll_until(l, until)	the same, or returns false when the time has come
 *
 * Each relaxes before it tries: the caller has just failed to acquire. No include guard: every such lock
 * includes this once.
 */
#ifndef OL_POLLED
#error "overlock: poll.h needs OL_POLLED, the prefix of a lock's functions; include a lock's own header"
#endif

#define OL_POLLED_JOIN_(name, suffix)	name##suffix
#define OL_POLLED_JOIN(name, suffix)	OL_POLLED_JOIN_(name, suffix)
#define OL_POLLED_(suffix)		OL_POLLED_JOIN(OL_POLLED, suffix)

static inline void OL_POLLED_(_poll)(OL_POLLED_(_t) * l)
{
	ol_count(OL_SLOW_PATH);
	do {
		ol_relax();
	} while (!OL_POLLED_(_trylock)(l));
}

static inline bool OL_POLLED_(_poll_until)(OL_POLLED_(_t) * l, ol_ticks_t until)
{
	ol_count(OL_SLOW_PATH);
	do {
		if (ol_passed(until))
			return false;
		ol_relax_until(until);
	} while (!OL_POLLED_(_trylock)(l));
	return true;
}

#undef OL_POLLED
#undef OL_POLLED_
#undef OL_POLLED_JOIN
#undef OL_POLLED_JOIN_
