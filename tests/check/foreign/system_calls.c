// SPDX-License-Identifier: MIT
// What system calls answer, and what they leave in errno. In the checker and, with -DNATIVE, of the kernel: the
// expectations are the same. MUTANT: an expectation that is wrong.
#define _GNU_SOURCE
#ifndef NATIVE
#include <overlock/checked.h>
#endif

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef MUTANT
#define AGAIN	EINTR
#else
#define AGAIN	EAGAIN
#endif

#define UNTOUCHED	1234 /* what errno is before each call */

#ifdef NATIVE
#define FAIL(...)	(printf(__VA_ARGS__), printf("\n"), exit(1))
#else
#define FAIL(...)	({ char why[200]; snprintf(why, sizeof(why), __VA_ARGS__); ol_checked_fail(why); })
#endif

static void expect(int line, long answer, long expected, int error)
{
	int found = errno;

	if (answer != expected)
		FAIL("line %d answers %ld, not %ld (errno %d)", line, answer, expected, found);
	if (found != error)
		FAIL("line %d leaves errno %d, not %d", line, found, error);
}
#define RETURNS(value, call)	(errno = UNTOUCHED, expect(__LINE__, (call), (value), UNTOUCHED))
#define FAILS(error, call)	(errno = UNTOUCHED, expect(__LINE__, (call), -1, (error)))

#define WAIT		FUTEX_WAIT_PRIVATE
#define WAKE		FUTEX_WAKE_PRIVATE
#define WAIT_BITSET	FUTEX_WAIT_BITSET_PRIVATE
#define WAKE_BITSET	FUTEX_WAKE_BITSET_PRIVATE
#define NONE		((void *)0)
#define NOWHERE		((void *)8)

static uint32_t word, other;
static const struct timespec at_once = { 0, 0 }, wrong = { 0, 1000000000 }, before = { -1, 0 };

static long futex(void *at, int op, long value, const void *timeout, void *second, unsigned last)
{
	return syscall(SYS_futex, at, op, value, timeout, second, last);
}

static void waits(void)
{
	FAILS(AGAIN, futex(&word, WAIT, 1, NONE, NONE, 0));
	FAILS(EAGAIN, futex(&word, WAIT, 1, &at_once, NONE, 0));
	FAILS(EAGAIN, futex(&word, WAIT_BITSET, 1, NONE, NONE, 1));
	FAILS(ETIMEDOUT, futex(&word, WAIT, 0, &at_once, NONE, 0));
	FAILS(ETIMEDOUT, futex(&word, WAIT_BITSET, 0, &at_once, NONE, 1));
	FAILS(ETIMEDOUT, futex(&word, WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &at_once, NONE, 1));
	FAILS(EINVAL, futex((char *)&word + 1, WAIT, 0, NONE, NONE, 0));
	FAILS(EINVAL, futex(&word, WAIT_BITSET, 0, NONE, NONE, 0));
	FAILS(EINVAL, futex(&word, WAIT, 1, &wrong, NONE, 0));
	FAILS(EINVAL, futex(&word, WAIT, 1, &before, NONE, 0));
	FAILS(EFAULT, futex(&word, WAIT, 1, NOWHERE, NONE, 0));
	FAILS(EFAULT, futex(NONE, WAIT, 0, NONE, NONE, 0));
	FAILS(ENOSYS, futex(&word, WAIT | FUTEX_CLOCK_REALTIME, 1, NONE, NONE, 0));
	FAILS(ENOSYS, futex(&word, FUTEX_FD, 0, NONE, NONE, 0));
	FAILS(ENOSYS, futex(&word, 77, 0, NONE, NONE, 0));
}

