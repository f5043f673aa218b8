/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cases.h"

#include <threads.h>

#define TYPE(name, type)		\
	static void name(void *object)	\
	{				\
		mtx_init(object, type);	\
	}
TYPE(plain, mtx_plain)
TYPE(timed, mtx_timed)
TYPE(recursive, mtx_plain | mtx_recursive)
TYPE(timed_recursive, mtx_timed | mtx_recursive)

static const struct kind kinds[] = {
	{ "plain", plain },
	{ "timed", timed },
	{ "recursive", recursive },
	{ "timed-recursive", timed_recursive },
	{ 0, 0 },
};

CALL(mtx_t, lock, mtx_lock(o))
CALL(mtx_t, trylock, mtx_trylock(o))
CALL(mtx_t, unlock, mtx_unlock(o))
CALL(mtx_t, timed_past, mtx_timedlock(o, &long_past))
CALL(mtx_t, timed_1970, mtx_timedlock(o, &before_1970))
CALL(mtx_t, timed_no_time, mtx_timedlock(o, &no_time))
CALL(mtx_t, timed_soon, ONCE(mtx_timedlock(o, &t), CLOCK_REALTIME, 1))
CALL(mtx_t, timed_late, ONCE(mtx_timedlock(o, &t), CLOCK_REALTIME, DAY_MS))

static int destroy_and_init(void *object)
{
	mtx_destroy(object);
	return mtx_init(object, mtx_plain);
}

static int try_and_unlock(void *object)
{
	int code = mtx_trylock(object);

	return code == thrd_success ? mtx_unlock(object) : code;
}

static int lock_and_unlock(void *object)
{
	int code = mtx_lock(object);

	return code == thrd_success ? mtx_unlock(object) : code;
}

/* Each waits on a condition variable of its own. */
static int waits(void *object, const struct timespec *until)
{
	cnd_t c;
	int code = cnd_init(&c);

	if (code == thrd_success)
		code = cnd_timedwait(&c, object, until);
	cnd_destroy(&c);
	return code;
}

CALL(void, wait_past, waits(o, &long_past))
CALL(void, wait_no_time, waits(o, &no_time))
CALL(void, wait_soon, ONCE(waits(o, &t), CLOCK_REALTIME, 1))

struct meeting {
	mtx_t *m;
	cnd_t c;
	int (*wake)(cnd_t *);
	int came;
};

static int come(void *arg)
{
	struct meeting *t = arg;

	mtx_lock(t->m);
	t->came = 1;
	mtx_unlock(t->m);
	return t->wake(&t->c);
}

static int meet(void *object, int (*wake)(cnd_t *))
{
	struct meeting t = { .m = object, .wake = wake };
	int code = thrd_success, woke = thrd_error;
	thrd_t thread;

	cnd_init(&t.c);
	thrd_create(&thread, come, &t);
	while (!t.came && code == thrd_success)
		code = cnd_wait(&t.c, object);
	thrd_join(thread, &woke);
	cnd_destroy(&t.c);
	return code == thrd_success ? woke : code;
}

CALL(void, wait_signal, meet(o, cnd_signal))
CALL(void, wait_broadcast, meet(o, cnd_broadcast))

static const struct call calls[] = {
	{ "lock", lock },
	{ "trylock", trylock },
	{ "unlock", unlock },
	{ "lock-and-unlock", lock_and_unlock },
	{ "destroy-and-init", destroy_and_init },
	{ "timedlock-past", timed_past },
	{ "timedlock-before-1970", timed_1970 },
	{ "timedlock-no-time", timed_no_time },
	{ "timedlock-soon", timed_soon },
	{ "timedlock-late", timed_late },
	{ "cnd-timedwait-past", wait_past },
	{ "cnd-timedwait-no-time", wait_no_time },
	{ "cnd-timedwait-soon", wait_soon },
	{ "cnd-wait-signal", wait_signal },
	{ "cnd-wait-broadcast", wait_broadcast },
	{ 0, 0 },
};

static void never_used(void *object)
{
	(void)object;
}

static void held(void *object)
{
	mtx_lock(object);
}

static void held_twice(void *object)
{
	mtx_lock(object);
	mtx_lock(object);
}

static void held_by_other(void *object)
{
	by_other(lock, object);
}

static const struct state states[] = {
	{ "free", never_used },
	{ "held-by-self", held },
	{ "held-twice", held_twice },
	{ "held-by-other", held_by_other },
	{ 0, 0 },
};

static const char *answer(int code)
{
	switch (code) {
	case thrd_success:
		return "success";
	case thrd_busy:
		return "busy";
	case thrd_timedout:
		return "timedout";
	case thrd_nomem:
		return "nomem";
	default:
		return "error";
	}
}

static int probe(void *object)
{
	return try_and_unlock(object) == thrd_success;
}

static const char *look(void *object)
{
	return by_fresh(probe, object) ? "free" : "held";
}

static int let_go(void *object)
{
	return unlock(object) != thrd_success;
}

const struct family c11_mutexes = {
	"c11", kinds, states, calls, sizeof(mtx_t), let_go, answer, look, true,
};
