/* SPDX-License-Identifier: MIT */
/*
 * Rwlocks under load: writers alone, readers without a writer, callers with deadlines among them, of
 * every kind; then children of forks that took it first (pthread_atfork's idiom), in which only ghosts
 * are in line. Usage: rwlock USES CHILDREN
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6 };

static pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t queued = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_rwlock_t *l;
static atomic_int readers, writers, stop;
static atomic_long written;
static long count;
static int uses;

static void check(int fine)
{
	if (!fine)
		abort();
}

static struct timespec soon(long ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += ns;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void read_it(void)
{
	atomic_fetch_add(&readers, 1);
	check(!atomic_load(&writers));
	atomic_fetch_sub(&readers, 1);
	check(!pthread_rwlock_unlock(l));
}

static void write_it(void)
{
	check(!atomic_fetch_add(&writers, 1) && !atomic_load(&readers));
	count++; /* plain: only the lock orders it */
	atomic_fetch_add(&written, 1);
	atomic_fetch_sub(&writers, 1);
	check(!pthread_rwlock_unlock(l));
}

/* 0, or the deadline has come: then this was no use. */
static int use(int how)
{
	struct timespec t = soon(how < 4 ? 30000 : 50000000);

	switch (how) {
	case 0:
		check(!pthread_rwlock_rdlock(l));
		return read_it(), 1;
	case 1:
		check(!pthread_rwlock_wrlock(l));
		return write_it(), 1;
	case 2:
	case 4:
		return pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &t) ? 0 : (read_it(), 1);
	default:
		return pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &t) ? 0 : (write_it(), 1);
	}
}

static void *use_it(void *me)
{
	for (long i = 0; i < uses && !atomic_load(&stop); i++)
		use((int)((i + (long)me) % 6));
	return 0;
}

static void *use_until_stopped(void *me)
{
	for (long i = 0; !atomic_load(&stop); i++)
		use((int)((i + (long)me) % 6));
	return 0;
}

static void start_all(pthread_t *threads, void *(*function)(void *))
{
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, function, (void *)i);
}

static void join_all(pthread_t *threads)
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
}

/*
 * A writer in line and one with a deadline, which is out of it, when a reader makes room for one: both
 * come in, whoever is faster.
 */
static void *write_once(void *late)
{
	struct timespec t = soon(0);

	t.tv_sec += 1000;
	check(!(late ? pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &t)
		     : pthread_rwlock_wrlock(l)));
	write_it();
	return 0;
}

static void contest(void)
{
	pthread_t in_line, late;

	check(!pthread_rwlock_rdlock(l));
	pthread_create(&in_line, 0, write_once, 0);
	/* Until it keeps readers out, so that it is first in line. */
	while (!pthread_rwlock_tryrdlock(l)) {
		check(!pthread_rwlock_unlock(l));
		sched_yield();
	}
	pthread_create(&late, 0, write_once, l);
	usleep(200); /* so that it is likely to poll */
	check(!pthread_rwlock_unlock(l));
	pthread_join(in_line, 0);
	pthread_join(late, 0);
}

static void take(void)
{
	check(!pthread_rwlock_wrlock(l));
}

static void release(void)
{
	check(!pthread_rwlock_unlock(l));
}

static void child(void)
{
	pthread_t threads[THREADS];

	alarm(300);
	atomic_store(&readers, 0);
	atomic_store(&writers, 0);
	start_all(threads, use_it);
	join_all(threads);
	take();
	release();
	_exit(0);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int children = argc > 2 ? atoi(argv[2]) : 10, back = 0, status;

	uses = argc > 1 ? atoi(argv[1]) : 100;
	alarm(300);
	for (int i = 0; i < 2; i++) {
		l = i ? &queued : &plain;
		start_all(threads, use_it);
		join_all(threads);
	}
	for (int i = 0; i < uses; i++)
		contest();
	printf("written: %s\n", count == atomic_load(&written) ? "all" : "some were lost");
	l = &plain;
	uses = 10;
	pthread_atfork(take, release, release);
	start_all(threads, use_until_stopped);
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (!pid)
			child();
		waitpid(pid, &status, 0);
		back += status == 0;
	}
	atomic_store(&stop, 1);
	join_all(threads);
	printf("children that returned: %d of %d\n", back, children);
	return 0;
}
