/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MONITOR_ACCOUNT_H
#define MONITOR_ACCOUNT_H
/* How waits are split. For the BPF programs, and for what is still waited for at the end. */
#include "waits.h"

/* How much of that time the subject spent in which state. */
struct split {
	__u64 ns[STATES];
	__u32 waiters, role;
};

/*
 * All waiters of a lock wait for the same thread to do something: its subject. So what that thread did
 * since this was last called splits the time of all of them. `now_at`: the subject's times up to `now`, or
 * null where nobody knows the subject.
 */
static inline __attribute__((always_inline)) void account(struct lock_seen *lock, __u64 now,
							  const __u64 *now_at, struct split *split)
{
	__u64 all = now > lock->since ? now - lock->since : 0, left = all;
	__u32 role = lock->role < ROLES ? lock->role : ROLE_NOBODY;

	split->waiters = lock->waiters;
	split->role = role;
	for (int i = STATES - 1; i > 0; i--) {
		__u64 ns = now_at && now_at[i] > lock->base[i] ? now_at[i] - lock->base[i] : 0;

		split->ns[i] =
			ns < left ? ns : left; /* the clocks of two CPUs may differ a little */
		left -= split->ns[i];
	}
	split->ns[STATE_RUNS] = left;
	if (now > lock->since)
		lock->since = now;
	if (!lock->waiters)
		return;
	for (int i = 0; i < STATES; i++) {
		lock->ns[role][i] += split->ns[i] * lock->waiters;
		lock->wall[role][i] += split->ns[i];
	}
}
#endif
