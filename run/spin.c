/* SPDX-License-Identifier: MIT */
/*
 * Spinlocks, in place.
 *
 * The default is spin_yield.h: glibc's word and glibc's meaning of it, so that the other users of a spinlock,
 * in this process or another, need not be ours; only our waiters yield.
 *
 * `run --spinlock LOCK` asks for another lock. A pthread_spinlock_t is 4 bytes: there is no room for a fork's
 * epoch, nor for a mark that says whose it is. So only locks will do (spin_refusal()) that
 *
 *	hand over to nobody, for in the child of a fork the next in the queue may be a ghost, unless
 *	later waiters may pass it after a while, as in a preemptable queue,
 *	mean the same in every process and do not sleep, for which processes share one cannot be
 *	seen: several that run under the same lock exclude each other, process-shared or not.
 *
 * One process under glibc's and another under such a lock would not exclude each other, and neither could
 * tell: glibc's free spinlock is 1 on x86, theirs is 0. Hence none of them is the default.
 */
#include "interposer.h"

#include <errno.h>
#include <string.h>

static const struct ol_lock_ops *spin_ops(void)
{
	const struct ol_lock_ops *ops =
		ol_load_acquire(&ol_run_chosen_spin); /* with what ol_run_start() wrote */

	if (OL_UNLIKELY(!ops)) {
		ol_run_start();
		ops = ol_load_acquire(&ol_run_chosen_spin);
	}
	return ops;
}

static void *word_of(pthread_spinlock_t *l)
{
	return (void *)(uintptr_t)l; /* not volatile: the locks use atomics */
}

int ol_run_spin_init(pthread_spinlock_t *l, int shared)
{
	const struct ol_lock_ops *ops = spin_ops();

	if (!ops || ops == &ol_ops_spin_yield)
		return ol_run_real.spin_init(l, shared);
	if (shared == PTHREAD_PROCESS_SHARED)
		LEFT(shared_spinlock);
	memset(word_of(l), 0, sizeof(*l));
	return 0;
}

int ol_run_spin_destroy(pthread_spinlock_t *l)
{
	return spin_ops() ? 0 : ol_run_real.spin_destroy(l);
}

static OL_COLD void spin_slow(pthread_spinlock_t *l, const struct ol_lock_ops *ops)
{
	struct wait w;

	ol_run_wait_begin(&w, 0, ops, OL_NEVER);
	FOR_CALLER();
	ops->lock(word_of(l));
	ol_run_wait_end(&w);
}

int ol_run_spin_lock(pthread_spinlock_t *l)
{
	const struct ol_lock_ops *ops = spin_ops();

	if (!ops) {
		LEFT(spinlock);
		return ol_run_real.spin_lock(l);
	}
	if (OL_UNLIKELY(IS_COUNTED || ops->take(word_of(l))))
		spin_slow(l, ops);
	return 0;
}

int ol_run_spin_trylock(pthread_spinlock_t *l)
{
	const struct ol_lock_ops *ops = spin_ops();

	if (!ops) {
		LEFT(spinlock);
		return ol_run_real.spin_trylock(l);
	}
	FOR_CALLER();
	return ops->trylock(word_of(l)) ? 0 : EBUSY;
}

int ol_run_spin_unlock(pthread_spinlock_t *l)
{
	const struct ol_lock_ops *ops = spin_ops();

	if (!ops)
		return ol_run_real.spin_unlock(l);
	ops->unlock(word_of(l));
	return 0;
}
