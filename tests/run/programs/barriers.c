/* SPDX-License-Identifier: MIT */
/*
 * Barriers of N threads in R rounds, each made anew in memory that is given back to the kernel as soon as one thread
 * has passed. Prints how often a round had one serial thread, and whether anybody passed early; then what init refuses,
 * whether processes can share a barrier, and whether signals end a wait.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 64

static unsigned threads, rounds;
static pthread_barrier_t *now;
static pthread_barrier_t all; /* of the same threads, and never destroyed before the end */
static unsigned arrived, serial, early;

static void *memory(void)
{
	void *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(m, 0xff, 4096); /* as freed memory may look */
	return m;
}

static pthread_barrier_t *make(unsigned n)
{
	pthread_barrier_t *b = memory();

	if (pthread_barrier_init(b, 0, n))
		exit(3);
	return b;
}

static void destroy(pthread_barrier_t *b)
{
	if (pthread_barrier_destroy(b))
		exit(4);
	munmap(b, 4096);
}

static void *meet(void *unused)
{
	for (unsigned round = 1; round <= rounds; round++) {
		pthread_barrier_t *here = now;
		int last;

		__atomic_add_fetch(&arrived, 1, __ATOMIC_RELAXED);
		last = pthread_barrier_wait(here);
		if (__atomic_load_n(&arrived, __ATOMIC_RELAXED) < round * threads)
			__atomic_store_n(&early, 1, __ATOMIC_RELAXED);
		if (last == PTHREAD_BARRIER_SERIAL_THREAD) {
			serial++;
			destroy(here);
			now = make(threads);
		} else if (last) {
			exit(5);
		}
		pthread_barrier_wait(&all);
	}
	return unused;
}

static void meet_in_rounds(void)
{
	pthread_t made[MOST];

	now = make(threads);
	pthread_barrier_init(&all, 0, threads);
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&made[i], 0, meet, 0);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(made[i], 0);
	destroy(now);
	printf("serial threads: %u of %u, early: %u\n", serial, rounds, early);
}

static void be_refused(void)
{
	pthread_barrier_t b;

	printf("init of none: %s, of too many: %s\n",
	       pthread_barrier_init(&b, 0, 0) == EINVAL ? "EINVAL" : "wrong",
	       pthread_barrier_init(&b, 0, (unsigned)INT_MAX + 1) == EINVAL ? "EINVAL" : "wrong");
}

static void meet_a_child(void)
{
	pthread_barrier_t *b =
		mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attr;
	int status = 0;

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(b, &attr, 2);
	if (!fork()) {
		usleep(50000); /* until the other one sleeps */
		pthread_barrier_wait(b);
		_exit(7);
	}
	pthread_barrier_wait(b);
	wait(&status);
	printf("child: %d\n", WEXITSTATUS(status));
}

static volatile sig_atomic_t signalled;

static void note(int unused)
{
	(void)unused;
	signalled = 1;
}

static void *wait_at(void *b)
{
	pthread_barrier_wait(b);
	return (void *)(intptr_t)signalled;
}

static void be_interrupted(void)
{
	const struct sigaction action = { .sa_handler = note };
	pthread_barrier_t *b = make(2);
	pthread_t waiter;
	void *after;

	sigaction(SIGUSR1, &action, 0);
	pthread_create(&waiter, 0, wait_at, b);
	usleep(20000);
	for (int i = 0; i < 20; i++) {
		pthread_kill(waiter, SIGUSR1);
		usleep(1000);
	}
	pthread_barrier_wait(b);
	pthread_join(waiter, &after);
	printf("signals: %s\n", after ? "seen, and waited on" : "not seen");
	destroy(b);
}

int main(int n, char **words)
{
	threads = n > 1 ? (unsigned)atoi(words[1]) : 4;
	rounds = n > 2 ? (unsigned)atoi(words[2]) : 100;
	if (threads > MOST)
		return 2;
	meet_in_rounds();
	be_refused();
	meet_a_child();
	be_interrupted();
	return 0;
}
