/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_OR_FAIL_H
#define OL_OR_FAIL_H
/*
 * Acquisition that returns an error where it would wait for ever, for every lock that can give up. After Linux's
 * rqspinlock, which detects two threads; this detects any number.
 *
 *	int ol_<lock>_lock_or_fail(l, until)	0; EDEADLK: this thread has the lock, or waits in a circle;
 *						ETIMEDOUT: `until` has come
 *	int ol_<lock>_unlock_or_fail(l)		0; EPERM: this thread did not acquire it by lock_or_fail
 *
 * In a kernel they are for code that includes this header and says OL_DEFINE_OR_FAIL_timed(<lock>). There a
 * thread is a CPU, whose preemption is disabled from lock_or_fail to unlock_or_fail, a signal handler is an
 * interrupt, NMIs among them, and errors are negative.
 *
 * Each thread has a row: the locks that it has acquired in this way, and the one that it waits for. A waiter
 * looks once in four leases, about a millisecond, who has the lock that it waits for, what that one waits for,
 * and so on. If it comes back to itself, it fails; so may all others of the circle. It releases what it has, and
 * tries again later.
 *
 * A row has room for OL_HELD locks. For more of them, for a thread without an id, and for a lock that was
 * acquired by other calls, only the deadline holds. A thread that releases a lock that another acquired must use
 * the plain calls for both.
 *
 * The row of a context is written by it and by its signal handlers, each of which leaves it as it was. A handler
 * may come between an acquisition and its entry in the list. So `moves` says what its context acquires or
 * releases. A handler that wants this lock fails if nobody else has it in the list.
 *
 * `waits` counts the beginnings and ends of waits. While it stays, one wait goes on and the list does not change. So a
 * circle that two looks find alike, with the same counts, was there between them.
 *
 * Pairing: all stores release and all loads of others' rows acquire, so that a look which finds a list as it was
 * after a wait also finds the count of its end.
 */
#include <overlock/port.h>

#ifdef __KERNEL__
#include <linux/errno.h>
#define OL_ERROR(e) (-(e))
#else
#include <errno.h>
#define OL_ERROR(e) (e)
#endif

#define OL_HELD	12u /* with the rest, two cache lines */

struct ol_held_row {
	const void *waits_for, *moves;
	uint32_t waits;
	uint32_t held, unlisted;
	const void *locks[OL_HELD];
} OL_OWN_LINE;

#ifdef __cplusplus
extern "C" {
#endif
struct ol_held_row *ol_held_mine(void); /* null: this thread has none */
struct ol_held_row *ol_held_of(uint32_t id);
uint32_t ol_held_last(void); /* no id above it has a row */
#ifdef __cplusplus
}
#endif

/* A context's own list. */

/* Its position, from 1; 0 if it is not in the list. The youngest first: most are released in that order. */
static inline uint32_t ol_held_find(const struct ol_held_row *row, const void *l)
{
	uint32_t i = ol_load_acquire(&row->held);

	while (i && ol_load_acquire(&row->locks[i - 1]) != l)
		i--;
	return i;
}

/* The count first: a signal handler then leaves the new entry alone. */
static inline void ol_held_add_to(struct ol_held_row *row, const void *l)
{
	uint32_t held;

	if (!row)
		return;
	held = ol_load_relaxed(&row->held);
	if (held == OL_HELD) {
		ol_store_relaxed(&row->unlisted, ol_load_relaxed(&row->unlisted) + 1);
		return;
	}
	ol_store_release(&row->held, held + 1);
	ol_store_release(&row->locks[held], l);
}

static inline void ol_held_add(const void *l)
{
	ol_held_add_to(ol_held_mine(), l);
}

static inline bool ol_held_remove_unlisted(struct ol_held_row *row)
{
	uint32_t unlisted = ol_load_relaxed(&row->unlisted);

	if (unlisted)
		ol_store_relaxed(&row->unlisted, unlisted - 1);
	return unlisted != 0;
}

/* False if this context does not have it. */
static inline bool ol_held_remove_from(struct ol_held_row *row, const void *l)
{
	uint32_t i, held;

	if (!row)
		return true;
	i = ol_held_find(row, l);
	if (!i)
		return ol_held_remove_unlisted(row);
	held = ol_load_relaxed(&row->held);
	ol_store_release(&row->locks[i - 1], ol_load_relaxed(&row->locks[held - 1]));
	ol_store_release(&row->locks[held - 1], (const void *)0);
	ol_store_release(&row->held, held - 1);
	return true;
}

static inline bool ol_held_remove(const void *l)
{
	return ol_held_remove_from(ol_held_mine(), l);
}

/* From now on this context acquires or releases `l`. Returns what the one that it has interrupted did. */
static inline const void *ol_held_move(struct ol_held_row *row, const void *l)
{
	const void *before;

	if (!row)
		return l;
	before = ol_load_relaxed(&row->moves);
	ol_store_release(&row->moves, l);
	return before;
}

static inline bool ol_held_is_listed(const void *l)
{
	uint32_t id = ol_held_last();

	while (id && !ol_held_find(ol_held_of(id), l))
		id--;
	return id != 0;
}

