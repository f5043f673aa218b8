/* SPDX-License-Identifier: MIT */
/*
 * What every call answers in every state: one line per case. The interposer must print what glibc
 * prints. No case depends on how long anything takes, but that threads run at all.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static const char *error_name(int error)
{
	return error ? strerrorname_np(error) : "0";
}

static void say(const char *who, const char *what, int error)
{
	printf("%s: %s: %s\n", who, what, error_name(error));
}

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += ms / 1000 + (t.tv_nsec >= 1000000000);
	t.tv_nsec %= 1000000000;
	return t;
}

/* Calls made by another thread, one at a time. */
struct call {
	int (*function)(pthread_mutex_t *);
	pthread_mutex_t *mutex;
	int error;
};

static void *make_call(void *arg)
{
	struct call *c = arg;

	c->error = c->function(c->mutex);
	return 0;
}

static int elsewhere(int (*function)(pthread_mutex_t *), pthread_mutex_t *mutex)
{
	struct call c = { function, mutex, 0 };
	pthread_t thread;

	pthread_create(&thread, 0, make_call, &c);
	pthread_join(thread, 0);
	return c.error;
}

static int timed_past(pthread_mutex_t *m)
{
	struct timespec t = { 1, 0 };
	return pthread_mutex_timedlock(m, &t);
}
static int timed_negative(pthread_mutex_t *m)
{
	struct timespec t = { -5, 0 };
	return pthread_mutex_timedlock(m, &t);
}
static int timed_soon(pthread_mutex_t *m)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 4);
	return pthread_mutex_timedlock(m, &t);
}
static int timed_late(pthread_mutex_t *m)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 60000);
	return pthread_mutex_timedlock(m, &t);
}
static int timed_nonsense(pthread_mutex_t *m)
{
	struct timespec t = { 1, 1000000000 };
	return pthread_mutex_timedlock(m, &t);
}
static int clock_monotonic(pthread_mutex_t *m)
{
	struct timespec t = in_ms(CLOCK_MONOTONIC, 4);
	return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &t);
}
static int clock_realtime(pthread_mutex_t *m)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 4);
	return pthread_mutex_clocklock(m, CLOCK_REALTIME, &t);
}
static int clock_unknown(pthread_mutex_t *m)
{
	struct timespec t = in_ms(CLOCK_MONOTONIC, 4);
	return pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &t);
}

static const struct {
	const char *name;
	int (*function)(pthread_mutex_t *);
} acquiring[] = {
	{ "trylock", pthread_mutex_trylock },
	{ "timedlock in the past", timed_past },
	{ "timedlock before 1970", timed_negative },
	{ "timedlock soon", timed_soon },
	{ "timedlock late", timed_late },
	{ "timedlock nonsense", timed_nonsense },
	{ "clocklock monotonic", clock_monotonic },
	{ "clocklock realtime", clock_realtime },
	{ "clocklock unknown", clock_unknown },
};
enum { ACQUIRING = sizeof(acquiring) / sizeof(*acquiring) };

static void free_and_held(const char *who, pthread_mutex_t *m)
{
	char what[100];

	for (int i = 0; i < ACQUIRING; i++) {
		int error = acquiring[i].function(m);

		snprintf(what, sizeof(what), "%s when free", acquiring[i].name);
		say(who, what, error);
		if (!error)
			say(who, "unlock", pthread_mutex_unlock(m));
	}
	say(who, "lock", pthread_mutex_lock(m));
	for (int i = 0; i < ACQUIRING; i++) {
		if (acquiring[i].function == timed_late)
			continue;
		snprintf(what, sizeof(what), "%s when another holds it", acquiring[i].name);
		say(who, what, elsewhere(acquiring[i].function, m));
	}
	say(who, "unlock", pthread_mutex_unlock(m));
}

