/* SPDX-License-Identifier: MIT */
/*
 * measured-mutexes THREADS SECONDS [NEIGHBOURS]: threads hold one mutex for some 2 us, and are without it for half as
 * long, beside so many processes that compute. In counted time an instruction is a nanosecond.
 *
 * measured-deferring (DEFERRING): the same, but each holder asks the kernel not to preempt it.
 *
 * measured-spinlocks (OWN_LOCK): the same with a spinlock of the program's own, which no library can replace.
 */
#include "counted.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 500, MOST = 64 };

#ifdef OWN_LOCK
#define NAME "spinlocks"
static _Atomic int held;

/* A function of its own, as in most programs: `run --spins` needs a few bytes that are never executed. */
static __attribute__((noinline)) void wait_until_free(void)
{
	while (held)
		__builtin_ia32_pause();
}

static void acquire(void)
{
	while (atomic_exchange(&held, 1))
		wait_until_free();
}

static void release(void)
{
	held = 0;
}
#else
#ifdef DEFERRING
#include <overlock/port.h>
#define NAME "deferring"
#else
#define NAME		 "mutexes"
#define ol_defer_begin() ((void)0)
#define ol_defer_end()	 ((void)0)
#endif
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void acquire(void)
{
	pthread_mutex_lock(&mutex);
	ol_defer_begin();
}

static void release(void)
{
	pthread_mutex_unlock(&mutex);
	ol_defer_end();
}
#endif

static uint64_t guarded, until;
static struct counted *all;

static void compute(unsigned steps)
{
	for (unsigned i = 0; i < steps; i++)
		__asm__ volatile("" : : "r"(i));
}

static void *work(void *arg)
{
	struct counted *mine = arg;

	for (uint64_t t = 0; t < until;) {
		uint64_t began = now_ns();

		acquire();
		t = now_ns();
		count(mine, t - began);
		guarded++;
		compute(STEPS);
		release();
		compute(STEPS / 2);
	}
	return 0;
}

static pid_t neighbour(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		compute(STEPS);
}

int main(int argc, char **argv)
{
	unsigned n = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
	unsigned neighbours = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	pthread_t threads[MOST];
	pid_t others[MOST];
	uint64_t begun, sum = 0;

	all = calloc(n ? n : 1, sizeof(*all));
	if (!n || n > MOST || neighbours > MOST || !all)
		return 2;
	for (unsigned i = 0; i < neighbours; i++)
		others[i] = neighbour();
	begun = now_ns();
	until = begun + (uint64_t)(atof(argv[2]) * 1e9);
	for (unsigned i = 0; i < n; i++)
		pthread_create(&threads[i], 0, work, &all[i]);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], 0);
	tell(NAME, all, n, (double)(now_ns() - begun) / 1e9);
	for (unsigned i = 0; i < neighbours; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], 0, 0);
	}
	for (unsigned i = 0; i < n; i++)
		sum += all[i].times;
	return sum != guarded;
}
