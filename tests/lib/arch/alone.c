/* SPDX-License-Identifier: MIT */
/* The locks that need no library, each with THREADS threads. Prints how many sections were lost. */
#include <overlock/lock/anderson.h>
#include <overlock/lock/byte.h>
#include <overlock/lock/dec.h>
#include <overlock/lock/partitioned_ticket.h>
#include <overlock/lock/tas.h>
#include <overlock/lock/ttas.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { THREADS = 2, SECTIONS = 40 };

static long counted;

/* The count is read, and written after others could run. */
#define LOCK(id)						\
	static ol_##id##_t id;					\
	static void *work_##id(void *arg)			\
	{							\
		for (int i = 0; i < SECTIONS; i++) {		\
			ol_##id##_lock(&id);			\
			long before = ol_load_relaxed(&counted);\
			if (i % 8 == 0)			\
				sched_yield();			\
			ol_store_relaxed(&counted, before + 1);	\
			ol_##id##_unlock(&id);			\
		}						\
		return arg;					\
	}
LOCK(anderson)
LOCK(byte)
LOCK(dec)
LOCK(partitioned_ticket)
LOCK(tas)
LOCK(ttas)

static long lost(void *(*work)(void *))
{
	pthread_t threads[THREADS];

	counted = 0;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, work, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	return THREADS * SECTIONS - counted;
}

int main(void)
{
	printf("lost %ld\n", lost(work_anderson) + lost(work_byte) + lost(work_dec) +
				     lost(work_partitioned_ticket) + lost(work_tas) +
				     lost(work_ttas));
	return 0;
}
