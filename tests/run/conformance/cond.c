/* SPDX-License-Identifier: MIT */
/* The kind is the condition variable's, the state that of the mutex it is used with. */
#define _GNU_SOURCE
#include "cases.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

struct pair {
	pthread_cond_t c;
	pthread_mutex_t m;
	clockid_t clock; /* of the condition variable */
};

/* Kinds. */

static void make_static(void *object)
{
	static const pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
	struct pair *p = object;

	p->c = fresh;
	p->clock = CLOCK_REALTIME;
}

static void no_attributes(void *object)
{
	struct pair *p = object;

	pthread_cond_init(&p->c, 0);
	p->clock = CLOCK_REALTIME;
}

static void make(struct pair *p, clockid_t clock, int shared)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, clock);
	pthread_condattr_setpshared(&attr, shared);
	if (pthread_cond_init(&p->c, &attr))
		exit(3);
	pthread_condattr_destroy(&attr);
	p->clock = clock;
}

#define KIND(name, clock, shared)			\
	static void name(void *object)			\
	{						\
		make(object, clock, PTHREAD_PROCESS_##shared);	\
	}
KIND(realtime, CLOCK_REALTIME, PRIVATE)
KIND(monotonic, CLOCK_MONOTONIC, PRIVATE)
KIND(shared, CLOCK_REALTIME, SHARED)
KIND(shared_monotonic, CLOCK_MONOTONIC, SHARED)

static const struct kind kinds[] = {
	{ "static", make_static },
	{ "no-attributes", no_attributes },
	{ "realtime", realtime },
	{ "monotonic", monotonic },
	{ "shared", shared },
	{ "shared-monotonic", shared_monotonic },
	{ 0, 0 },
};

/* States. */

#define MUTEX(name, set)							\
	static void name##_free(void *object)					\
	{									\
		struct pair *p = object;					\
		pthread_mutexattr_t attr;					\
										\
		pthread_mutexattr_init(&attr);					\
		set;								\
		pthread_mutex_init(&p->m, &attr);				\
		pthread_mutexattr_destroy(&attr);				\
	}									\
	static void name(void *object)						\
	{									\
		struct pair *p = object;					\
										\
		name##_free(object);						\
		pthread_mutex_lock(&p->m);					\
	}
#define TYPE(type)	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_##type)
MUTEX(normal, TYPE(NORMAL))
MUTEX(recursive, TYPE(RECURSIVE))
MUTEX(errorcheck, TYPE(ERRORCHECK))
MUTEX(adaptive, TYPE(ADAPTIVE_NP))
MUTEX(with_shared, pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED))
MUTEX(robust, pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST))
MUTEX(inherit, pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT))

static void recursive_twice(void *object)
{
	struct pair *p = object;

	recursive(object);
	pthread_mutex_lock(&p->m);
}

static void forked(void *object)
{
	normal(object);
	go_on_in_child();
}

static const struct state states[] = {
	{ "normal", normal },
	{ "recursive", recursive },
	{ "recursive-twice", recursive_twice },
	{ "errorcheck", errorcheck },
	{ "adaptive", adaptive },
	{ "shared", with_shared },
	{ "robust", robust },
	{ "inherit", inherit },
	{ "errorcheck-not-held", errorcheck_free },
	{ "recursive-not-held", recursive_free },
	{ "forked-held", forked },
	{ 0, 0 },
};

/* Calls. */

#define WAIT(name, expression)	CALL(struct pair, name, expression)
WAIT(signal_nobody, pthread_cond_signal(&o->c))
WAIT(broadcast_nobody, pthread_cond_broadcast(&o->c))
WAIT(destroy, pthread_cond_destroy(&o->c))
WAIT(timed_past, pthread_cond_timedwait(&o->c, &o->m, &long_past))
WAIT(timed_1970, pthread_cond_timedwait(&o->c, &o->m, &before_1970))
WAIT(timed_no_time, pthread_cond_timedwait(&o->c, &o->m, &no_time))
WAIT(timed_soon, ONCE(pthread_cond_timedwait(&o->c, &o->m, &t), o->clock, 1))
WAIT(mono_past, pthread_cond_clockwait(&o->c, &o->m, CLOCK_MONOTONIC, &before_1970))
WAIT(mono_soon, ONCE(pthread_cond_clockwait(&o->c, &o->m, CLOCK_MONOTONIC, &t), CLOCK_MONOTONIC, 1))
WAIT(real_soon, ONCE(pthread_cond_clockwait(&o->c, &o->m, CLOCK_REALTIME, &t), CLOCK_REALTIME, 1))
WAIT(unknown, pthread_cond_clockwait(&o->c, &o->m, CLOCK_THREAD_CPUTIME_ID, &long_past))

