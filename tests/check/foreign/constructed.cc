// SPDX-License-Identifier: MIT
// C++: variables that a constructor fills before any context begins, assert() and syscall() as the C library
// declares them. MUTANT: a value that is not the constructor's.
#include <overlock/checked.h>

#include <atomic>
#include <cassert>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef FREE
#define FREE	1
#endif

namespace
{

struct Begins {
	int free;
	Begins(int to) : free(to) {}
};
Begins *volatile where;
Begins begins((where = &begins, FREE));
std::atomic<int> word;

} // namespace

static void lock(void *)
{
	assert(where->free == 1);
	while (word.exchange(1))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, nullptr, nullptr, 0);
}

static void unlock(void *)
{
	word = 0;
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

extern "C" const struct ol_checked_lock overlock_checked = {
	.name = "constructed",
	.size = 4,
	.lock = lock,
	.unlock = unlock,
};
