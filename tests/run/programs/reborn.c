/* SPDX-License-Identifier: MIT */
/*
 * Mutexes that nobody destroys, as std::mutex: their memory becomes zero and a mutex again. Threads
 * meet at each new one at its first use, and there must not be a lock left behind for each.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, MEETINGS = 500, LIVES = 100000 };

static pthread_mutex_t m;
static pthread_barrier_t barrier;
static int inside, most, visits;

static void *meet(void *unused)
{
	for (int i = 0; i < MEETINGS; i++) {
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			memset(&m, 0, sizeof(m));
		pthread_barrier_wait(&barrier);
		pthread_mutex_lock(&m);
		inside++;
		most = inside > most ? inside : most;
		if (i < 20)
			usleep(100); /* long enough for a second one to come in */
		visits++;
		inside--;
		pthread_mutex_unlock(&m);
	}
	return unused;
}

static long kilobytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r"); /* ru_maxrss is also that of our parent */
	long pages = 0;

	if (file && fscanf(file, "%*d %ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(void)
{
	pthread_t threads[THREADS];
	long before;

	pthread_barrier_init(&barrier, 0, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, meet, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	printf("%d of %d visits, %d at a time\n", visits, THREADS * MEETINGS, most);
	before = kilobytes();
	for (int i = 0; i < LIVES; i++) {
		memset(&m, 0, sizeof(m));
		pthread_mutex_lock(&m);
		pthread_mutex_unlock(&m);
	}
	printf("memory for later lives: %s\n",
	       kilobytes() - before < 4096 ? "none" : "more and more");
	return 0;
}