static void held_by_self(const char *who, pthread_mutex_t *m, int kind)
{
	char what[100];

	say(who, "lock", pthread_mutex_lock(m));
	if (kind == PTHREAD_MUTEX_RECURSIVE || kind == PTHREAD_MUTEX_ERRORCHECK)
		say(who, "lock again", pthread_mutex_lock(m));
	for (int i = 0; i < ACQUIRING; i++) {
		if (acquiring[i].function == timed_late && kind != PTHREAD_MUTEX_RECURSIVE &&
		    kind != PTHREAD_MUTEX_ERRORCHECK)
			continue;
		snprintf(what, sizeof(what), "%s when held by self", acquiring[i].name);
		say(who, what, acquiring[i].function(m));
	}
	say(who, "destroy when held", pthread_mutex_destroy(m));
	if (kind == PTHREAD_MUTEX_RECURSIVE || kind == PTHREAD_MUTEX_ERRORCHECK)
		say(who, "unlock by another", elsewhere(pthread_mutex_unlock, m));
	for (int depth = 0; depth < 20; depth++) {
		int error = pthread_mutex_unlock(m);

		say(who, "unlock", error);
		say(who, "can another have it", elsewhere(pthread_mutex_trylock, m));
		if (error || kind != PTHREAD_MUTEX_RECURSIVE)
			break;
	}
}

static void init_kind(pthread_mutex_t *m, int kind)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, kind);
	memset(m, 0x5a, sizeof(*m));
	pthread_mutex_init(m, &attr);
}

static void mutex_kind(const char *who, int kind)
{
	pthread_mutex_t m;

	init_kind(&m, kind);
	free_and_held(who, &m);
	init_kind(&m, kind);
	held_by_self(who, &m, kind);
	init_kind(&m, kind);
	say(who, "destroy when free", pthread_mutex_destroy(&m));
	say(who, "lock when destroyed", pthread_mutex_lock(&m));
	say(who, "trylock when destroyed", pthread_mutex_trylock(&m));
	say(who, "unlock when destroyed", pthread_mutex_unlock(&m));
	say(who, "init anew", pthread_mutex_init(&m, 0));
	say(who, "lock", pthread_mutex_lock(&m));
	say(who, "unlock", pthread_mutex_unlock(&m));
	say(who, "consistent", pthread_mutex_consistent(&m));
}

static void static_kinds(void)
{
	static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
	static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	static pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

	free_and_held("static normal", &normal);
	free_and_held("static recursive", &recursive);
	held_by_self("static recursive", &recursive, PTHREAD_MUTEX_RECURSIVE);
	free_and_held("static errorcheck", &errorcheck);
	held_by_self("static errorcheck", &errorcheck, PTHREAD_MUTEX_ERRORCHECK);
	free_and_held("static adaptive", &adaptive);
}

/* Normal kinds may be released by anybody. */
static void hand_over(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	say("hand over", "lock", pthread_mutex_lock(&m));
	say("hand over", "unlock by another", elsewhere(pthread_mutex_unlock, &m));
	say("hand over", "lock by another", elsewhere(pthread_mutex_lock, &m));
	say("hand over", "trylock", pthread_mutex_trylock(&m));
	say("hand over", "unlock", pthread_mutex_unlock(&m));
	say("hand over", "destroy", pthread_mutex_destroy(&m));
}

/* Those that stay glibc's. */
static void foreign(const char *who, pthread_mutexattr_t *attr)
{
	pthread_mutex_t m;

	say(who, "init", pthread_mutex_init(&m, attr));
	free_and_held(who, &m);
	say(who, "destroy", pthread_mutex_destroy(&m));
}

static void *hold_and_exit(void *m)
{
	pthread_mutex_lock(m);
	return 0;
}

static void robust(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t m;
	pthread_t thread;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	foreign("robust", &attr);
	pthread_mutex_init(&m, &attr);
	pthread_create(&thread, 0, hold_and_exit, &m);
	pthread_join(thread, 0);
	say("robust", "lock after the owner's death", pthread_mutex_lock(&m));
	say("robust", "consistent", pthread_mutex_consistent(&m));
	say("robust", "unlock", pthread_mutex_unlock(&m));
	say("robust", "lock", pthread_mutex_lock(&m));
	say("robust", "unlock", pthread_mutex_unlock(&m));
}

static void inheriting(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	foreign("priority inheriting", &attr);
}

