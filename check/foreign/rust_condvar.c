// SPDX-License-Identifier: MIT
// Rust's std::sync::Condvar on futexes, a model in our words: a word that each notification adds to.
#define OL_ONLY_MUTEX
#include "rust_mutex.c"

struct pair {
	struct mutex mutex;
	unsigned notified;
};

static void wait(void *o)
{
	struct pair *p = o;
	unsigned seen = __atomic_load_n(&p->notified, __ATOMIC_RELAXED);

	release(o);
	ol_checked_futex_wait(&p->notified, seen, ~0u, false);
	lock(o);
}

static void wake_one(void *o)
{
	struct pair *p = o;

	__atomic_fetch_add(&p->notified, 1, __ATOMIC_RELAXED);
	ol_checked_futex_wake(&p->notified, 1, ~0u);
}

static void wake_all(void *o)
{
	struct pair *p = o;

	__atomic_fetch_add(&p->notified, 1, __ATOMIC_RELAXED);
	ol_checked_futex_wake(&p->notified, 0x7fffffff, ~0u);
}

const struct ol_checked_lock overlock_checked = {
	.name = "Rust std condition variable (model)",
	.size = sizeof(struct pair),
	.lock = lock,
	.unlock = release,
	.wait = wait,
	.signal = wake_one,
	.broadcast = wake_all,
};
