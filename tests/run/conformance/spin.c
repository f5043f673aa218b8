/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cases.h"

#include <errno.h>

static void make_private(void *object)
{
	pthread_spin_init(object, PTHREAD_PROCESS_PRIVATE);
}

static void make_shared(void *object)
{
	pthread_spin_init(object, PTHREAD_PROCESS_SHARED);
}

static const struct kind kinds[] = {
	{ "private", make_private },
	{ "shared", make_shared },
	{ 0, 0 },
};

CALL(pthread_spinlock_t, lock, pthread_spin_lock(o))
CALL(pthread_spinlock_t, trylock, pthread_spin_trylock(o))
CALL(pthread_spinlock_t, unlock, pthread_spin_unlock(o))
CALL(pthread_spinlock_t, destroy, pthread_spin_destroy(o))
CALL(pthread_spinlock_t, init_again, pthread_spin_init(o, PTHREAD_PROCESS_PRIVATE))

static int lock_and_unlock(void *object)
{
	int error = lock(object);

	return error ? error : unlock(object);
}

static int try_and_unlock(void *object)
{
	int error = trylock(object);

	return error ? error : unlock(object);
}

static const struct call calls[] = {
	{ "lock", lock },
	{ "trylock", trylock },
	{ "unlock", unlock },
	{ "lock-and-unlock", lock_and_unlock },
	{ "destroy", destroy },
	{ "init-again", init_again },
	{ 0, 0 },
};

static void never_used(void *object)
{
	(void)object;
}

static void used(void *object)
{
	lock_and_unlock(object);
	by_other(lock_and_unlock, object);
}

static void held(void *object)
{
	lock(object);
}

static void held_by_other(void *object)
{
	by_other(lock, object);
}

static void forked_free(void *object)
{
	used(object);
	go_on_in_child();
}

static void forked_held(void *object)
{
	held(object);
	go_on_in_child();
}

static void forked_other_held(void *object)
{
	held_by_other(object);
	go_on_in_child();
}

static const struct state states[] = {
	{ "free", never_used },
	{ "free-used", used },
	{ "held-by-self", held },
	{ "held-by-other", held_by_other },
	{ "forked-free", forked_free },
	{ "forked-held", forked_held },
	{ "forked-other-held", forked_other_held },
	{ 0, 0 },
};

static const char *look(void *object)
{
	return by_fresh(try_and_unlock, object) ? "held" : "free";
}

const struct family spinlocks = {
	"spin", kinds, states, calls, sizeof(pthread_spinlock_t), unlock, errno_answer, look, true,
};
