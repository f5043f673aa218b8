/* SPDX-License-Identifier: MIT */
/* Many threads, each with a lock of its own most of the time. */
#include "planted.h"

static pthread_mutex_t locks_of[32], common_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum;

static void worker(int number)
{
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&locks_of[number]);
		for (int k = 0; k < 2000; k++)
			__asm__ volatile("");
		pthread_mutex_unlock(&locks_of[number]);
		if (i % 100)
			continue;
		locks(&common_lock);
		sum++;
		pthread_mutex_unlock(&common_lock);
	}
}

int main(void)
{
	for (int i = 0; i < 32; i++) {
		pthread_mutex_init(&locks_of[i], NULL);
		bodies[i] = worker;
	}
	be_alone_in_turns();
	run_threads(32);
	tell("nothing", NULL);
	return 0;
}
