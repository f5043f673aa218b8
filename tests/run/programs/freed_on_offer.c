/* SPDX-License-Identifier: MIT */
/*
 * A caller with a deadline gets the mutex by an offer, and frees the mutex's memory when it is done: the
 * holder before it may look at the mutex no more. Only for locks that are offered.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

static pthread_mutex_t *m;

static void *take_and_free(void *unused)
{
	const struct timespec never = { .tv_sec = time(0) + 3600 };

	if (pthread_mutex_timedlock(m, &never))
		return m;
	pthread_mutex_unlock(m);
	pthread_mutex_destroy(m);
	munmap(m, sizeof(*m));
	return unused;
}

/* struct mutex of interposer.h: in its `gate`. */
static int is_announced(void)
{
	return __atomic_load_n((uint32_t *)(void *)m + 6, __ATOMIC_RELAXED) != 0;
}

int main(void)
{
	pthread_t thread;
	void *failed;

	m = mmap(0, sizeof(*m), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_mutex_lock(m);
	pthread_create(&thread, 0, take_and_free, 0);
	while (!is_announced())
		sched_yield();
	pthread_mutex_unlock(m);
	pthread_join(thread, &failed);
	puts(failed ? "it gave up" : "fine");
	return 0;
}
