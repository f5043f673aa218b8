/* SPDX-License-Identifier: MIT */
/*
 * An OpenMP team that only waits. Arguments: critical, lock, nested or barrier; for how many seconds. It says
 * when it is ready, and at the end how many sections, or barriers, it passed per second.
 */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static double seconds = 1, began;
static volatile sig_atomic_t stopped;
static unsigned long shared; /* what the sections guard */

static void stop(int signal)
{
	stopped = signal;
}

/* For each thread of the team, when all are there. */
static void begin(void)
{
	const time_t whole = (time_t)seconds;
	const struct itimerval timer = {
		.it_value.tv_sec = whole,
		.it_value.tv_usec = (suseconds_t)((seconds - (double)whole) * 1e6),
	};

#pragma omp single
	{
		signal(SIGALRM, stop);
		setitimer(ITIMER_REAL, &timer, NULL);
		puts("ready");
		fflush(stdout);
		began = omp_get_wtime();
	}
}

/* Some 100 ns, which the compiler may not leave out. */
static void compute(int steps)
{
	for (int i = 0; i < steps; i++)
		__asm__ volatile("" ::: "memory");
}

static unsigned long critical_sections(void)
{
	unsigned long passed = 0;

#pragma omp parallel reduction(+ : passed)
	{
		begin();
		do {
#pragma omp critical
			shared++;
			passed++;
			compute(200);
		} while (!stopped);
	}
	return passed;
}

static unsigned long locked_sections(void)
{
	unsigned long passed = 0;
	omp_lock_t lock;

	omp_init_lock(&lock);
#pragma omp parallel reduction(+ : passed)
	{
		begin();
		do {
			omp_set_lock(&lock);
			shared++;
			omp_unset_lock(&lock);
			passed++;
			compute(200);
		} while (!stopped);
	}
	omp_destroy_lock(&lock);
	return passed;
}

static unsigned long nested_sections(void)
{
	unsigned long passed = 0;
	omp_nest_lock_t lock;

	omp_init_nest_lock(&lock);
#pragma omp parallel reduction(+ : passed)
	{
		begin();
		do {
			omp_set_nest_lock(&lock);
			shared++;
			omp_unset_nest_lock(&lock);
			passed++;
			compute(200);
		} while (!stopped);
	}
	omp_destroy_nest_lock(&lock);
	return passed;
}

static unsigned long barriers(void)
{
	/* A thread is at most one barrier ahead of another, so two answers are enough. */
	static int last[2];

#pragma omp parallel
	{
		begin();
		for (int i = 0; !last[i ^ 1]; i ^= 1) {
			compute(20000);
#pragma omp single
			{
				shared++;
				last[i] = stopped;
			}
		}
	}
	return shared;
}

int main(int argc, char **argv)
{
	unsigned long passed;

	if (argc > 2)
		seconds = atof(argv[2]);
	if (argc > 1 && !strcmp(argv[1], "barrier"))
		passed = barriers();
	else if (argc > 1 && !strcmp(argv[1], "lock"))
		passed = locked_sections();
	else if (argc > 1 && !strcmp(argv[1], "nested"))
		passed = nested_sections();
	else
		passed = critical_sections();
	if (passed != shared) {
		fprintf(stderr, "%lu sections, but %lu additions\n", passed, shared);
		return EXIT_FAILURE;
	}
	printf("%.0f\n", (double)passed / (omp_get_wtime() - began));
	return EXIT_SUCCESS;
}
