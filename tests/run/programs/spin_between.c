/* SPDX-License-Identifier: MIT */
/*
 * Adds to a count behind a spinlock in a file that other processes map too, glibc's or ours. The first makes
 * the lock. Usage: spin_between FILE PROCESSES TIMES; prints the count when all have added.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct shared {
	pthread_spinlock_t lock;
	int came, ready, done; /* processes; by atomic operations */
	long count;	       /* by the lock */
};

int main(int argc, char **argv)
{
	int file = argc == 4 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	int processes = argc == 4 ? atoi(argv[2]) : 0, times = argc == 4 ? atoi(argv[3]) : 0;
	struct shared *s;

	if (file < 0 || ftruncate(file, sizeof(*s)))
		return 2;
	s = mmap(0, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (s == MAP_FAILED)
		return 2;
	if (!__atomic_fetch_add(&s->came, 1, __ATOMIC_ACQ_REL)) {
		pthread_spin_init(&s->lock, PTHREAD_PROCESS_SHARED);
		__atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
	}
	while (!__atomic_load_n(&s->ready, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&s->came, __ATOMIC_ACQUIRE) < processes)
		sched_yield();
	for (int i = 0; i < times; i++) {
		long count;

		pthread_spin_lock(&s->lock);
		count = __atomic_load_n(&s->count, __ATOMIC_RELAXED);
		if (i == times / 2)
			usleep(20000); /* without exclusion, what others add in the meantime is lost */
		__atomic_store_n(&s->count, count + 1, __ATOMIC_RELAXED);
		pthread_spin_unlock(&s->lock);
	}
	__atomic_fetch_add(&s->done, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&s->done, __ATOMIC_ACQUIRE) < processes)
		sched_yield();
	printf("%ld\n", s->count);
	return 0;
}
