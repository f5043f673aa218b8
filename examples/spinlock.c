/* SPDX-License-Identifier: MIT */
/* cc -O2 -pthread spinlock.c: eight threads that share a spinlock for two seconds; see docs/run.md. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 8 };

static pthread_spinlock_t lock;
static volatile int over;
static long acquired[THREADS];

static void pass_the_time(int rounds)
{
	for (volatile int i = 0; i < rounds; i++)
		;
}

static void *work(void *mine)
{
	while (!over) {
		pthread_spin_lock(&lock);
		pass_the_time(20);
		pthread_spin_unlock(&lock);
		++*(long *)mine;
		pass_the_time(80);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	long sum = 0;

	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, &acquired[i]);
	sleep(2);
	over = 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += acquired[i];
	}
	printf("acquired %.1f million times a second\n", (double)sum / 2e6);
	return 0;
}