enum deadline { NONE, LATE, LATE_MONOTONIC };

static int wait_with(struct pair *p, enum deadline d)
{
	struct timespec t;

	if (d == NONE)
		return pthread_cond_wait(&p->c, &p->m);
	if (d == LATE) {
		t = in_ms(p->clock, DAY_MS);
		return pthread_cond_timedwait(&p->c, &p->m, &t);
	}
	t = in_ms(CLOCK_MONOTONIC, DAY_MS);
	return pthread_cond_clockwait(&p->c, &p->m, CLOCK_MONOTONIC, &t);
}

/* Another comes as soon as we sleep, for we hold the mutex until then. */
struct meeting {
	struct pair *p;
	int (*wake)(pthread_cond_t *);
	bool holding, came;
	int error;
};

static void *come(void *arg)
{
	struct meeting *t = arg;

	pthread_mutex_lock(&t->p->m);
	t->came = true;
	if (t->holding)
		t->error = t->wake(&t->p->c);
	pthread_mutex_unlock(&t->p->m);
	if (!t->holding)
		t->error = t->wake(&t->p->c);
	return 0;
}

static int meet(struct pair *p, enum deadline d, int (*wake)(pthread_cond_t *), bool holding)
{
	struct meeting t = { .p = p, .wake = wake, .holding = holding };
	pthread_t thread;
	int error = 0;

	pthread_create(&thread, 0, come, &t);
	while (!t.came && !error)
		error = wait_with(p, d);
	pthread_join(thread, 0);
	return error ? error : t.error;
}

WAIT(signal_wait, meet(o, NONE, pthread_cond_signal, true))
WAIT(signal_wait_after, meet(o, NONE, pthread_cond_signal, false))
WAIT(signal_timed, meet(o, LATE, pthread_cond_signal, true))
WAIT(signal_clock, meet(o, LATE_MONOTONIC, pthread_cond_signal, true))
WAIT(broadcast_wait, meet(o, NONE, pthread_cond_broadcast, true))
WAIT(broadcast_wait_after, meet(o, NONE, pthread_cond_broadcast, false))
WAIT(broadcast_timed, meet(o, LATE, pthread_cond_broadcast, true))

/* Several who wait; as many signals as there are waiters must do, and one broadcast. */

enum { CROWD = 4 };
struct crowd {
	struct pair *p;
	int waiting, tokens, served;
};

static void *queue_for_token(void *arg)
{
	struct crowd *c = arg;

	pthread_mutex_lock(&c->p->m);
	c->waiting++;
	while (!c->tokens)
		pthread_cond_wait(&c->p->c, &c->p->m);
	c->tokens--;
	c->served++;
	pthread_mutex_unlock(&c->p->m);
	return 0;
}

static void gather(struct crowd *c, pthread_t *threads, void *(*function)(void *))
{
	int waiting;

	pthread_mutex_unlock(&c->p->m);
	for (int i = 0; i < CROWD; i++)
		pthread_create(&threads[i], 0, function, c);
	do {
		sched_yield();
		pthread_mutex_lock(&c->p->m);
		waiting = c->waiting;
		pthread_mutex_unlock(&c->p->m);
	} while (waiting < CROWD);
}

static int serve_crowd(struct pair *p, bool broadcast, bool destroys)
{
	struct crowd c = { .p = p };
	pthread_t threads[CROWD];
	int error = 0;

	gather(&c, threads, queue_for_token);
	for (int i = 0; i < (broadcast ? 1 : CROWD) && !error; i++) {
		pthread_mutex_lock(&p->m);
		c.tokens += broadcast ? CROWD : 1;
		pthread_mutex_unlock(&p->m);
		error = broadcast ? pthread_cond_broadcast(&p->c) : pthread_cond_signal(&p->c);
	}
	if (destroys && !error) {
		error = pthread_cond_destroy(&p->c);
		memset(&p->c, 0xff, sizeof(p->c)); /* nobody may look at it any more */
	}
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], 0);
	pthread_mutex_lock(&p->m);
	return error ? error : c.served == CROWD ? 0 : EPROTO;
}

