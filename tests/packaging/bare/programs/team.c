/* SPDX-License-Identifier: MIT */
/*
 * A server whose CPU quota does not pay for its threads: it starts one for each CPU that it counts, and they meet at
 * a spin barrier after each part of their work. It says how many there are, and then how many meetings it had.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static int n_threads;
static _Atomic int missing;
static _Atomic bool sense;
static _Atomic long meetings;

static void gather(bool *mine)
{
	*mine = !*mine;
	if (atomic_fetch_sub(&missing, 1) == 1) {
		missing = n_threads;
		meetings++;
		sense = *mine;
		return;
	}
	while (sense != *mine)
		__builtin_ia32_pause();
}

static void *work(void *unused)
{
	bool mine = false;

	for (;;) {
		for (volatile int k = 0; k < 100000; k = k + 1)
			;
		gather(&mine);
	}
	return unused;
}

int main(void)
{
	n_threads = missing = (int)sysconf(_SC_NPROCESSORS_ONLN);
	printf("threads: %d\n", n_threads);
	fflush(stdout);
	for (int k = 0; k < n_threads; k++) {
		pthread_t thread;

		if (pthread_create(&thread, 0, work, 0))
			return 1;
	}
	pause();
	return 0;
}