/* Two processes, one mutex and one condition variable. */
static void shared(void)
{
	struct {
		pthread_mutex_t m;
		pthread_cond_t c;
		int turn;
	} *s = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t mutex_attr;
	pthread_condattr_t cond_attr;
	int status;

	pthread_mutexattr_init(&mutex_attr);
	pthread_mutexattr_setpshared(&mutex_attr, PTHREAD_PROCESS_SHARED);
	foreign("process-shared", &mutex_attr);
	pthread_condattr_init(&cond_attr);
	pthread_condattr_setpshared(&cond_attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&s->m, &mutex_attr);
	pthread_cond_init(&s->c, &cond_attr);
	fflush(stdout);
	for (int me = 0; me < 2; me++) {
		if (fork())
			continue;
		for (int i = 0; i < 500; i++) {
			pthread_mutex_lock(&s->m);
			while (s->turn % 2 != me)
				pthread_cond_wait(&s->c, &s->m);
			s->turn++;
			pthread_cond_signal(&s->c);
			pthread_mutex_unlock(&s->m);
		}
		_exit(0);
	}
	wait(&status);
	say("process-shared", "first child", status);
	wait(&status);
	say("process-shared", "second child", status);
	printf("process-shared: turns: %d\n", s->turn);
	say("process-shared", "destroy cond", pthread_cond_destroy(&s->c));
	say("process-shared", "destroy mutex", pthread_mutex_destroy(&s->m));
}

/* What is served on demand only; of each, one that more than one process may use. */
static void on_demand(void)
{
	static pthread_rwlock_t mine = PTHREAD_RWLOCK_INITIALIZER;
	pthread_rwlockattr_t attr;
	pthread_rwlock_t rwlock;
	pthread_spinlock_t spin, shared_spin;

	say("rwlock", "rdlock", pthread_rwlock_rdlock(&mine));
	say("rwlock", "unlock", pthread_rwlock_unlock(&mine));
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_rwlock_init(&rwlock, &attr);
	say("process-shared rwlock", "wrlock", pthread_rwlock_wrlock(&rwlock));
	say("process-shared rwlock", "unlock", pthread_rwlock_unlock(&rwlock));
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	say("spinlock", "lock", pthread_spin_lock(&spin));
	say("spinlock", "unlock", pthread_spin_unlock(&spin));
	say("process-shared spinlock", "init",
	    pthread_spin_init(&shared_spin, PTHREAD_PROCESS_SHARED));
}

/* Condition variables. */

static void cond_errors(const char *who, clockid_t clock, pthread_mutex_t *m)
{
	struct timespec past = { 1, 0 }, nonsense = { 1, -1 }, negative = { -5, 0 }, soon;
	pthread_condattr_t attr;
	pthread_cond_t c;

	pthread_condattr_init(&attr);
	say(who, "setclock", pthread_condattr_setclock(&attr, clock));
	memset(&c, 0x5a, sizeof(c));
	say(who, "init", pthread_cond_init(&c, &attr));
	say(who, "signal nobody", pthread_cond_signal(&c));
	say(who, "broadcast to nobody", pthread_cond_broadcast(&c));
	say(who, "lock", pthread_mutex_lock(m));
	say(who, "timedwait in the past", pthread_cond_timedwait(&c, m, &past));
	say(who, "timedwait before 1970", pthread_cond_timedwait(&c, m, &negative));
	say(who, "timedwait nonsense", pthread_cond_timedwait(&c, m, &nonsense));
	soon = in_ms(clock, 4);
	say(who, "timedwait soon", pthread_cond_timedwait(&c, m, &soon));
	soon = in_ms(CLOCK_MONOTONIC, 4);
	say(who, "clockwait monotonic", pthread_cond_clockwait(&c, m, CLOCK_MONOTONIC, &soon));
	soon = in_ms(CLOCK_REALTIME, 4);
	say(who, "clockwait realtime", pthread_cond_clockwait(&c, m, CLOCK_REALTIME, &soon));
	say(who, "clockwait unknown",
	    pthread_cond_clockwait(&c, m, CLOCK_PROCESS_CPUTIME_ID, &soon));
	say(who, "the mutex is held", elsewhere(pthread_mutex_trylock, m));
	say(who, "unlock", pthread_mutex_unlock(m));
	say(who, "destroy", pthread_cond_destroy(&c));
}

static void cond_not_owner(void)
{
	struct timespec past = { 1, 0 };
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_mutex_t m;

	init_kind(&m, PTHREAD_MUTEX_ERRORCHECK);
	say("cond, not owner", "wait", pthread_cond_wait(&c, &m));
	say("cond, not owner", "timedwait", pthread_cond_timedwait(&c, &m, &past));
	say("cond, not owner", "destroy", pthread_cond_destroy(&c));
}

struct meeting {
	pthread_mutex_t *m;
	pthread_cond_t *c;
	int waiting, gone, open;
};

