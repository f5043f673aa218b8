// SPDX-License-Identifier: MIT
// Locks whose waiters turn a number of times, or without end, in ways in which real ones do; and what such a loop
// can hide. -DLOCK=KIND picks the lock, -DTURNS=N how often a waiter looks, -DFAULT what is wrong.
#include <overlock/checked.h>

#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	spin_then_park, /* turn, then sleep; FAULT: not marked as wanted, so no release wakes it */
	last_look, /* FAULT: sleep on what the last turn saw, which may be that the lock is free */
	old_look,  /* a semaphore; FAULT: sleep on what was seen before the first turn */
	nested,	   /* a loop within each turn, then as spin_then_park */
	exchange,  /* turn without end, by exchanges */
	plain,	   /* likewise, by loads of a volatile */
	backoff,   /* likewise, ever more slowly up to a limit */
	statistic, /* likewise, and count */
	adaptive   /* as spin_then_park, and learn from how long it took */
};
#ifndef TURNS
#define TURNS 3
#endif
#ifdef FAULT
#define IS_FAULTY true
#else
#define IS_FAULTY false
#endif

struct all {
	atomic_int lock; /* 0 free, 1 held, 2 held and wanted */
	int learnt;
};

static bool try_once(atomic_int *l)
{
	int is_free = 0;

	return atomic_compare_exchange_strong(l, &is_free, 1);
}

static void sleep_on(atomic_int *l, int seen)
{
	syscall(SYS_futex, l, FUTEX_WAIT_PRIVATE, seen, 0, 0, 0);
}

static void park(atomic_int *l)
{
	int held = IS_FAULTY ? 1 : 2;

	while (atomic_exchange(l, held))
		sleep_on(l, held);
}

static void turn_then_park(struct all *a)
{
	for (int i = 0; i < TURNS; i++) {
		if (try_once(&a->lock))
			return;
		if (LOCK == nested)
			for (int k = 0; k < TURNS; k++)
				if (atomic_load_explicit(&a->lock, memory_order_relaxed) == 0)
					break;
	}
	park(&a->lock);
}

static void look_then_park(struct all *a)
{
	int seen = 1;

	for (;;) {
		for (int i = 0; i < TURNS; i++) {
			if (try_once(&a->lock))
				return;
			seen = atomic_load(&a->lock);
		}
		if (IS_FAULTY || seen)
			sleep_on(&a->lock, seen);
	}
}

static void turn_and_learn(struct all *a)
{
	int turns = 0;

	while (turns < TURNS && !try_once(&a->lock))
		turns++;
	if (turns == TURNS)
		park(&a->lock);
	a->learnt += (turns - a->learnt) / 2;
}

static void turn_without_end(struct all *a)
{
	unsigned pause = 1, turns = 0;
	volatile int *word = (volatile int *)&a->lock;

	while (LOCK == plain ? *word || !try_once(&a->lock) : atomic_exchange(&a->lock, 1)) {
		turns++;
		if (LOCK == backoff && pause < 32) {
			pause *= 2;
			turns = 0;
		}
		for (unsigned i = 0; LOCK == backoff && i < pause; i++)
			__builtin_ia32_pause();
	}
	if (LOCK == statistic)
		a->learnt += (int)turns;
}

static void lock(void *o)
{
	switch (LOCK) {
	case spin_then_park:
	case nested:
		return turn_then_park(o);
	case last_look:
		return look_then_park(o);
	case adaptive:
		return turn_and_learn(o);
	default:
		return turn_without_end(o);
	}
}

static void unlock(void *o)
{
	struct all *a = o;
	int was = atomic_exchange(&a->lock, 0);

	if (LOCK == last_look || was == 2)
		syscall(SYS_futex, &a->lock, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static bool take(atomic_int *value)
{
	int seen = atomic_load(value);

	return seen && atomic_compare_exchange_strong(value, &seen, seen - 1);
}

static void down(void *o)
{
	struct all *a = o;

	do {
		int seen = IS_FAULTY ? atomic_load(&a->lock) : 0;

		for (int i = 0; i < TURNS; i++) {
			if (take(&a->lock))
				return;
			PAUSE;
		}
		sleep_on(&a->lock, seen);
	} while (!take(&a->lock));
}

static void up(void *o)
{
	struct all *a = o;

	if (atomic_fetch_add(&a->lock, 1) <= 0 || !IS_FAULTY)
		syscall(SYS_futex, &a->lock, FUTEX_WAKE_PRIVATE, 1000, 0, 0, 0);
}

const struct ol_checked_lock overlock_checked = {
	.name = "loops",
	.size = sizeof(struct all),
	.lock = LOCK == old_look ? 0 : lock,
	.unlock = LOCK == old_look ? 0 : unlock,
	.down = LOCK == old_look ? down : 0,
	.up = LOCK == old_look ? up : 0,
};