static void wakes(void)
{
	RETURNS(0, futex(&word, WAKE, 1, NONE, NONE, 0));
	RETURNS(0, futex(&word, WAKE, INT_MAX, NONE, NONE, 0));
	RETURNS(0, futex(&word, WAKE_BITSET, 1, NONE, NONE, 1));
	RETURNS(0, futex(NONE, WAKE, 1, NONE, NONE, 0));
	FAILS(EFAULT, futex(NONE, FUTEX_WAKE, 1, NONE, NONE, 0));
	FAILS(EINVAL, futex(&word, WAKE_BITSET, 1, NONE, NONE, 0));
	FAILS(EINVAL, futex((char *)&word + 2, WAKE, 1, NONE, NONE, 0));
	RETURNS(0, futex(&word, FUTEX_REQUEUE_PRIVATE, 1, (void *)1, &other, 0));
	RETURNS(0, futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)1, &other, 0));
	FAILS(EAGAIN, futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)1, &other, 5));
	FAILS(EINVAL, futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, -1, (void *)1, &other, 0));
	FAILS(EINVAL, futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)-1L, &other, 0));
}

static long wake_op(int op, int by)
{
	return futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &other,
		     FUTEX_OP(op, by, FUTEX_OP_CMP_EQ, 0));
}

static void changes(void)
{
	static const struct {
		int op, by;
		uint32_t left;
	} all[] = {
		{ FUTEX_OP_SET, 12, 12 }, { FUTEX_OP_ADD, -2, 10 },
		{ FUTEX_OP_OR, 5, 15 },	  { FUTEX_OP_ANDN, 3, 12 },
		{ FUTEX_OP_XOR, 4, 8 },	  { FUTEX_OP_SET | FUTEX_OP_OPARG_SHIFT, 4, 16 },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		RETURNS(0, wake_op(all[i].op, all[i].by));
		RETURNS(all[i].left, __atomic_load_n(&other, __ATOMIC_RELAXED));
	}
	FAILS(ENOSYS, wake_op(5, 0));
	FAILS(EINVAL, futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, (char *)&other + 1, 0));
	FAILS(EFAULT, futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, NONE, 0));
}

static void inherits(void)
{
	long self = syscall(SYS_gettid);

	RETURNS(0, futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NONE, NONE, 0));
	RETURNS(self, __atomic_load_n(&word, __ATOMIC_RELAXED));
	FAILS(EDEADLK, futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NONE, NONE, 0));
	FAILS(EDEADLK, futex(&word, FUTEX_TRYLOCK_PI_PRIVATE, 0, NONE, NONE, 0));
	RETURNS(0, futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NONE, NONE, 0));
	RETURNS(0, __atomic_load_n(&word, __ATOMIC_RELAXED));
	FAILS(EPERM, futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NONE, NONE, 0));
	RETURNS(0, futex(&word, FUTEX_TRYLOCK_PI_PRIVATE, 0, NONE, NONE, 0));
	RETURNS(0, futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NONE, NONE, 0));
	FAILS(EINVAL, futex((char *)&word + 1, FUTEX_LOCK_PI_PRIVATE, 0, NONE, NONE, 0));
	FAILS(EINVAL, futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, &wrong, NONE, 0));
	FAILS(EFAULT, futex(NONE, FUTEX_LOCK_PI_PRIVATE, 0, NONE, NONE, 0));
}

#define FUTEX2		(2 | FUTEX_PRIVATE_FLAG) /* FUTEX2_SIZE_U32 */
static struct waiter {
	uint64_t value, address;
	uint32_t flags, reserved;
} two[2];

static void has_waitv(void)
{
	two[0] = (struct waiter){ 1, (uintptr_t)&word, FUTEX2, 0 };
	FAILS(EAGAIN, syscall(449, two, 1, 0, NONE, CLOCK_MONOTONIC));
	FAILS(EINVAL, syscall(449, two, 0, 0, NONE, CLOCK_MONOTONIC));
	FAILS(EINVAL, syscall(449, two, 129, 0, NONE, CLOCK_MONOTONIC));
	FAILS(EINVAL, syscall(449, two, 1, 1, NONE, CLOCK_MONOTONIC));
	FAILS(EINVAL, syscall(449, two, 1, 0, &at_once, CLOCK_BOOTTIME));
	two[0].reserved = 1;
	FAILS(EINVAL, syscall(449, two, 1, 0, NONE, CLOCK_MONOTONIC));
	two[0].reserved = two[0].value = 0;
	FAILS(ETIMEDOUT, syscall(449, two, 1, 0, &at_once, CLOCK_MONOTONIC));
}

