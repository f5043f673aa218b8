/* SPDX-License-Identifier: MIT */
/*
 * The library's locks, without pthread's:
 *
 *	locks count LOCK THREADS ROUNDS	counts under one lock
 *	locks park LOCK			holds it until a waiter has slept a few times, which takes more than
 *					one wait where futexes fail
 */
#include <overlock/ops.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void deny_from_now(void) __attribute__((weak));

enum { SLEEPS = 5 };

static const struct ol_lock_ops *ops;
static char lock[65536] __attribute__((aligned(128)));
static long threads, rounds, began, finished, counted, overlaps;
static int inside, waiter;

static void meet(void)
{
	if (__atomic_add_fetch(&began, 1, __ATOMIC_SEQ_CST) == threads) {
		if (deny_from_now)
			deny_from_now();
		__atomic_add_fetch(&began, 1, __ATOMIC_SEQ_CST);
	}
	while (__atomic_load_n(&began, __ATOMIC_SEQ_CST) <= threads)
		sched_yield();
}

/* Stays: threads that exit at once contend for glibc's own locks, which abort where futexes fail. */
static void *end(void *unused)
{
	__atomic_add_fetch(&finished, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
	return unused;
}

static void *count(void *unused)
{
	meet();
	for (long r = 0; r < rounds; r++) {
		ops->lock(lock);
		overlaps += __atomic_exchange_n(&inside, 1, __ATOMIC_RELAXED);
		counted++;
		__atomic_store_n(&inside, 0, __ATOMIC_RELAXED);
		ops->unlock(lock);
	}
	return end(unused);
}

static void *wait_once(void *unused)
{
	__atomic_store_n(&waiter, gettid(), __ATOMIC_SEQ_CST);
	ops->lock(lock);
	ops->unlock(lock);
	return end(unused);
}

static void start(void *(*work)(void *), long n)
{
	for (long i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, 0, work, 0))
			exit(3);
		pthread_detach(thread);
	}
}

static void finish(long n)
{
	while (__atomic_load_n(&finished, __ATOMIC_SEQ_CST) < n)
		sched_yield();
}

/* How often it gave up its CPU to wait. */
static long sleeps_of(int thread)
{
	char path[64], text[4096] = "", *line;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		exit(3);
	close(fd);
	line = strstr(text, "\nvoluntary_ctxt_switches:");
	return line ? atol(strchr(line, ':') + 1) : 0;
}

static void hold_for_sleeps(void)
{
	long before;
	int thread;

	ops->lock(lock);
	start(wait_once, 1);
	while (!(thread = __atomic_load_n(&waiter, __ATOMIC_SEQ_CST)))
		sched_yield();
	before = sleeps_of(thread);
	while (sleeps_of(thread) < before + SLEEPS)
		sched_yield();
	ops->unlock(lock);
	finish(1);
	puts("slept");
}

int main(int argc, char **argv)
{
	ops = argc > 2 ? ol_find_lock(argv[2]) : 0;
	if (!ops || ops->size > sizeof(lock))
		return 2;
	if (!strcmp(argv[1], "park")) {
		hold_for_sleeps();
	} else {
		threads = argc > 4 ? atol(argv[3]) : 1;
		rounds = argc > 4 ? atol(argv[4]) : 1;
		start(count, threads);
		finish(threads);
		printf("lost %ld, overlaps %ld\n", threads * rounds - counted, overlaps);
	}
	fflush(stdout);
	_exit(0);
}
