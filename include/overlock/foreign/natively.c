// SPDX-License-Identifier: MIT
/*
 * A file with a table, overlock/checked.h, as overlock-bench loads it: the table as ol_ops_ID and ol_init_ID, and
 * on real threads what the file may ask of the checker.
 *
 *	cc -DOL_ID=mine -DOL_NAME='"mine"' -c natively.c
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <overlock/checked.h>
#include <overlock/ops.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OL_PASTE_(a, b)	 a##b
#define OL_PASTE(a, b)	 OL_PASTE_(a, b)
#define OL_NATIVE_OPS	 OL_PASTE(ol_ops_, OL_ID)
#define OL_NATIVE_INIT	 OL_PASTE(ol_init_, OL_ID)
#define OL_VISIBLE	 __attribute__((visibility("default")))

/* The benchmark's lines, with the neighbour that processors fetch with each. */
enum { LINES = 128 };

OL_VISIBLE struct ol_lock_ops OL_NATIVE_OPS = {
	.id = OL_NAME,
	.source = "",
	.what = OL_NAME,
	.abi = OL_ABI,
	.align = LINES,
};

/* Pointers of the table itself: a call costs what it costs of any other lock. */
__attribute__((constructor)) static void take_table(void)
{
	const struct ol_checked_lock *l = &overlock_checked;

	OL_NATIVE_OPS.size = l->size;
	OL_NATIVE_OPS.lock = l->down ? l->down : l->lock;
	OL_NATIVE_OPS.unlock = l->down ? l->up : l->unlock;
	OL_NATIVE_OPS.trylock = l->down ? 0 : l->trylock;
}

/* A semaphore serves as a lock with one unit. */
OL_VISIBLE void OL_NATIVE_INIT(void *lock);
void OL_NATIVE_INIT(void *lock)
{
	if (overlock_checked.init)
		overlock_checked.init(lock);
	if (overlock_checked.down)
		overlock_checked.up(lock);
}

unsigned ol_checked_self(void)
{
	static atomic_uint threads;
	static __thread unsigned self;

	if (!self)
		self = atomic_fetch_add(&threads, 1) + 1;
	return self;
}

void ol_checked_spin(void)
{
	ol_relax();
}

void ol_checked_spin_endlessly(void)
{
	ol_relax();
}

static int answer(long result)
{
	return result < 0 ? -errno : (int)result;
}

/* A time that the checker lets pass at any moment is short here. */
int ol_checked_futex_wait(const volatile void *word, unsigned value, unsigned bits, bool timed)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += 1000 * 1000;
	if (until.tv_nsec >= 1000 * 1000 * 1000) {
		until.tv_nsec -= 1000 * 1000 * 1000;
		until.tv_sec++;
	}
	return answer(syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value,
			      timed ? &until : NULL, NULL, bits));
}

int ol_checked_futex_wake(const volatile void *word, int wakes, unsigned bits)
{
	return answer(syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, wakes, NULL, NULL, bits));
}

int ol_checked_futex_requeue(const volatile void *from, int wakes, const volatile void *to,
			     int moves, const unsigned *value)
{
	int how = value ? FUTEX_CMP_REQUEUE_PRIVATE : FUTEX_REQUEUE_PRIVATE;

	return answer(syscall(SYS_futex, from, how, wakes, (long)moves, to, value ? *value : 0));
}

/* What is not given is not read: the kernel takes at most six arguments. */
long ol_checked_syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	long result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	return result < 0 ? -errno : result;
}

void ol_checked_fail(const char *why)
{
	fprintf(stderr, "%s: %s\n", OL_NAME, why);
	abort();
}

void ol_checked_assert_fail(const char *expression, const char *file, unsigned line,
			    const char *function)
{
	fprintf(stderr, "%s:%u: %s: assertion `%s' failed\n", file, line, function, expression);
	abort();
}