static void has_futex2(void)
{
	RETURNS(0, syscall(454, &word, ~0u, 1, FUTEX2));
	FAILS(EINVAL, syscall(454, &word, ~0u, 1, FUTEX_PRIVATE_FLAG));
	FAILS(EINVAL, syscall(454, &word, 0, 1, FUTEX2));
	FAILS(EAGAIN, syscall(455, &word, 1, ~0u, FUTEX2, NONE, CLOCK_MONOTONIC));
	FAILS(EINVAL, syscall(455, &word, 0, 0, FUTEX2, NONE, CLOCK_MONOTONIC));
	FAILS(EINVAL, syscall(455, &word, 1L << 32, ~0u, FUTEX2, NONE, CLOCK_MONOTONIC));
	FAILS(ETIMEDOUT, syscall(455, &word, 0, ~0u, FUTEX2, &at_once, CLOCK_MONOTONIC));
	two[0] = (struct waiter){ 1, (uintptr_t)&word, FUTEX2, 0 };
	two[1] = (struct waiter){ 0, (uintptr_t)&other, FUTEX2, 0 };
	FAILS(EAGAIN, syscall(456, two, 0, 1, 1));
	FAILS(EINVAL, syscall(456, two, 1, 1, 1));
	two[0].value = 0;
	RETURNS(0, syscall(456, two, 0, 1, 1));
}

static void others(void)
{
	struct timespec first, then, short_time = { 0, 1 };
	unsigned cpu = ~0u;

	RETURNS(syscall(SYS_gettid), gettid());
	RETURNS(syscall(SYS_getpid), getpid());
	RETURNS(1, pthread_self() != 0);
	RETURNS(0, sched_yield());
	RETURNS(0, syscall(SYS_sched_yield));
	RETURNS(0, usleep(1));
	RETURNS(0, poll(0, 0, 1));
	RETURNS(0, nanosleep(&short_time, 0));
	FAILS(EINVAL, nanosleep(&wrong, 0));
	FAILS(EFAULT, nanosleep(NOWHERE, 0));
	RETURNS(EINVAL, clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, 0));
	RETURNS(0, clock_gettime(CLOCK_MONOTONIC, &first));
	RETURNS(0, clock_gettime(CLOCK_MONOTONIC, &then));
	RETURNS(1, then.tv_sec > first.tv_sec ||
			   (then.tv_sec == first.tv_sec && then.tv_nsec >= first.tv_nsec));
	FAILS(EINVAL, clock_gettime(99, &first));
	RETURNS(0, syscall(SYS_clock_gettime, CLOCK_REALTIME, &then));
	RETURNS(1, time(0) >= then.tv_sec);
	RETURNS(0, syscall(SYS_getcpu, &cpu, 0, 0));
	RETURNS(1, cpu != ~0u && sched_getcpu() >= 0);
	RETURNS(MEMBARRIER_CMD_PRIVATE_EXPEDITED,
		syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) &
			MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	FAILS(EPERM, syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
	FAILS(EINVAL, syscall(SYS_membarrier, 3, 0, 0));
}

static bool has(long number)
{
#ifdef NATIVE
	return syscall(number, 0, 0, 0, 0, 0, 0) != -1 || errno != ENOSYS;
#else
	return true;
#endif
}

static void all(void)
{
	waits();
	wakes();
	changes();
	inherits();
	if (has(449))
		has_waitv();
	if (has(454) && has(456))
		has_futex2();
	others();
}

#ifdef NATIVE
int main(void)
{
	all();
	puts("holds");
}
#else
static void lock(void *o)
{
	if (!ol_checked_self()) /* whoever looks at the end cannot wait */
		return;
	all();
	errno = UNTOUCHED;
	if (ol_checked_raw_syscall(SYS_futex, &word, WAIT, 1, 0) != -EAGAIN || errno != UNTOUCHED)
		ol_checked_fail("the raw call has not left errno alone");
}

static void unlock(void *o)
{
}

const struct ol_checked_lock overlock_checked = {
	.name = "system calls",
	.size = 4,
	.lock = lock,
	.unlock = unlock,
};
#endif