WAIT(signals_for_all, serve_crowd(o, false, false))
WAIT(broadcast_to_all, serve_crowd(o, true, false))
WAIT(broadcast_and_destroy, serve_crowd(o, true, true))

static int try_and_unlock(void *object)
{
	struct pair *p = object;
	int error = pthread_mutex_trylock(&p->m);

	return error ? error : pthread_mutex_unlock(&p->m);
}

/* Cancelled while they wait: each has the mutex in its handler, and is out of the way afterwards. */

static sem_t handled;
static int wrong;

static void clean_up(void *arg)
{
	struct crowd *c = arg;

	wrong += by_fresh(try_and_unlock, c->p) == 0;
	wrong += pthread_mutex_unlock(&c->p->m) != 0;
	sem_post(&handled);
}

static void *wait_for_ever(void *arg)
{
	struct crowd *c = arg;

	pthread_mutex_lock(&c->p->m);
	pthread_cleanup_push(clean_up, c);
	c->waiting++;
	for (;;)
		pthread_cond_wait(&c->p->c, &c->p->m);
	pthread_cleanup_pop(0);
	return 0;
}

static void *wait_late(void *arg)
{
	struct crowd *c = arg;

	pthread_mutex_lock(&c->p->m);
	pthread_cleanup_push(clean_up, c);
	c->waiting++;
	for (;;)
		wait_with(c->p, LATE);
	pthread_cleanup_pop(0);
	return 0;
}

static int cancel_all(struct pair *p, void *(*waiting)(void *))
{
	struct crowd c = { .p = p };
	pthread_t threads[CROWD];
	int error = 0, done = 0;
	void *result;

	sem_init(&handled, 0, 0);
	gather(&c, threads, waiting);
	for (int i = 0; i < CROWD; i++)
		pthread_cancel(threads[i]);
	for (int i = 0; i < CROWD; i++) {
		pthread_join(threads[i], &result);
		error |= result != PTHREAD_CANCELED;
	}
	sem_getvalue(&handled, &done);
	pthread_mutex_lock(&p->m);
	return error || done != CROWD || wrong ? EPROTO : pthread_cond_destroy(&p->c);
}

WAIT(cancelled, cancel_all(o, wait_for_ever))
WAIT(cancelled_timed, cancel_all(o, wait_late))

static const struct call calls[] = {
	{ "signal-nobody", signal_nobody },
	{ "broadcast-nobody", broadcast_nobody },
	{ "destroy", destroy },
	{ "timedwait-past", timed_past },
	{ "timedwait-before-1970", timed_1970 },
	{ "timedwait-no-time", timed_no_time },
	{ "timedwait-soon", timed_soon },
	{ "clockwait-monotonic-past", mono_past },
	{ "clockwait-monotonic-soon", mono_soon },
	{ "clockwait-realtime-soon", real_soon },
	{ "clockwait-unknown-clock", unknown },
	{ "wait-signal", signal_wait },
	{ "wait-signal-without-mutex", signal_wait_after },
	{ "timedwait-late-signal", signal_timed },
	{ "clockwait-late-signal", signal_clock },
	{ "wait-broadcast", broadcast_wait },
	{ "wait-broadcast-without-mutex", broadcast_wait_after },
	{ "timedwait-late-broadcast", broadcast_timed },
	{ "signals-for-all", signals_for_all },
	{ "broadcast-to-all", broadcast_to_all },
	{ "broadcast-and-destroy", broadcast_and_destroy },
	{ "wait-cancelled", cancelled },
	{ "timedwait-cancelled", cancelled_timed },
	{ 0, 0 },
};

static int own_unlock(void *object)
{
	struct pair *p = object;

	return pthread_mutex_unlock(&p->m);
}

static const char *look(void *object)
{
	if (!by_fresh(try_and_unlock, object))
		return "mutex free";
	if (own_unlock(object))
		return "mutex held by another";
	return by_fresh(try_and_unlock, object) ? "mutex held twice" : "mutex held";
}

const struct family conditions = {
	"cond", kinds, states, calls, sizeof(struct pair), own_unlock, errno_answer, look, true,
};
