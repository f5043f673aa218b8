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

/* More, or fewer, wait from `now` on; somebody else's later step may have been accounted already. */
INLINE void change_waiters(struct lock_seen *lock, __u64 now, int waiters)
{
	if (lock->since > now)
		lock->missed += (__s64)(lock->since - now) * waiters;
	lock->waiters += (__u32)waiters;
}

/* A time, with what was missed; never less than nothing. */
INLINE __u64 with_missed(struct lock_seen *lock, __u64 ns)
{
	__s64 sum = (__s64)ns + lock->missed;

	if (sum < 0)
		return ns;
	lock->missed = 0;
	return (__u64)sum;
}

INLINE void owe(struct lock_seen *lock, __u64 ns)
{
	if (!lock->owed)
		lock->owed_since = lock->since;
	lock->owed += with_missed(lock, ns * lock->waiters);
	lock->owed_wall += ns;
}

/*
 * All waiters of a lock wait for the same thread to do something: its subject. So what that thread did
 * since this was last called splits the time of all of them. `now_at`: the subject's times up to `now`, or
 * null where nobody knows the subject. Of a lock that is settled later.
 */
INLINE void account(struct lock_seen *lock, __u64 now, const __u64 *now_at, struct split *split)
{
	__u64 all = now > lock->since ? now - lock->since : 0, left = all;
	__u32 role = lock->role < ROLES ? lock->role : ROLE_NOBODY;
	__u64 longest = 0;

	split->waiters = lock->waiters;
	split->role = role;
	if (lock->waiters && role == ROLE_NOBODY && looks_like_lock(lock)) {
		owe(lock, all);
		split->waiters = 0;
	}
	for (int i = STATES - 1; i > 0; i--) {
		__u64 ns = now_at && now_at[i] > lock->base[i] ? now_at[i] - lock->base[i] : 0;

		split->ns[i] =
			ns < left ? ns : left; /* the clocks of two CPUs may differ a little */
		left -= split->ns[i];
	}
	split->ns[STATE_RUNS] = left;
	for (int i = 0; i < STATES; i++)
		longest = split->ns[i] > longest ? split->ns[i] : longest;
	if (now > lock->since)
		lock->since = now;
	for (int i = 0; split->waiters && i < STATES; i++) {
		__u64 ns = split->ns[i] * lock->waiters;

		lock->ns[role][i] += split->ns[i] == longest ? with_missed(lock, ns) : ns;
		lock->wall[role][i] += split->ns[i];
	}
}

#define PARTS	1024 /* of a whole, which would not fit into 64 bits times another */

/* What is owed, by what the thread that held the lock since then did, if that is known. */
INLINE void settle(struct lock_seen *lock, __u64 now, const __u64 *absent, enum role role,
		   struct split *split)
{
	__u64 window = now > lock->owed_since ? now - lock->owed_since : 1, left = PARTS;

	split->waiters = 1;
	split->role = role;
	for (int i = STATES - 1; i >= 0; i--) {
		__u64 part = i && absent ? absent[i] * PARTS / window : 0;

		if (part > left || !i)
			part = left;
		left -= part;
		split->ns[i] = lock->owed / PARTS * part;
		if (!i)
			split->ns[i] += lock->owed % PARTS;
		lock->ns[role][i] += split->ns[i];
		lock->wall[role][i] += lock->owed_wall / PARTS * part;
	}
	lock->owed = lock->owed_wall = 0;
}
#endif
