/* SPDX-License-Identifier: MIT */
/*
 * Holders that ask not to be preempted, if `run --defer` wants it: the lock of the mutexes, with a request after each
 * acquisition that is taken back after the release. A mutex that one thread acquires and another releases leaves a
 * request behind, which the kernel grants once.
 */
#include "interposer.h"

#include "internal.h"

#include <stdlib.h>
#include <string.h>

static const struct ol_lock_ops *inner;

static void lock(void *l)
{
	inner->lock(l);
	ol_defer_begin();
}

static bool began(bool acquired)
{
	if (acquired)
		ol_defer_begin();
	return acquired;
}

static bool trylock(void *l)
{
	return began(inner->trylock(l));
}

static bool timedlock(void *l, ol_ticks_t until)
{
	return began(inner->timedlock(l, until));
}

static void unlock(void *l)
{
	inner->unlock(l);
	ol_defer_end();
}

static int take(void *l)
{
	int busy = inner->take(l);

	began(!busy);
	return busy;
}

static int release(void *l)
{
	int error = inner->release(l);

	ol_defer_end();
	return error;
}

static bool is_asked_for(void)
{
	const char *value = secure_getenv("OVERLOCK_DEFER");

	return value && *value && strcmp(value, "0") != 0;
}

/* Not earlier: the library's own constructor (lib/platform.c) finds out what there is. */
__attribute__((constructor(102))) static void say_if_in_vain(void)
{
	const char *why = 0;

	if (!is_asked_for())
		return;
	ol_run_start();
	if (ol_run_makes_adaptive)
		why = "glibc's mutexes do not ask; choose another --lock";
	else if (inner && !ol_source_of("defer"))
		why = "nothing here puts a preemption off; `overlock doctor --verbose` says why";
	if (why)
		ol_run_ignore("OVERLOCK_DEFER", secure_getenv("OVERLOCK_DEFER"), why);
}

const struct ol_lock_ops *ol_run_deferring(const struct ol_lock_ops *ops)
{
	static struct ol_lock_ops deferring;

	if (!ops || !is_asked_for())
		return ops;
	inner = ops;
	deferring = *ops;
	deferring.lock = lock;
	deferring.trylock = trylock;
	deferring.timedlock = ops->timedlock ? timedlock : 0;
	deferring.unlock = unlock;
	deferring.take = take;
	deferring.release = release;
	return &deferring;
}
