/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MONITOR_ACCOUNT_H
#define MONITOR_ACCOUNT_H
/* How waits are split. For the BPF programs, and for what is still waited for at the end. */
#include "waits.h"
#include <linux/futex.h>
#include <stdbool.h>

/* How much of a time was spent in which state. */
struct split {
	__u64 ns[STATES];
	__u32 waiters, role;
};

#define INLINE	static inline __attribute__((always_inline))

/*
 * The thread that takes a lock releases it. So threads that wake others have waited there, too, and a thread
 * that was woken wakes another before it waits again, unless it lost the race for the lock and did no work. At
 * a queue, a latch or a condition the threads that wait and those that wake differ, or a thread comes back with
 * its work done and wakes nobody. Where only one thread waits, it has to wake somebody nearly each time.
 */
INLINE bool behaves_like_lock(const struct lock_seen *lock)
{
	bool each = lock->own * 10 >= lock->woken * 8;
	bool all = lock->others && lock->by_waiters * 10 >= lock->woke * 8;

	return lock->own >= 4 && lock->came_back * 10 <= lock->woken && (each || all);
}

/* Of locks the value that is waited for says that there are waiters; of conditions it is a count. */
INLINE bool looks_like_lock(const struct lock_seen *lock)
{
	return behaves_like_lock(lock) || lock->owners || lock->value == 2 ||
	       lock->value & FUTEX_WAITERS || lock->op == FUTEX_LOCK_PI ||
	       lock->op == FUTEX_LOCK_PI2;
}

/* a - b, or 0. Without a branch, as the next one: the verifier follows each of them both ways. */
INLINE __u64 above(__u64 a, __u64 b)
{
	__u64 difference = a - b, below = (__u64)((__s64)difference >> 63);

	__asm__("" : "+r"(below)); /* else the compiler makes a branch of it */
	return difference & ~below;
}

/* All bits, if they are; else none. Both are below 2^31. */
INLINE __u64 same(__u32 a, __u32 b)
{
	__u64 bits = (__u64)(((__s64)(a ^ b) - 1) >> 63);

	__asm__("" : "+r"(bits));
	return bits;
}

/* More, or fewer, wait from `now` on; somebody else's later step may have been accounted already. */
INLINE void change_waiters(struct lock_seen *lock, __u64 now, int waiters)
{
	if (lock->since > now)
		lock->missed += (__s64)(lock->since - now) * waiters;
	lock->waiters += (__u32)waiters;
}

INLINE void owe(struct lock_seen *lock, __u64 ns)
{
	if (!lock->owed)
		lock->owed_since = lock->since;
	lock->owed += ns * lock->waiters;
	lock->owed_wall += ns;
}

/*
 * All waiters of a lock wait for the same thread to do something: its subject. So what that thread did
 * since this was last called splits the time of all of them. `now_at`: the subject's times up to `now`, or
 * zeros if it is not known; a lock's time is split by settle() then, when its holder is.
 */
INLINE void account(struct lock_seen *lock, __u64 now, const __u64 *now_at, struct split *split)
{
	__u64 all = above(now, lock->since), left = all;
	__u32 role = lock->role < ROLES ? lock->role : ROLE_NOBODY;

	split->waiters = lock->waiters;
	split->role = role;
	if (lock->waiters && role == ROLE_NOBODY && looks_like_lock(lock)) {
		owe(lock, all);
		split->waiters = 0;
	}
	for (int i = STATES - 1; i > 0; i--) {
		__u64 ns = above(now_at[i], lock->base[i]);

		split->ns[i] =
			ns - above(ns, left); /* the clocks of two CPUs may differ a little */
		left -= split->ns[i];
	}
	split->ns[STATE_RUNS] = left;
	lock->since += all;
	for (int i = 0; split->waiters && i < STATES; i++) {
		lock->ns[role][i] += split->ns[i] * lock->waiters;
		lock->wall[role][i] += split->ns[i];
	}
}

#define PARTS	1024 /* of a whole, which would not fit into 64 bits times another */

/* Splits the time that is owed by what the lock's holder did in it; `absent`: its times off the CPU, or zeros. */
INLINE void settle(struct lock_seen *lock, __u64 now, const __u64 *absent, enum role role,
		   struct split *split)
{
	__u64 window = above(now, lock->owed_since) + 1, left = PARTS;

	split->waiters = 1;
	split->role = role;
	for (int i = STATES - 1; i >= 0; i--) {
		__u64 part = absent[i] * PARTS / window;

		part = i ? part - above(part, left) : left;
		left -= part;
		split->ns[i] = lock->owed / PARTS * part + (i ? 0 : lock->owed % PARTS);
		lock->ns[role][i] += split->ns[i];
		lock->wall[role][i] += lock->owed_wall / PARTS * part;
	}
	lock->owed = lock->owed_wall = 0;
}

/* What was missed is the state's in which most was waited; never less than nothing. */
INLINE void add_missed(struct lock_seen *lock)
{
	__u64 *most = &lock->ns[0][0];

	for (int i = 0; i < ROLES * STATES; i++)
		if (lock->ns[i / STATES][i % STATES] > *most)
			most = &lock->ns[i / STATES][i % STATES];
	if ((__s64)*most + lock->missed >= 0)
		*most += (__u64)lock->missed;
	lock->missed = 0;
}
#endif
