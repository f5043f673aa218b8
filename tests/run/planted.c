/* SPDX-License-Identifier: MIT */
/*
 * Four threads that wait for short sections, as holders sleep now and then; and then a wait that is
 * planted: 200 ms under `glibc` or under `ours`, the first argument. With a file as the second
 * argument it is a server: it makes that file when its work is done, and waits for a signal. `once`:
 * it fails if the file is there.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, SECTIONS = 500, SECTION_NS = 4000, NAP_EVERY = 8 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *work(void *unused)
{
	for (int i = 0; i < SECTIONS; i++) {
		pthread_mutex_lock(&mutex);
		for (long end = now() + SECTION_NS; now() < end;)
			;
		if (i % NAP_EVERY == 0)
			usleep(1);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, work, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	if (!strcmp(argv[1], "glibc") == !getenv("OVERLOCK_LOCK"))
		usleep(200000);
	if (!strcmp(argv[1], "once"))
		return open(argv[2], O_CREAT | O_EXCL | O_WRONLY, 0600) < 0;
	if (argc > 2) {
		close(open(argv[2], O_CREAT | O_WRONLY, 0600));
		puts("done");
		fflush(stdout);
		pause();
	}
	return 0;
}
