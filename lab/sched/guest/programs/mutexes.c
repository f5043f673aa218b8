/* SPDX-License-Identifier: MIT */
/*
 * measured-mutexes THREADS SECONDS [NEIGHBOURS]: threads hold one mutex for some 2 us, and are without it for half as
 * long, beside so many processes that compute. In counted time an instruction is a nanosecond.
 */
#include "counted.h"
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 500, MOST = 64 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
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

		pthread_mutex_lock(&mutex);
		t = now_ns();
		count(mine, t - began);
		guarded++;
		compute(STEPS);
		pthread_mutex_unlock(&mutex);
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
	tell("mutexes", all, n, (double)(now_ns() - begun) / 1e9);
	for (unsigned i = 0; i < neighbours; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], 0, 0);
	}
	for (unsigned i = 0; i < n; i++)
		sum += all[i].times;
	return sum != guarded;
}
