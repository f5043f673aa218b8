// SPDX-License-Identifier: MIT
// Locks whose waiters do what no search can follow to its end, or give up. -DLOCK=KIND picks the lock.
#include <overlock/checked.h>

#include <assert.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	hoisted, /* looks once, for the compiler may take it that a plain variable stays as it is */
	recursive, /* each turn is a call */
	aborts,
	asserts,
	statistic, /* each turn writes to a variable */
	backoff,   /* pauses ever differently */
	busy	   /* a sleep on a value that is not there ends at once */
};

struct lock {
	atomic_int word;
	int held;
};

static unsigned seed = 1, paused;

static bool try_once(struct lock *l)
{
	return !atomic_exchange(&l->word, 1);
}

__attribute__((noinline)) static int call_again(struct lock *l)
{
	volatile char frame[64] = { 0 };

	return try_once(l) ? 0 : call_again(l) + frame[0] + 1;
}

static void turn(struct lock *l)
{
	switch (LOCK) {
	case aborts:
		abort();
	case asserts:
		assert(!l->held);
		return;
	case statistic:
		paused++;
		return;
	case backoff:
		seed = seed * 1103515245 + 12345;
		for (unsigned i = 0; i < seed >> 30; i++)
			__builtin_ia32_pause();
		return;
	default:
		syscall(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, 0, 0, 0);
	}
}

static void lock(void *o)
{
	struct lock *l = o;

	if (LOCK == hoisted) {
		while (l->held)
			;
		l->held = 1;
		return;
	}
	if (LOCK == recursive) {
		call_again(l);
		return;
	}
	while (!try_once(l))
		turn(l);
	l->held = 1;
}

static void unlock(void *o)
{
	struct lock *l = o;

	l->held = 0;
	if (LOCK != hoisted)
		atomic_store(&l->word, 0);
}

const struct ol_checked_lock overlock_checked = {
	.name = "stuck",
	.size = sizeof(struct lock),
	.lock = lock,
	.unlock = unlock,
};
