/* SPDX-License-Identifier: MIT */
/* Threads that work on rows and meet after each step, as a simulation does: see docs/waiting.md. */
#include <overlock/wait/barrier.h>
#include <overlock/wait/latch.h>

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, STEPS = 1000 };

static ol_barrier_t meet = OL_BARRIER_INIT;
static ol_latch_t over = OL_LATCH_INIT;
static int rows[2][THREADS];

static void *work(void *arg)
{
	int me = *(int *)arg;

	for (int step = 0; step < STEPS; step++) {
		const int *old = rows[step % 2];

		rows[(step + 1) % 2][me] = old[(me + 1) % THREADS] + 1;
		ol_barrier_wait(&meet, THREADS);
	}
	ol_latch_arrive(&over, 1, THREADS);
	return NULL;
}

int main(void)
{
	static int numbers[THREADS];

	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		numbers[i] = i;
		if (pthread_create(&thread, NULL, work, &numbers[i]) || pthread_detach(thread))
			return 1;
	}
	ol_latch_wait(&over, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (rows[STEPS % 2][i] != STEPS)
			return 1;
	printf("%d threads met %d times\n", THREADS, STEPS);
	return 0;
}
