/* SPDX-License-Identifier: MIT */
/*
 * Programs whose use of locks is known: planted PATTERN. Each thread has a name; `order` prints what it does, a line
 * for each step: thread, operation, lock.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOCKS = 5, STEPS = 400, THREADS = 3, MANY = 3000 };
static pthread_mutex_t locks[LOCKS] = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
};
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_set;

static void name(const char *prefix, long n)
{
	char text[16];

	snprintf(text, sizeof(text), "%s%ld", prefix, n);
	pthread_setname_np(pthread_self(), text);
}

struct step {
	char what;
	unsigned lock;
};
static struct step done[THREADS][4 * STEPS];
static unsigned steps[THREADS];

static void say(long n, char what, unsigned lock)
{
	done[n][steps[n]++] = (struct step){ what, lock };
}

static void take(long n, unsigned i)
{
	pthread_mutex_lock(&locks[i]);
	say(n, 'a', i);
}

static void give(long n, unsigned i)
{
	say(n, 'r', i);
	pthread_mutex_unlock(&locks[i]);
}

/* Locks by chance, with a fixed seed; each third step nests a later lock in an earlier one. */
static void *in_order(void *arg)
{
	long n = (long)arg;
	unsigned seed = (unsigned)n + 1;

	name("order-", n);
	for (int i = 0; i < STEPS; i++) {
		unsigned outer = (unsigned)rand_r(&seed) % (LOCKS - 1);
		unsigned inner = outer + 1 + (unsigned)rand_r(&seed) % (LOCKS - 1 - outer);

		take(n, outer);
		if (i % 3 == 0) {
			take(n, inner);
			give(n, inner);
		}
		give(n, outer);
	}
	return 0;
}

static void order(void)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, in_order, (void *)i);
	for (long i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	for (long i = 0; i < THREADS; i++)
		for (unsigned k = 0; k < steps[i]; k++)
			printf("%ld %c %u\n", i, done[i][k].what, done[i][k].lock);
}

static void *waiter(void *arg)
{
	(void)arg;
	name("waiter", 0);
	pthread_mutex_lock(&locks[0]);
	pthread_mutex_unlock(&locks[0]);
	return 0;
}

/* The main thread holds the lock until the other one sleeps for it: glibc's word is 2 then. */
static void wait_for_each_other(void)
{
	pthread_t thread;

	pthread_mutex_lock(&locks[0]);
	pthread_create(&thread, 0, waiter, 0);
	while (__atomic_load_n((int *)(void *)&locks[0], __ATOMIC_RELAXED) != 2)
		sched_yield();
	pthread_mutex_unlock(&locks[0]);
	pthread_join(thread, 0);
}

static void nap(long ms)
{
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, 0);
}

static void *setter(void *arg)
{
	(void)arg;
	name("setter", 0);
	nap(30);
	pthread_mutex_lock(&locks[0]);
	is_set = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&locks[0]);
	return 0;
}

/* A mutex twice, a reader, a failed attempt, a wait for a condition, a sleep within a section. */
static void kinds(void)
{
	struct timespec past = { 1, 0 };
	pthread_t thread;

	pthread_mutex_lock(&recursive);
	pthread_mutex_lock(&recursive);
	pthread_mutex_unlock(&recursive);
	pthread_mutex_unlock(&recursive);
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	pthread_mutex_lock(&locks[1]);
	if (pthread_mutex_trylock(&locks[1]) != EBUSY ||
	    pthread_mutex_timedlock(&locks[1], &past) != ETIMEDOUT)
		abort();
	nap(50);
	pthread_mutex_unlock(&locks[1]);
	pthread_create(&thread, 0, setter, 0);
	pthread_mutex_lock(&locks[0]);
	while (!is_set)
		pthread_cond_wait(&changed, &locks[0]);
	pthread_mutex_unlock(&locks[0]);
	pthread_join(thread, 0);
}

static void many(void)
{
	for (int i = 0; i < MANY; i++) {
		pthread_mutex_lock(&locks[i % LOCKS]);
		pthread_mutex_unlock(&locks[i % LOCKS]);
	}
}

static void killed(void)
{
	many();
	raise(SIGKILL);
}

static void interrupted(void)
{
	many();
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

/* The child takes one lock, and what it inherits; the parent many. */
static void forked(void)
{
	pid_t child;

	pthread_mutex_lock(&locks[0]);
	child = fork();
	if (!child) {
		pthread_mutex_unlock(&locks[0]);
		pthread_mutex_lock(&locks[1]);
		pthread_mutex_unlock(&locks[1]);
		_exit(0);
	}
	pthread_mutex_unlock(&locks[0]);
	many();
	waitpid(child, 0, 0);
}

static void none(void)
{
}

static pthread_mutex_t crowd[40000];

__attribute__((noinline)) static void take_last(int times)
{
	for (int i = 0; i < times; i++) {
		pthread_mutex_lock(&crowd[sizeof(crowd) / sizeof(*crowd) - 1]);
		pthread_mutex_unlock(&crowd[sizeof(crowd) / sizeof(*crowd) - 1]);
	}
}

/* More locks than there are rows; the last has none. */
static void crowded(void)
{
	pthread_mutex_lock(&locks[0]);
	pthread_mutex_unlock(&locks[0]);
	for (size_t i = 0; i < sizeof(crowd) / sizeof(*crowd); i++) {
		pthread_mutex_lock(&crowd[i]);
		pthread_mutex_unlock(&crowd[i]);
	}
	pthread_mutex_lock(&locks[0]);
	pthread_mutex_unlock(&locks[0]);
	take_last(1000);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} patterns[] = {
		{ "order", order },	{ "waits", wait_for_each_other },
		{ "kinds", kinds },	{ "many", many },
		{ "killed", killed },	{ "interrupted", interrupted },
		{ "forked", forked },	{ "none", none },
		{ "crowded", crowded },
	};

	for (size_t i = 0; argc == 2 && i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (!strcmp(argv[1], patterns[i].name)) {
			patterns[i].run();
			return 0;
		}
	return 2;
}
