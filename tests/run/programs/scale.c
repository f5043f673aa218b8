/* SPDX-License-Identifier: MIT */
/*
 * No limits, at size: prints one figure a line as `NAME VALUE`, and what was lost, which must be 0.
 *
 *	scale alive THREADS	all alive at once, each having waited for one mutex; bytes per thread
 *	scale churn THREADS	one after another, each of which contends with its parent
 *	scale mutexes N		all live, initialised or not, each used by two threads; bytes per mutex
 *	scale forks N		while other threads hold and wait, with handlers that take the mutex
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, *mutexes;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER, go_on = PTHREAD_COND_INITIALIZER;
static long here, count, wanted;
static int open_door;
static atomic_int stop;

/* The process's own pages, in bytes. */
static long resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = 0, shared = 0;

	if (!f || fscanf(f, "%*d %ld %ld", &pages, &shared) != 2)
		exit(4);
	fclose(f);
	return (pages - shared) * sysconf(_SC_PAGESIZE);
}

static pthread_attr_t small_stacks(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	return attr;
}

static void add(void)
{
	pthread_mutex_lock(&m);
	count++;
	pthread_mutex_unlock(&m);
}

static void *stay(void *unused)
{
	add();
	pthread_mutex_lock(&m);
	here++;
	pthread_cond_signal(&came);
	while (!open_door)
		pthread_cond_wait(&go_on, &m);
	count++;
	pthread_cond_signal(&go_on); /* one at a time: a crowd of spinners is another question */
	pthread_mutex_unlock(&m);
	return unused;
}

static int alive(long n)
{
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));
	pthread_attr_t attr = small_stacks();
	long before = resident();

	pthread_mutex_lock(&m);
	for (long i = 0; i < n; i++) {
		if ((errno = pthread_create(&threads[i], &attr, stay, 0)))
			return perror("scale: a thread"), 3;
		while (here <= i)
			pthread_cond_wait(&came, &m);
	}
	printf("bytes-per-thread %ld\n", (resident() - before) / n);
	open_door = 1;
	pthread_cond_signal(&go_on);
	pthread_mutex_unlock(&m);
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], 0);
	printf("lost %ld\n", 2 * n - count);
	return 0;
}

static void *add_once(void *unused)
{
	add();
	return unused;
}

static int churn(long n)
{
	pthread_attr_t attr = small_stacks();
	long early = 0;

	for (long i = 0; i < n; i++) {
		pthread_t thread;

		if ((errno = pthread_create(&thread, &attr, add_once, 0)))
			return perror("scale: a thread"), 3;
		add();
		pthread_join(thread, 0);
		if (i == n / 10)
			early = resident();
	}
	printf("bytes-grown %ld\nlost %ld\n", resident() - early, 2 * n - count);
	return 0;
}

static void *use_all(void *counters)
{
	for (long i = 0; i < wanted; i++) {
		pthread_mutex_lock(&mutexes[i]);
		((char *)counters)[i]++;
		pthread_mutex_unlock(&mutexes[i]);
	}
	return 0;
}

static int many(long n)
{
	char *counters = malloc((size_t)n);
	pthread_t thread;
	long before, lost = 0;

	wanted = n;
	mutexes = malloc((size_t)n * sizeof(*mutexes));
	memset(mutexes, 0, (size_t)n * sizeof(*mutexes));
	memset(counters, 0, (size_t)n);
	before = resident();
	for (long i = 0; i < n; i += 2)
		pthread_mutex_init(&mutexes[i], 0);
	pthread_create(&thread, 0, use_all, counters);
	use_all(counters);
	pthread_join(thread, 0);
	printf("bytes-beside-a-mutex %ld\n", (resident() - before) / n);
	for (long i = 0; i < n; i++)
		lost += 2 - counters[i];
	printf("lost %ld\n", lost);
	return 0;
}

static void take(void)
{
	pthread_mutex_lock(&m);
}

static void release(void)
{
	pthread_mutex_unlock(&m);
}

static void *contend(void *unused)
{
	while (!atomic_load(&stop))
		add();
	return unused;
}

/* So many children at a time. */
static int forks(long n)
{
	enum { THREADS = 4, AT_ONCE = 20 };
	pthread_t threads[THREADS];
	long lost = 0;
	int status;

	pthread_atfork(take, release, release);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, contend, 0);
	for (long i = 0; i < n + AT_ONCE; i++) {
		if (i < n && !fork()) {
			alarm(300);
			for (int k = 0; k < 10; k++)
				add();
			_exit(0);
		}
		if (i >= AT_ONCE)
			lost += wait(&status) < 0 || status;
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	printf("lost %ld\n", lost);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(long n);
	} parts[] = {
		{ "alive", alive }, { "churn", churn }, { "mutexes", many }, { "forks", forks }
	};

	for (size_t i = 0; argc > 2 && i < sizeof(parts) / sizeof(*parts); i++)
		if (!strcmp(argv[1], parts[i].name))
			return parts[i].run(atol(argv[2]));
	fputs("usage: scale alive|churn|mutexes|forks N\n", stderr);
	return 2;
}
