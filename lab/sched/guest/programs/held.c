/* SPDX-License-Identifier: MIT */
/*
 * held N: a thread acquires and releases a mutex N times, and is watched meanwhile. Under `overlock chaos`, is it
 * asleep while it has no CPU, or runnable, as a thread that was preempted? Prints what was seen, and for
 * how long it had a CPU.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int thread;
static bool over;
static double cpu_ms;

static double ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void *work(void *n)
{
	double began = ms(CLOCK_THREAD_CPUTIME_ID);

	__atomic_store_n(&thread, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (int i = 0; i < *(int *)n; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	cpu_ms = ms(CLOCK_THREAD_CPUTIME_ID) - began;
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	return 0;
}

static char state(int tid)
{
	char path[64], text[256] = "";
	const char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	end = strrchr(text, ')');
	return end && end[1] ? end[2] : 0;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 20, runnable = 0, asleep = 0;
	const struct timespec step = { 0, 1000000 };
	double began = ms(CLOCK_MONOTONIC);
	pthread_t worker;

	if (pthread_create(&worker, 0, work, &n))
		return 1;
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		int tid = __atomic_load_n(&thread, __ATOMIC_ACQUIRE);
		char seen = tid ? state(tid) : 0;

		runnable += seen == 'R';
		asleep += seen == 'S';
		nanosleep(&step, 0);
	}
	pthread_join(worker, 0);
	printf("{\"runnable\": %d, \"asleep\": %d, \"cpu_ms\": %.1f, \"wall_ms\": %.1f}\n",
	       runnable, asleep, cpu_ms, ms(CLOCK_MONOTONIC) - began);
	return 0;
}