/* Circles. */

/* A wait that was seen: whose, which, and what for. */
struct ol_held_seen {
	uint32_t id, wait;
	const void *waits_for;
};

/* Whether the context waits, and had `l` during all of that look. */
static inline bool ol_held_see(struct ol_held_seen *seen, const void *l)
{
	const struct ol_held_row *row = ol_held_of(seen->id);

	seen->wait = ol_load_acquire(&row->waits);
	seen->waits_for = ol_load_acquire(&row->waits_for);
	return seen->waits_for && ol_held_find(row, l) &&
	       ol_load_acquire(&row->waits) == seen->wait;
}

/* Who has it, and waits. */
static inline bool ol_held_find_holder(struct ol_held_seen *seen, const void *l)
{
	for (seen->id = ol_held_last(); seen->id; seen->id--)
		if (ol_held_see(seen, l))
			return true;
	return false;
}

/* Follows the waits from that for `l`. 0 if they do not lead to `me`, else a number that tells circles apart. */
static inline uint64_t ol_held_circle(const struct ol_held_row *me, const void *l)
{
	const uint64_t prime = 0x100000001b3u; /* of the hash FNV-1 */
	uint64_t circle = 1;
	struct ol_held_seen seen;

	for (uint32_t steps = ol_held_last(); steps; steps--) {
		if (!ol_held_find_holder(&seen, l))
			return 0;
		if (ol_held_of(seen.id) == me)
			return circle;
		circle = ((circle * prime) ^ seen.id) * prime ^ seen.wait;
		l = seen.waits_for;
	}
	return 0;
}

static inline bool ol_held_is_circle(const struct ol_held_row *me, const void *l)
{
	uint64_t circle = ol_held_circle(me, l);

	return circle && ol_held_circle(me, l) == circle;
}

/* Waiting. A signal handler that waits on top of a wait puts back what its context waited for. */

struct ol_held_wait {
	struct ol_held_row *row;
	const void *before, *moved;
};

static inline int ol_held_wait_begin(struct ol_held_wait *w, const void *l)
{
	w->row = ol_held_mine();
	if (!w->row)
		return 0;
	if (ol_held_find(w->row, l))
		return OL_ERROR(EDEADLK);
	w->moved = ol_held_move(w->row, l);
	w->before = ol_load_relaxed(&w->row->waits_for);
	ol_add_release(&w->row->waits, 1u);
	ol_store_release(&w->row->waits_for, l);
	return 0;
}

static inline void ol_held_wait_end(const struct ol_held_wait *w, const void *l, int error)
{
	if (w->row) {
		ol_store_release(&w->row->waits_for, w->before);
		ol_add_release(&w->row->waits, 1u);
	}
	if (!error)
		ol_held_add(l);
	if (w->row)
		ol_held_move(w->row, w->moved);
}

static inline ol_ticks_t ol_held_look(ol_ticks_t until)
{
	return ol_earlier(until, ol_after(4, ol_tune(lease)));
}

static inline int ol_held_error(const struct ol_held_wait *w, const void *l, ol_ticks_t until)
{
	if (w->row && ol_held_is_circle(w->row, l))
		return OL_ERROR(EDEADLK);
	if (w->row && w->moved == l && !ol_held_is_listed(l))
		return OL_ERROR(EDEADLK);
	return ol_passed(until) ? OL_ERROR(ETIMEDOUT) : 0;
}

/* For one lock. */
#define OL_DEFINE_OR_FAIL_waits(id)
#define OL_DEFINE_OR_FAIL_timed(id)								\
	static OL_COLD int ol_##id##_lock_or_fail_slow(ol_##id##_t *l, ol_ticks_t until)	\
	{											\
		struct ol_held_wait w;								\
		int error = ol_held_wait_begin(&w, l);						\
												\
		if (error)									\
			return error;								\
		while (!error && !ol_##id##_timedlock(l, ol_held_look(until)))			\
			error = ol_held_error(&w, l, until);					\
		ol_held_wait_end(&w, l, error);							\
		return error;									\
	}											\
	static inline int ol_##id##_lock_or_fail(ol_##id##_t *l, ol_ticks_t until)		\
	{											\
		struct ol_held_row *row = ol_held_mine();					\
		const void *moved = ol_held_move(row, l);					\
		bool taken = ol_##id##_trylock(l);						\
												\
		if (taken)									\
			ol_held_add_to(row, l);							\
		ol_held_move(row, moved);							\
		return OL_UNLIKELY(!taken) ? ol_##id##_lock_or_fail_slow(l, until) : 0;	\
	}											\
	static inline int ol_##id##_unlock_or_fail(ol_##id##_t *l)				\
	{											\
		struct ol_held_row *row = ol_held_mine();					\
		const void *moved = ol_held_move(row, l);					\
		bool removed = ol_held_remove_from(row, l);					\
												\
		if (removed)									\
			ol_##id##_unlock(l);							\
		ol_held_move(row, moved);							\
		return removed ? 0 : OL_ERROR(EPERM);						\
	}
#endif
