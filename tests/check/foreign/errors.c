// SPDX-License-Identifier: MIT
// A mutex that decides by errno, as programs do that call the C library's syscall(). MUTANT picks what it mistakes.
#include <overlock/checked.h>

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	none,
	again_is_fatal,
	interrupt_is_fatal,
	zero_means_woken,
	takes_raw_errors,
	shares_errno,
};
#ifndef MUTANT
#define MUTANT none
#endif
#define IS(mutant)	(MUTANT == (mutant))

static int shared;
static int *error(void)
{
	return IS(shares_errno) ? &shared : &errno;
}

static void sleep_on(int *word)
{
	long answer = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, 0);

	if (IS(takes_raw_errors)) {
		if (answer && answer != -EAGAIN && answer != -EINTR)
			abort();
		return;
	}
	if (IS(zero_means_woken) && !answer && !__atomic_load_n(&shared, __ATOMIC_RELAXED))
		abort();
	if (!answer)
		return;
	if (answer != -1 || (errno != EAGAIN && errno != EINTR))
		abort();
	if (IS(again_is_fatal) && errno == EAGAIN)
		abort();
	if (IS(interrupt_is_fatal) && errno == EINTR)
		abort();
}

static void lock(void *o)
{
	int *word = o, is_free = 0, mine = 100 + (int)ol_checked_self();

	*error() = mine;
	if (!__atomic_compare_exchange_n(word, &is_free, 1, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED)) {
		if (*error() != mine)
			ol_checked_fail("errno is another context's");
		while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE))
			sleep_on(word);
	}
	if (*error() != mine && *error() != EAGAIN && *error() != EINTR)
		ol_checked_fail("errno is another context's");
}

static void unlock(void *o)
{
	int *word = o;

	if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) != 2)
		return;
	if (IS(zero_means_woken))
		__atomic_store_n(&shared, 1, __ATOMIC_RELAXED);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}

const struct ol_checked_lock overlock_checked = {
	.name = "errors",
	.size = sizeof(int),
	.lock = lock,
	.unlock = unlock,
};