static void *attend(void *arg)
{
	struct meeting *t = arg;

	pthread_mutex_lock(t->m);
	t->waiting++;
	while (!t->open)
		pthread_cond_wait(t->c, t->m);
	t->gone++;
	pthread_mutex_unlock(t->m);
	return 0;
}

static void gather(struct meeting *t, pthread_t *threads, int n)
{
	int waiting;

	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], 0, attend, t);
	do {
		sched_yield();
		pthread_mutex_lock(t->m);
		waiting = t->waiting;
		pthread_mutex_unlock(t->m);
	} while (waiting < n);
}

/* Destroys and scribbles over the condition variable while the woken are still leaving. */
static void broadcast_and_destroy(const char *who, const pthread_mutexattr_t *attr,
				  const pthread_condattr_t *cond_attr)
{
	enum { WAITERS = 20, TIMES = 10 };
	int gone = 0, errors = 0;
	unsigned char scribble[sizeof(pthread_cond_t)];

	memset(scribble, 0xff, sizeof(scribble));
	for (int i = 0; i < TIMES; i++) {
		pthread_t threads[WAITERS];
		pthread_mutex_t m;
		pthread_cond_t c;
		struct meeting t = { &m, &c, 0, 0, 0 };

		pthread_mutex_init(&m, attr);
		pthread_cond_init(&c, cond_attr);
		gather(&t, threads, WAITERS);
		pthread_mutex_lock(&m);
		t.open = 1;
		pthread_mutex_unlock(&m);
		pthread_cond_broadcast(&c);
		errors += pthread_cond_destroy(&c) != 0;
		memcpy(&c, scribble, sizeof(c));
		for (int k = 0; k < WAITERS; k++)
			pthread_join(threads[k], 0);
		errors += memcmp(&c, scribble, sizeof(c)) != 0; /* somebody was still in there */
		gone += t.gone;
		pthread_mutex_destroy(&m);
	}
	printf("%s: broadcast and destroy: %d gone, %d errors\n", who, gone, errors);
}

/* A deadline far away on the condition variable's own clock has not come. */
struct patience {
	struct meeting meeting;
	clockid_t clock;
	int error;
};

static void *attend_patiently(void *arg)
{
	struct patience *p = arg;
	struct timespec late = in_ms(p->clock, 60000);

	pthread_mutex_lock(p->meeting.m);
	p->meeting.waiting++;
	while (!p->meeting.open && !p->error)
		p->error = pthread_cond_timedwait(p->meeting.c, p->meeting.m, &late);
	pthread_mutex_unlock(p->meeting.m);
	return 0;
}

static void cond_patience(const char *who, clockid_t clock)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_condattr_t attr;
	pthread_t thread;
	pthread_cond_t c;
	struct patience p = { { &m, &c, 0, 0, 0 }, clock, 0 };
	int waiting = 0;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, clock);
	pthread_cond_init(&c, &attr);
	pthread_create(&thread, 0, attend_patiently, &p);
	while (!waiting) {
		sched_yield();
		pthread_mutex_lock(&m);
		waiting = p.meeting.waiting;
		pthread_mutex_unlock(&m);
	}
	pthread_mutex_lock(&m);
	p.meeting.open = 1;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	pthread_join(thread, 0);
	say(who, "timedwait late", p.error);
}

/* A mutex held twice stays held while its owner waits: glibc releases one level only. */
static void cond_recursive(void)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 4);
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_mutex_t m;

	init_kind(&m, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_lock(&m);
	pthread_mutex_lock(&m);
	say("cond, recursive", "timedwait", pthread_cond_timedwait(&c, &m, &soon));
	say("cond, recursive", "unlock", pthread_mutex_unlock(&m));
	say("cond, recursive", "can another have it", elsewhere(pthread_mutex_trylock, &m));
	say("cond, recursive", "unlock", pthread_mutex_unlock(&m));
	say("cond, recursive", "unlock", pthread_mutex_unlock(&m));
}

/* C11. */

static const char *thrd_name(int code)
{
	return code == thrd_success    ? "success"
	       : code == thrd_busy     ? "busy"
	       : code == thrd_timedout ? "timedout"
	       : code == thrd_nomem    ? "nomem"
				       : "error";
}

static void say11(const char *what, int code)
{
	printf("C11: %s: %s\n", what, thrd_name(code));
}

static int try_it(void *m)
{
	return mtx_trylock(m);
}

static int elsewhere11(mtx_t *m)
{
	thrd_t thread;
	int code;

	thrd_create(&thread, try_it, m);
	thrd_join(thread, &code);
	return code;
}

