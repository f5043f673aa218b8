// SPDX-License-Identifier: MIT
// Locks on the less common futex operations. KIND picks one, MUTANT a fault.
#include <overlock/checked.h>

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { inherits, tells_two, newer, waits_some_time, waits_once };
enum { none, releases_alone, forgets_second, wakes_other_bits, trusts_timeout };
#ifndef KIND
#define KIND inherits
#endif
#ifndef MUTANT
#define MUTANT none
#endif
#define IS(mutant)	(MUTANT == (mutant))

static unsigned load(unsigned *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* The word holds its owner: FUTEX_LOCK_PI. The kernel hands the lock over. */
static void inherits_lock(unsigned *word)
{
	unsigned is_free = 0;

	if (__atomic_compare_exchange_n(word, &is_free, (unsigned)gettid(), 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return;
	if (syscall(SYS_futex, word, FUTEX_LOCK_PI_PRIVATE, 0, 0))
		abort();
	if ((load(word) & FUTEX_TID_MASK) != (unsigned)gettid())
		abort();
}

static void inherits_unlock(unsigned *word)
{
	unsigned mine = (unsigned)gettid();

	if (IS(releases_alone)) {
		__atomic_store_n(word, 0, __ATOMIC_RELEASE);
		return;
	}
	if (__atomic_compare_exchange_n(word, &mine, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return;
	if (syscall(SYS_futex, word, FUTEX_UNLOCK_PI_PRIVATE))
		abort();
}

/* Some sleep on the lock, others on a count of its releases: FUTEX_WAKE_OP counts, and wakes both. */
static void tells_two_lock(unsigned *word)
{
	unsigned *releases = word + 1;

	for (;;) {
		unsigned seen = __atomic_load_n(releases, __ATOMIC_ACQUIRE);
		if (!__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
			return;
		if (gettid() % 2)
			syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 1, 0);
		else
			syscall(SYS_futex, releases, FUTEX_WAIT_PRIVATE, seen, 0);
	}
}

static void tells_two_unlock(unsigned *word)
{
	unsigned condition = IS(forgets_second) ? FUTEX_OP_CMP_LT : FUTEX_OP_CMP_GE;

	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_OP_PRIVATE, 100, 100L, word + 1,
		FUTEX_OP(FUTEX_OP_ADD, 1, condition, 0));
}

/* The calls of Linux 6.7. */
static void newer_lock(unsigned *word)
{
	while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
		syscall(455, word, 1L, 2L, 2 | FUTEX_PRIVATE_FLAG, 0, CLOCK_MONOTONIC);
}

static void newer_unlock(unsigned *word)
{
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
	syscall(454, word, IS(wakes_other_bits) ? 4L : 2L, 1, 2 | FUTEX_PRIVATE_FLAG);
}

/* Until a time by the clock, which has passed then, and again. */
static void waits_some_time_lock(unsigned *word)
{
	struct timespec until, now;

	while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE)) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec++;
		if (!syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, 1, &until, 0, 1) ||
		    errno != ETIMEDOUT)
			continue;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec < until.tv_sec ||
		    (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec))
			abort();
		if (IS(trusts_timeout))
			return;
	}
}

static void simple_unlock(unsigned *word)
{
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}

/* futex_waitv() of one word. */
static void waits_once_lock(unsigned *word)
{
	struct {
		uint64_t value, address;
		uint32_t flags, reserved;
	} one = { 1, (uintptr_t)word, 2 | FUTEX_PRIVATE_FLAG, 0 };

	while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
		syscall(449, &one, 1, 0, 0, CLOCK_MONOTONIC);
}

static void lock(void *o)
{
	switch (KIND) {
	case inherits:
		return inherits_lock(o);
	case tells_two:
		return tells_two_lock(o);
	case newer:
		return newer_lock(o);
	case waits_some_time:
		return waits_some_time_lock(o);
	default:
		return waits_once_lock(o);
	}
}

static void unlock(void *o)
{
	switch (KIND) {
	case inherits:
		return inherits_unlock(o);
	case tells_two:
		return tells_two_unlock(o);
	case newer:
		return newer_unlock(o);
	default:
		return simple_unlock(o);
	}
}

const struct ol_checked_lock overlock_checked = {
	.name = "futexes",
	.size = 2 * sizeof(unsigned),
	.lock = lock,
	.unlock = unlock,
};