static int wait11(void *arg)
{
	struct meeting *t = arg;

	mtx_lock((mtx_t *)t->m);
	t->waiting = 1;
	while (!t->open)
		cnd_wait((cnd_t *)t->c, (mtx_t *)t->m);
	mtx_unlock((mtx_t *)t->m);
	return 7;
}

static void c11(int type, const char *name)
{
	struct timespec soon;
	thrd_t thread;
	mtx_t m;
	cnd_t c;
	struct meeting t = { (pthread_mutex_t *)&m, (pthread_cond_t *)&c, 0, 0, 0 };
	int code = 0, waiting = 0;

	printf("C11: %s\n", name);
	say11("init", mtx_init(&m, type));
	say11("lock", mtx_lock(&m));
	say11("trylock elsewhere", elsewhere11(&m));
	say11("trylock", mtx_trylock(&m));
	soon = in_ms(CLOCK_REALTIME, 4);
	say11("timedlock", mtx_timedlock(&m, &soon));
	say11("unlock", mtx_unlock(&m));
	if (type & mtx_recursive) {
		say11("unlock", mtx_unlock(&m));
		say11("unlock", mtx_unlock(&m));
		say11("unlock too often", mtx_unlock(&m));
	}
	say11("trylock elsewhere", elsewhere11(&m));
	mtx_destroy(&m);
	mtx_init(&m, type);
	say11("cnd_init", cnd_init(&c));
	mtx_lock(&m);
	soon = in_ms(CLOCK_REALTIME, 4);
	say11("cnd_timedwait", cnd_timedwait(&c, &m, &soon));
	mtx_unlock(&m);
	thrd_create(&thread, wait11, &t);
	while (!waiting) {
		mtx_lock(&m);
		waiting = t.waiting;
		mtx_unlock(&m);
	}
	mtx_lock(&m);
	t.open = 1;
	mtx_unlock(&m);
	say11("cnd_signal", cnd_signal(&c));
	thrd_join(thread, &code);
	printf("C11: joined: %d\n", code);
	say11("cnd_broadcast", cnd_broadcast(&c));
	cnd_destroy(&c);
	mtx_destroy(&m);
}

int main(void)
{
	pthread_mutexattr_t inherit, shared_attr;
	pthread_condattr_t shared_cond;
	pthread_mutex_t m;

	mutex_kind("normal", PTHREAD_MUTEX_NORMAL);
	mutex_kind("default", PTHREAD_MUTEX_DEFAULT);
	mutex_kind("recursive", PTHREAD_MUTEX_RECURSIVE);
	mutex_kind("errorcheck", PTHREAD_MUTEX_ERRORCHECK);
	mutex_kind("adaptive", PTHREAD_MUTEX_ADAPTIVE_NP);
	static_kinds();
	hand_over();
	robust();
	inheriting();
	shared();
	on_demand();
	pthread_mutex_init(&m, 0);
	cond_errors("cond realtime", CLOCK_REALTIME, &m);
	cond_errors("cond monotonic", CLOCK_MONOTONIC, &m);
	init_kind(&m, PTHREAD_MUTEX_ERRORCHECK);
	cond_errors("cond, errorcheck", CLOCK_MONOTONIC, &m);
	cond_patience("cond realtime", CLOCK_REALTIME);
	cond_patience("cond monotonic", CLOCK_MONOTONIC);
	cond_not_owner();
	cond_recursive();
	broadcast_and_destroy("cond", 0, 0);
	pthread_mutexattr_init(&inherit);
	pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
	broadcast_and_destroy("cond, inheriting mutex", &inherit, 0);
	pthread_mutexattr_init(&shared_attr);
	pthread_mutexattr_setpshared(&shared_attr, PTHREAD_PROCESS_SHARED);
	broadcast_and_destroy("cond, process-shared mutex", &shared_attr, 0);
	pthread_condattr_init(&shared_cond);
	pthread_condattr_setpshared(&shared_cond, PTHREAD_PROCESS_SHARED);
	broadcast_and_destroy("process-shared cond", 0, &shared_cond);
	broadcast_and_destroy("process-shared cond and mutex", &shared_attr, &shared_cond);
	c11(mtx_plain, "plain");
	c11(mtx_timed, "timed");
	c11(mtx_timed | mtx_recursive, "timed, recursive");
	return 0;
}
